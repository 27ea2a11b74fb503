#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Test the ring buffer of 32-bit kernels: the programs of tests/, compiled with -m32
# tags: fast parallel
# timeout: 600
#
# Where the running kernel executes no 32-bit programs, qemu-i386 does.
set -u

programs=$BUILD/tests/ring_buffer/m32

skip() {
	echo "1..0 # SKIP $1"
	exit 2
}

[ "$(uname -m)" = x86_64 ] || skip 'no compiler for 32-bit programs on this machine'
"${CC:-gcc}" -m32 -fsanitize=undefined -x c -o can_link - <<<'int main(void) { return 0; }' \
	2>can_link.log ||
	skip 'the compiler cannot build 32-bit programs: install libc6-dev-i386 and lib32gcc-12-dev'
run=
if ! ./can_link 2>>can_link.log; then
	run=qemu-i386
	command -v $run >>can_link.log ||
		skip 'this kernel cannot run 32-bit programs, and there is no qemu-i386: install qemu-user'
fi

for program in "$programs"/*_test; do
	name=${program##*/}
	echo "@ ${name%_test}"
	$run "$program" 2>&1
	echo "@end $?"
done | "$TOP/tools/testing/vm/join_tap"
