#!/bin/bash
# Run the KUnit suites and kselftests of the perf ring buffer in the guest
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 1800
# tags: parallel
#
# Builds the selftests of this folder with the headers of this kernel, boots the guest once, runs
# the KUnit suites and the selftests there, and prints all results as one TAP stream.
#
# Environment: KERNEL is the kernel build to boot, build/kernel by default.
# Arguments: names of selftests to run, all by default. --build only builds the selftests,
# upstream's included.

tests=(size_at_end trailer_samples trailer_sideband sample_sizes sample_shared sample_plain
       inherited ring_modes ring_mmap ring_hostile ring_overwrite ring_libperf ring_cpus
       aux_snapshot aux_races)
suites=(perf_ring_{alloc,data,irq,samples,plain,aux})

run_kunit()
{
	local dir=/sys/kernel/debug/kunit/$1

	if [ ! -e $dir/run ]; then
		echo "1..1"
		echo "ok 1 suite # SKIP kernel lacks CONFIG_PERF_EVENTS_RING_KUNIT_TEST"
		return
	fi
	# The suites ran at boot already, but without high-resolution timers to interrupt them.
	echo 1 >$dir/run
	# Test cases are indented by four spaces, their parameters by eight.
	sed -n 's/^    \(1\.\.\|ok \|not ok \|# \)/\1/p; /^     /p' $dir/results
}

run_kselftest()
{
	local program=$BUILD/selftests/perf_events/$1

	if [ "$1" = ring_libperf ] && [ ! -e "$program" ]; then
		echo "1..1"
		echo "ok 1 test # SKIP built without libperf: run make perf"
		return
	fi
	"$program" 2>&1
}

run_inside()
{
	# perf_event is enabled implicitly in a cgroup with any controller.
	echo +pids >/sys/fs/cgroup/cgroup.subtree_control
	export RING_TEST_HOTPLUG=1
	{
		for suite in "${suites[@]}"; do
			echo "@ $suite"
			run_kunit "$suite"
			echo "@end 0"
		done
		for test in "$@"; do
			echo "@ $test"
			run_kselftest "$test"
			echo "@end $?"
		done
	} | "$TOP/tools/testing/vm/join_tap"
}

skip()
{
	echo "TAP version 13"
	echo "1..0 # SKIP $1"
	exit 2
}

build()
{
	local selftests=$BUILD/linux/tools/testing/selftests/perf_events
	local libperf=("$BUILD"/perf/lib{perf/libperf,api/libapi}.a)

	[ -e "${libperf[0]}" ] || libperf=()
	unset MAKEFLAGS MFLAGS MAKELEVEL
	mkdir -p "$BUILD/headers" "$BUILD/selftests/perf_events"
	flock "$BUILD/headers" make -s -C "$BUILD/linux" O="$BUILD/headers" headers &&
	flock "$BUILD/selftests" make -s -C "$selftests" OUTPUT="$BUILD/selftests/perf_events" \
		KHDR_INCLUDES="-isystem $BUILD/headers/usr/include" LIBPERF="${libperf[*]}"
}

if [ "$1" = --inside ]; then
	shift
	run_inside "$@"
	exit
fi

if [ -z "$TOP" ]; then
	TOP=$(realpath "$(dirname "$(realpath "$0")")/../../../..")
	BUILD=$TOP/build
fi
export TOP BUILD
if [ "$1" = --build ]; then
	build
	exit
fi
[ -e "${KERNEL:-$BUILD/kernel}/vmlinux" ] || skip "no guest kernel: run make kernel"
type qemu-system-x86_64 >/dev/null 2>&1 || skip "no qemu-system-x86_64: run make deps"

if ! log=$(build 2>&1); then
	echo "$log"
	echo "Bail out! Cannot build the selftests"
	exit 1
fi
[ $# -gt 0 ] && tests=("$@")
# Two NUMA nodes, for the KUnit test of memory placement.
export VM_APPEND="$VM_APPEND numa=fake=2 kunit.enable=1 kunit.filter_glob=perf_ring_*"
export VM_TIMEOUT=${VM_TIMEOUT:-1750}
exec "$TOP/tools/testing/vm/run" "$(printf '%q ' "$(realpath "$0")" --inside "${tests[@]}")"
