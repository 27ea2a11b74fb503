#!/bin/bash
# perf record --switch-output-when: tasks that move, execute programs and die; many durations; other clocks
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 600
# tags: parallel long

. "$(dirname "$0")/lib/when.sh"

nr_cpus=$(nproc)
call_pair='syscalls:sys_enter_clock_nanosleep..syscalls:sys_exit_clock_nanosleep'
raw_pair='raw_syscalls:sys_enter..raw_syscalls:sys_exit'

# measured NUMBER: compare the number of durations of the only condition that --advise has measured
measured() {
	local found

	recorder_stop
	found=$(sed -n "s/.* if comm==$who: [0-9]* of \([0-9]*\) durations .*/\1/p" \
		"$work/record.err")
	note "$condition: $found, after $SECONDS s"
	[ "$found" = "$1" ] ||
		error "$1 durations, but $found are measured $(grep 'the kernel skipped' "$work/record.err")"
}

subtest "a threshold for which each call's end is timed, and one for which few are"
compare syscall syscall 7
compare syscall syscall 29

# While the recorder is stopped, it does not notice what is open: the ends are reported.
subtest "lengths are right to 50 us"
max_error_us=500
[ -z "${NIGHT-}" ] || max_error_us=50
mapfile -t equal < <(yes 5 | head -n 53)
for kind in syscall off-cpu on-cpu sched-delay; do
	[ $kind != sched-delay ] || who=${comm}w
	start "$kind>3ms"
	kill -STOP "$recorder"
	wait_until 10 grep -q '^State:.T' "/proc/$recorder/status" || fatal "it does not stop"
	make $kind 1 "${equal[@]}"
	kill -CONT "$recorder"
	note "$kind"
	check 3 "$max_error_us"
done
who=$comm

# This is the clock of the whole machine.
if [ -n "${NIGHT-}" ]; then
	subtest "the time of day is set while durations are open"
	if "$delays" stepped 1 > "$work/truth" 2> "$work/step.err"; then
		for condition in syscall off-cpu "$call_pair"; do
			compare "$condition" stepped 23
		done
	else
		inconclusive "$(< "$work/step.err")"
	fi
fi

subtest "a thread that changes the CPU while it sleeps"
for condition in syscall off-cpu "$call_pair"; do
	compare "$condition" moving 23
done

subtest "a thread that waits for one CPU, and gets another one"
if ((nr_cpus > 1)); then
	who=${comm}w
	compare sched-delay moved 23
	who=$comm
else
	inconclusive "one CPU"
fi

subtest "a thread that executes a program takes over the tid of its process"
for condition in syscall off-cpu "$call_pair"; do
	compare "$condition" "thread-exec syscall" 23
done

subtest "a duration of a thread that executes a program meanwhile"
cat > "$work/exec.py" <<- 'END'
	import os
	import sys
	import threading
	import time

	LATER = 'import os; os.getsid(0)'

	def execute():
	    os.getpgid(0)
	    time.sleep(0.3)
	    os.execv(sys.argv[1], [sys.argv[1], '-c', LATER])

	threading.Thread(target=execute).start()
	threading.Event().wait()
