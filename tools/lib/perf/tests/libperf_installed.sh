#!/bin/bash
# Run libperf's test-overwrite.c, and its examples built against the installed library
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 120
#
# usage: libperf_installed.sh [--in-guest]	build, and run here or in the guest
#	 libperf_installed.sh --run DIR		run the programs that were built in DIR
#
# Builds in a copy of the sources: the library's Makefile can build its tests only in the source
# tree.

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
		cp -rL --parents tools/lib/{perf,api,*.c} tools/{include,build,scripts,arch} \
			"$work") || exit 1
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
	cp "$installed"/usr/share/doc/libperf/examples/overwrite*.c . || exit 1
	quietly cc -Wall -Wextra -Werror -I"$installed/usr/include" -o overwrite overwrite.c -Llib \
		-lperf
	build_bpf_example
}

# Use the libbpf of the tree: perf was built with it.
build_bpf_example() {
	local libbpf=$BUILD/perf/libbpf

	[ -e "$libbpf/libbpf.a" ] && command -v clang > /dev/null || {
		echo "# no clang or libbpf: not building the example with BPF"
		return
	}
	quietly clang -g -O2 -target bpf -Wall -Werror -I"$libbpf/include" \
		-idirafter "/usr/include/$(cc -print-multiarch)" -c -o overwrite_bpf.o \
		overwrite_bpf.bpf.c
	quietly cc -Wall -Wextra -Werror -I"$installed/usr/include" -I"$libbpf/include" \
		-o overwrite_bpf overwrite_bpf.c -Llib -lperf "$libbpf/libbpf.a" -lelf -lz
}

# Run test-overwrite.c only: other tests of the library fail without hardware counters.
run_tests() {
	local program

	cd "$work/tools/lib/perf" || exit 1
	for program in tests-static tests-shared; do
		LD_LIBRARY_PATH=. "./$program" -v 2>&1 |
			sed -n '/test-overwrite/,/^- running/p' | sed '1!{/^- running/d}' |
			tee "$work/log"
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
	grep -qE '^cpu +[0-9]+: +[1-9][0-9]* switches' out ||
		fail "the snapshots contain no context switch"
}

# A record is missing if, and only if, the kernel has overwritten it: each has 48 bytes, and a
# trailer of 8 in a sized ring. On each CPU, the numbers begin with 0.
run_bpf_example() {
	local example status

	cd "$work" || exit 1
	[ -e overwrite_bpf ] || return
	LD_LIBRARY_PATH=lib ./overwrite_bpf overwrite_bpf.o > out 2>&1 &
	example=$!
	while kill -0 "$example" 2> /dev/null; do
		dd if=/dev/zero of=/dev/null bs=1 count=2000 2> /dev/null
		sleep 0.2
	done
	wait "$example"
	status=$?
	cat out
	[ "$status" = 0 ] || fail "the example with BPF failed"
	[ "$(grep -cE '^(sized|backward): [1-9][0-9]* bytes written, .* 0 rings paused$' \
		out)" = 3 ] ||
		fail "the example with BPF did not take three snapshots"
	awk '/^sized/ { size = 56 }
		/^backward/ { size = 48 }
		/^cpu/ {
			calls += $3
			missing[$2] += $5
			overwritten[$2] += $(NF - 2)
			if ($7 || ($3 && missing[$2] * size != overwritten[$2]))
				exit wrong = 1
		}
		END { exit wrong || calls < 1000 }' out || fail "records are missing or repeated"
}

if [ "${1-}" = --run ]; then
	work=$2
	run_tests
	run_example
	run_bpf_example
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
