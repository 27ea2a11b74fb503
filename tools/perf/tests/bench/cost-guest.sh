#!/bin/bash
# Benchmark: instructions that the CPU executes for an event that is recorded
# SPDX-License-Identifier: GPL-2.0-only
#
# A thread of the guest, which has one CPU and counts its instructions, makes CALLS (100,000) system
# calls, whose entry and exit are events. The result is what an event adds to the instructions of
# the run without a recorder: those of the kernel, and those of the recorder within the run.
# Instructions are not time, but the same in each run and on each machine; ftrace can be a peer
# here.
#
#	count		perf stat: events without records
#	trace-cmd	trace-cmd start: ftrace overwrites its ring of 4 MB
#	overwrite	this perf, -e event/overwrite/ -m 4M --bpf-ring=no
#	overwrite-bpf	the same with --bpf-ring=yes
#	stream		this perf, a file, --bpf-ring=no
#	keep		this perf, --keep --bpf-ring=no
#	keep-bpf	the same with --bpf-ring=yes
#	perf-overwrite	OTHER_PERF (/usr/bin/perf) --overwrite -m 4M
#	perf-overwrite-newest	the same with NEWEST_PERF, that of the newest Linux (make
#				newest-perf)
#
# KERNEL is the kernel of the guest; BPF needs one with BTF, as make kernel NIGHT=1 builds.
# Prints RESULT lines; does not judge them. A recorder that is not installed is left out.

top=${TOP:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../../../.." && pwd)}
build=${BUILD:-$top/build}
kernel=${KERNEL:-$build/kernel}
export OTHER_PERF=${OTHER_PERF:-/usr/bin/perf} NEWEST_PERF=${NEWEST_PERF:-} CALLS=${CALLS:-100000}

if [ "$1" != --in-guest ]; then
	[ -e "$kernel/vmlinux" ] || {
		echo "skip: no $kernel/vmlinux (make kernel)"
		exit 2
	}
	KERNEL=$kernel VM_ICOUNT=1 VM_TIMEOUT=550 exec "$top/tools/testing/vm/run" "
		export OTHER_PERF='$OTHER_PERF' NEWEST_PERF='$NEWEST_PERF' CALLS=$CALLS
		bash '$(realpath "$0")' --in-guest"
fi

work=$(mktemp -d)
load=("$build/tests/load" calls 1 "$CALLS")
events=(-e raw_syscalls:sys_enter -e raw_syscalls:sys_exit)
overwritten=("${events[@]/%sys_enter/sys_enter/overwrite/}")
overwritten=("${overwritten[@]/%sys_exit/sys_exit/overwrite/}")

# run COMMAND...: with the arguments of load behind it; set $seconds
run() {
	"$@" "${load[@]}" < /dev/null > "$work/elapsed" 2> "$work/err" || {
		echo "# $*: $(tail -n 1 "$work/err")"
		exit 1
	}
	seconds=$(tail -n 1 "$work/elapsed")
}

result() {
	awk -v name="$1" -v seconds="$seconds" -v without="$without" -v calls="$CALLS" 'BEGIN {
		printf "RESULT cost-guest-%s %.0f instructions\n", name,
			(seconds - without) * 1e9 / calls / 2
	}'
}

# record NAME PERF OPTION...
record() {
	local name=$1 perf=$2

	shift 2
	[ -x "$perf" ] || return 0
	run "$perf" record -a -o "$work/data" "$@" --
	result "$name"
	rm -rf "$work"/data*
}

run env
without=$seconds
awk -v seconds="$seconds" -v calls="$CALLS" 'BEGIN {
	printf "RESULT cost-guest-call %.0f instructions\n", seconds * 1e9 / calls
}'
run "$PERF" stat -a "${events[@]}" --
result count
if command -v trace-cmd > /dev/null; then
	trace-cmd start -b 4096 "${events[@]}" > "$work/trace-cmd" 2>&1 || {
		echo "# trace-cmd: $(tail -n 1 "$work/trace-cmd")"
		exit 1
	}
	run env
	trace-cmd stop
	trace-cmd reset
	result trace-cmd
fi
record overwrite "$PERF" -m 4M --bpf-ring=no "${overwritten[@]}"
record stream "$PERF" --bpf-ring=no "${events[@]}"
record keep "$PERF" --keep --bpf-ring=no "${events[@]}"
if [ -e /sys/kernel/btf/vmlinux ]; then
	record overwrite-bpf "$PERF" -m 4M --bpf-ring=yes "${overwritten[@]}"
	record keep-bpf "$PERF" --keep --bpf-ring=yes "${events[@]}"
else
	echo "# no rings of BPF: the kernel has no BTF"
fi
record perf-overwrite "$OTHER_PERF" -m 4M --overwrite "${events[@]}"
record perf-overwrite-newest "$NEWEST_PERF" -m 4M --overwrite "${events[@]}"