END
python=$work/pyt$$
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$python"
who=${python##*/}
condition='syscalls:sys_enter_getpgid..syscalls:sys_enter_getsid'
start "$condition>1us" --advise
"$python" "$work/exec.py" "$python" || error "the program fails"
measured 1
# The duration is reported before the thread has another tid: it is too long by then.
start "$condition>101ms" --cooldown=1ms
"$python" "$work/exec.py" "$python" || error "the program fails"
recorder_stop
grep -q " if comm==$who: 1 duration " "$work/record.err" ||
	error "not reported once: $(grep 'durations\? ' "$work/record.err")"
who=$comm

subtest "a process that is killed in a call, and remains a zombie"
for condition in syscall "$raw_pair" "$call_pair"; do
	compare "$condition" killed 23
done

# No delay is above the threshold, so the comparison would be inconclusive.
subtest "a call that ends with its process is short, however long it is a zombie"
for condition in syscall "$raw_pair"; do
	start "$condition>23ms"
	make zombie 211 223
	recorder_stop
	while read -r tid _; do
		grep "$comm (pid $tid," "$work/record.err" && error "reported for $condition"
	done < "$work/truth"
done

subtest "64 conditions: each counts the delays that are longer"
rm -f "$work"/data*
many=()
for ((i = 11; i < 75; i++)); do
	many+=("--switch-output-when=syscall(nanosleep,clock_nanosleep)>${i}ms if comm==$comm")
done
recorder_start "${events[@]}" -o "$work/data" "${many[@]}" --cooldown=1h
make syscall "${lengths[@]}"
recorder_stop
# A delay may be longer than its number.
awk -v comm="$comm" '
	FNR == NR { least[FNR] = $2 / 1e6; most[FNR] = $3 / 1e6; n = FNR; next }
	match($0, /syscall.*>[0-9]+ms if comm==.*: [0-9]+ duration/) {
		line = $0; sub(/.*syscall[^>]*>/, "", line); threshold = line + 0
		sub(/.*: /, "", line); counted = line + 0; low = high = 0
		for (i = 1; i <= n; i++) {
			low += least[i] > threshold
			high += most[i] > threshold
		}
		conditions++
		if (counted < low || counted > high)
			print "# >" threshold "ms: " counted ", not " low
		wrong += counted < low || counted > high
	}
	END { exit wrong || conditions != 64 }' "$work/truth" "$work/record.err" ||
		error "not all are right"

subtest "100,000 durations in a second are measured, and none is missed"
nr=20000	# for a minute at night
[ -z "${NIGHT-}" ] || nr=6000000
who=${comm}w
group=probe_many$$
beside=()	# events
conditions=('syscall(getppid)' 'syscalls:sys_enter_getppid..syscalls:sys_exit_getppid' "$raw_pair")
probe=("$PERF" probe -q -x "$(readlink -f "$delays")")
if { "${probe[@]}" "$group:call=get_parent" && "${probe[@]}" "$group:back=get_parent%return"; } \
	2> "$work/probe.err"; then
	conditions+=("$group:call..$group:back__return")
else
	note "no uprobe: $(tail -n 1 "$work/probe.err")"
fi
# The first one once more, at events that are recorded as well
for condition in "${conditions[@]}" "${conditions[0]}"; do
	start "$condition>1ns" --advise "${beside[@]}"
	[ "$condition" != "${conditions[-1]}" ] || beside=("${recorded[@]}")
	SECONDS=0
	make calls $nr 100000
	# The call that gives the thread its name back is one more.
	[ "$condition" != "$raw_pair" ]
	measured $((nr + $?))
done
beside=()
"$PERF" probe -q -d "$group:*" 2> /dev/null
# A task leaves the CPU as often as it gets one. Some kernels do not report each switch to a task
# (durations.bpf.c).
for condition in sched-delay off-cpu on-cpu sched-delay off-cpu; do
	start "$condition>1ns" --advise "${beside[@]}"
	[ $condition != on-cpu ] || beside=("${recorded[@]}")
	SECONDS=0
	"$PERF" stat -x, -a -e sched:sched_switch --filter "prev_comm == \"$who\"" \
		-o "$work/stat" "$delays" yields $nr 100000 || error "perf stat fails"
	switches=$(sed -n 's/^\([0-9]*\),.*/\1/p' "$work/stat")
	((switches >= nr)) || inconclusive "not $nr switches"
	measured "$switches"
done
condition=softirq
start "$condition>1ns" --advise
SECONDS=0
"$PERF" stat -x, -a -e irq:softirq_entry --filter "comm == \"$who\"" -o "$work/stat" \
	"$delays" packets $nr 100000 || error "perf stat fails"
handlers=$(sed -n 's/^\([0-9]*\),.*/\1/p' "$work/stat")
((handlers >= nr / 2)) || inconclusive "$handlers softirqs, not $nr"
measured "$handlers"
who=$comm

subtest "a duration by a field, which two CPUs end at once, is reported once"
who=${comm}w
start 'syscalls:sys_enter_getpgid..syscalls:sys_enter_getsid>1ns by pid' --after=1h
"$delays" ends 100003
recorder_stop
grep -o "^syscalls.*: $who (pid .* from [0-9]* to " "$work/record.err" |
	grep -o 'from [0-9]*' > "$work/begins"
note "$(wc -l < "$work/begins") durations"
[ -s "$work/begins" ] || error "none"
sort "$work/begins" | uniq -d > "$work/twice"
[ ! -s "$work/twice" ] || error "$(wc -l < "$work/twice") are reported twice"
who=$comm

# A child begins one with its creation; nothing ends it.
subtest "more open durations than the map holds: counted, and told"
rm -f "$work"/data*
recorder_start "${events[@]}" -o "$work/data" \
	--switch-output-when="task:task_newtask..task:task_rename>1000s by pid if comm==$comm"
make forks 17000
recorder_stop
found=$(sed -n 's/.*: \([0-9]*\) tasks or durations were not judged: more than .* 16384 durations.*/\1/p' \
	"$work/record.err")
note "${found:-none} ignored"
[ "$found" = $((17000 - 16384)) ] || error "not $((17000 - 16384))"

# A process without children in between: the recorder gets the signals.
subtest "in a time namespace, whose clocks differ"
if unshare -T --monotonic 1000000 --boottime 1000000 sh -c '
	[ "$(readlink /proc/self/ns/time)" != "$0" ]' "$(readlink /proc/self/ns/time)" \
		2> /dev/null; then
	wrapper=(unshare -T --monotonic 1000000 --boottime 1000000)
	compare syscall syscall 23
	start 'syscall>307ms'
	wrapper=()
	"$delays" syscall 60000 > /dev/null &
	wait_until 20 nr_reported 1 || error "not reported while it lasts"
	kill $!
	recorder_stop
	grep -q "$comm (pid $!, tid $!.*) has been in .* for 3[0-9][0-9]\..* ms, from" \
		"$work/record.err" ||
		error "the length is wrong"
else
	inconclusive "no time namespaces that a program enters"
fi

finish
