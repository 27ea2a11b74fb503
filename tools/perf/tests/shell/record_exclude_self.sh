#!/bin/bash
# perf record -a: no streamed samples of perf record itself, unless --no-exclude-perf is given
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 180

. "$(dirname "$0")/lib/recorder.sh"

need perf root raw_syscalls:sys_enter

# own_samples [record options]: print for each event how many samples are of the recorder itself
own_samples() {
	local pid

	# Streamed with --no-buffering: the recorder writes all the time.
	"$PERF" record -a -e raw_syscalls:sys_enter -e context-switches/period=1/ --no-bpf-event \
		--no-buffering "$@" -o "$work/data" -- sleep 1 2> "$work/record.err" &
	pid=$!
	wait "$pid" || fatal "perf record exits with status $?"
	fields "$work/data" pid,event |
		awk -v pid="$pid" '
			{ seen[$2]++ }
			$1 == pid { own[$2]++ }
			END { for (event in seen) print event, own[event] + 0 }' | sort
}

for io in sync aio uring; do
	subtest "--io=$io"
	seen=$(own_samples --io=$io)
	note "$seen"
	[ "$(awk '/raw_syscalls/ { print $2 }' <<< "$seen")" = 0 ] ||
		error "own system calls are recorded"
	if "$PERF" version --build-options | grep -q 'bpf: \[ on'; then
		[ "$(awk '/context-switches/ { print $2 }' <<< "$seen")" = 0 ] ||
			error "own samples are recorded"
	else
		note "perf is built without libbpf: only tracepoints are filtered"
	fi
done

subtest "--no-exclude-perf"
seen=$(own_samples --no-exclude-perf)
note "$seen"
[ "$(awk '/raw_syscalls/ { print $2 }' <<< "$seen")" -gt 0 ] ||
	error "own system calls are not recorded"
[ "$(awk '/context-switches/ { print $2 }' <<< "$seen")" -gt 0 ] ||
	error "own switches are not recorded"

# samples_of PID: print the number of samples of a process in $work/data
samples_of() {
	fields "$work/data" pid | awk -v pid="$1" '$1 == pid { n++ } END { print n + 0 }'
}

subtest "a process with the name of the recorder is recorded"
recorder_start -a -e raw_syscalls:sys_enter --no-bpf-event -o "$work/data"
bash -c 'echo -n "$0" > /proc/self/comm; for i in 1 2 3; do : < /dev/null; done' "perf-$recorder" &
impostor=$!
wait "$impostor"
recorder_stop
(($(samples_of "$impostor") > 0)) || error "no samples of it"
[ "$(samples_of "$recorder")" = 0 ] || error "own samples are recorded"

# Interrupts complete or begin what other tasks wait for. The recorder is busy: each event wakes it
# up.
subtest "interrupts that hit the recorder, and a profile's samples of it, are recorded"
expired=timer:hrtimer_expire_entry
for ring in no auto; do
	"$PERF" record -a --bpf-ring=$ring -e $expired -e cpu-clock/period=100000/ \
		--no-bpf-event --no-buffering -o "$work/data" -- sleep 1 2> "$work/record.err" &
	recorder=$!
	wait "$recorder" || fatal "perf record exits with status $?"
	fields "$work/data" pid,event |
		awk -v pid="$recorder" '$1 == pid { print $2 }' | sort | uniq -c > "$work/own"
	note "--bpf-ring=$ring: $(xargs < "$work/own")"
	grep -q $expired "$work/own" || error "--bpf-ring=$ring: no $expired"
	grep -q cpu-clock "$work/own" || error "--bpf-ring=$ring: no samples of the profile"
done

# triggers FILE...: print the processes whose membarrier(2) has triggered a snapshot
triggers() {
	local file

	for file; do
		fields "$file" pid,event,bpf-output
	done | awk '
		/ snapshot: / && match($0, /[0-9]+\/[0-9]+ +\[/) { pid = substr($0, RSTART) + 0 }
		/BPF string: "syscalls:sys_enter_membarrier/ {
			printf "%s%s", separator, pid
			separator = " "
		}'
}

# On a stock kernel perf itself calls membarrier(2) for each snapshot. So do recorders beside this
# one.
subtest "a snapshot does not trigger the next one"
nr=$(printf '#include <sys/syscall.h>\nSYS_membarrier\n' | cc -E -P - 2> /dev/null | tail -n 1)
if [ -n "$nr" ] && need syscalls:sys_enter_membarrier; then
	recorder_start -a -e raw_syscalls:sys_enter/overwrite/ -o "$work/triggered" \
		--switch-output-event syscalls:sys_enter_membarrier
	perl -e 'syscall($ARGV[0] + 0, 0, 0)' "$nr"
	wait_until 20 grep -q 'Snapshot 1' "$work/record.err" ||
		error "the call does not trigger a snapshot"
	control ping
	control ping
	recorder_stop
	pids=$(triggers "$work"/triggered.*)
	note "triggered by $pids"
	[ -n "$pids" ] || error "no file says which process has triggered its snapshot"
	[[ " $pids " != *" $recorder "* ]] || error "the snapshot has triggered another one"
else
	inconclusive "no C compiler to ask for the number of membarrier(2)"
fi

# A filter would cost every task time for each event, unless BPF writes it. The second snapshot has
# the call for the first.
subtest "overwritten events have no filter: they show what the recorder does"
need syscalls:sys_enter_membarrier
recorder_start -v -a --bpf-ring=no -e syscalls:sys_enter_membarrier/overwrite/ -o "$work/data"
control snapshot
control snapshot
recorder_stop
if grep -q 'rings by PERF_SAMPLE_SIZE_AT_END' "$work/record.err"; then
	inconclusive "on this kernel, snapshots need no membarrier(2)"
elif ! fields "$work/data" pid,event |
	awk -v pid="$recorder" '$1 == pid && /membarrier/ { n++ } END { exit !n }'; then
	error "no samples of the recorder"
fi

# The kernel's filters compare with the ids of the initial namespace. Inside, the recorder is
# process 1, and all processes outside are 0.
subtest "in a PID namespace"
if unshare -pf --mount-proc true 2> /dev/null; then
	wrapper=(unshare -pf --mount-proc)
	recorder_start -a -e raw_syscalls:sys_enter -e context-switches/period=1/ --no-bpf-event \
		--no-buffering -o "$work/data"
	pause 0.2
	recorder_stop
	wrapper=()
	own=$(samples_of 1)
	others=$(samples_of 0)
	note "$own own samples, $others of processes outside"
	[ "$own" = 0 ] || error "own samples are recorded"
	((others > 0)) || error "no samples of other processes"
else
	inconclusive "no PID namespaces"
fi

finish
