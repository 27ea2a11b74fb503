#!/bin/bash
# Run libperf's test-overwrite.c, and its example built against the installed library
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 120
#
# usage: libperf_installed.sh [--in-guest]	build, and run here or in the guest
#	 libperf_installed.sh --run DIR		run the programs that were built in DIR
#
# Builds in a copy of the sources: the library's Makefile can build its tests only in the source tree.

set -u
export LC_ALL=C
unset MAKEFLAGS MFLAGS MAKELEVEL

BUILD=${BUILD:-$(dirname "$(realpath "$0")")/../../../../build}

fail() {
	echo "FAIL: $*"
	exit 1
}

# quietly COMMAND: run the command; if it fails, print its output and exit
quietly() {
	"$@" > "$work/log" 2>&1 || {
		tail -n 50 "$work/log"
		fail "$*"
	}
}

build() {
	local installed=$work/installed lib targets=(install)

	(cd "$BUILD/linux" &&
		cp -rL --parents tools/lib/{perf,api,*.c} tools/{include,build,scripts,arch} "$work") || exit 1
	cd "$work/tools/lib/perf" || exit 1
	quietly make make-tests

	command -v asciidoc xmlto > /dev/null || {
		echo "# asciidoc or xmlto is missing: not installing the man pages"
		targets=(install_lib install_headers install_pkgconfig)
		quietly make -C Documentation DESTDIR="$installed" prefix=/usr install-examples
	}
	quietly make DESTDIR="$installed" prefix=/usr "${targets[@]}"

	cd "$work" || exit 1
	lib=$(dirname "$(find "$installed" -name libperf.so)")
	ln -s "$lib" lib
	cp "$installed/usr/share/doc/libperf/examples/overwrite.c" . || exit 1
	quietly cc -Wall -Wextra -Werror -I"$installed/usr/include" -o overwrite overwrite.c -Llib -lperf
}

# Run test-overwrite.c only: other tests of the library fail without hardware counters.
run_tests() {
	local program

	cd "$work/tools/lib/perf" || exit 1
	for program in tests-static tests-shared; do
		LD_LIBRARY_PATH=. "./$program" -v 2>&1 |
			sed -n '/test-overwrite/,/^- running/p' | sed '1!{/^- running/d}' | tee "$work/log"
		grep -qx OK "$work/log" || fail "$program: test-overwrite.c failed"
	done
}

run_example() {
	cd "$work" || exit 1
	[ "$(id -u)" = 0 ] || {
		echo "the example needs root"
		exit 2
	}
	LD_LIBRARY_PATH=lib ./overwrite > out 2>&1 || fail "the example failed: $(cat out)"
	cat out
	[ "$(grep -cE '^(sized|backward): [1-9][0-9]* bytes written' out)" = 3 ] ||
		fail "the example did not take three snapshots"
	grep -qE '^cpu +[0-9]+: +[1-9][0-9]* switches' out || fail "the snapshots contain no context switch"
}

if [ "${1-}" = --run ]; then
	work=$2
	run_tests
	run_example
	exit
fi
# The guest does not see the host's /tmp.
[ "${1-}" = --in-guest ] && TMPDIR=$BUILD/vm
work=$(mktemp -d "${TMPDIR:-/tmp}/libperf.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
build
if [ "${1-}" = --in-guest ]; then
	"$BUILD/linux/tools/testing/vm/run" "$(printf '%q ' "$0" --run "$work")"
else
	"$0" --run "$work"
fi
