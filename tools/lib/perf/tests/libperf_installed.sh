#!/bin/bash
# libperf's own tests of snapshots, and its example, built against the library as it is installed
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
#
# usage: libperf_installed.sh [--in-guest]	builds, and runs them here or in the guest
#	 libperf_installed.sh --run DIR		runs what was built in DIR
#
# All is built in copies: the library's Makefile builds its tests nowhere but among the sources.

set -u
export LC_ALL=C
unset MAKEFLAGS MFLAGS MAKELEVEL

BUILD=${BUILD:-$(dirname "$(realpath "$0")")/../../../../build}

fail() {
	echo "FAIL: $*"
	exit 1
}

# The output, if it goes wrong
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
		echo "no asciidoc and xmlto here: the man pages are not installed"
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

# Other tests of the library need hardware counters, and fail without.
run_tests() {
	local program

	cd "$work/tools/lib/perf" || exit 1
	for program in tests-static tests-shared; do
		LD_LIBRARY_PATH=. "./$program" -v 2>&1 |
			sed -n '/test-overwrite/,/^- running/p' | sed '1!{/^- running/d}' | tee "$work/log"
		grep -qx OK "$work/log" || fail "$program: test-overwrite.c"
	done
}

run_example() {
	cd "$work" || exit 1
	[ "$(id -u)" = 0 ] || {
		echo "the example needs root"
		exit 2
	}
	LD_LIBRARY_PATH=lib ./overwrite > out 2>&1 || fail "the example: $(cat out)"
	cat out
	[ "$(grep -cE '^(sized|backward): [1-9][0-9]* bytes written' out)" = 3 ] ||
		fail "the example did not take three snapshots"
	grep -qE '^cpu +[0-9]+: +[1-9][0-9]* switches' out || fail "there is no context switch in them"
}

if [ "${1-}" = --run ]; then
	work=$2
	run_tests
	run_example
	exit
fi
# The guest has a /tmp of its own.
[ "${1-}" = --in-guest ] && TMPDIR=$BUILD/vm
work=$(mktemp -d "${TMPDIR:-/tmp}/libperf.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
build
if [ "${1-}" = --in-guest ]; then
	"$BUILD/linux/tools/testing/vm/run" "$(printf '%q ' "$0" --run "$work")"
else
	"$0" --run "$work"
fi
