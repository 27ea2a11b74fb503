#!/bin/bash
# perf record --switch-output-when: durations above the threshold take snapshots, others do not
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# tags: parallel

. "$(dirname "$0")/lib/when.sh"

for kind in 'syscall' 'syscall(nanosleep,clock_nanosleep)' 'off-cpu' 'off-cpu(S)' 'on-cpu' \
	'sched-delay'; do
	subtest "$kind"
	[ "$kind" != sched-delay ] || who=${comm}w
	start "$kind>23ms"
	make "${kind%(*}" "${lengths[@]}"
	wait_until 10 nr_reported 5 || note "fewer than 5 reports"
	check 23
done
who=$comm

# The programs that write these events run those that judge durations.
subtest "conditions at events that are recorded as well"
for kind in syscall off-cpu on-cpu sched-delay; do
	[ $kind != sched-delay ] || who=${comm}w
	start "$kind>23ms" "${recorded[@]}"
	make $kind "${lengths[@]}"
	wait_until 10 nr_reported 5 || note "fewer than 5 reports"
	check 23
	runs_after_recorded || error "$kind: attached to the tracepoints"
done
who=$comm

subtest "calls that BPF records begin at the times of their samples"
for event in raw_syscalls:sys_enter syscalls:sys_enter_clock_nanosleep; do
	start 'syscall(clock_nanosleep)>23ms' -e "$event"
	make syscall "${lengths[@]}"
	wait_until 10 nr_reported 5 || note "fewer than 5 reports"
	check 23
	grep -q 'sys_enter runs after the program that writes' "$work/record.err" || {
		inconclusive "$event is not written by BPF"
		continue
	}
	sed -n 's/.*, from \([0-9]*\) to [0-9]*$/\1/p' "$work/record.err" | sort > "$work/begins"
	for file in "$work"/data*; do
		fields "$file" time --ns
	done | tr -d ' .:' | sort > "$work/times"
	comm -23 "$work/begins" "$work/times" > "$work/elsewhen"
	[ ! -s "$work/elsewhen" ] ||
		error "$event: $(wc -l < "$work/elsewhen") begin at other times"
done

subtest "at events that are recorded of another task"
sleep 100 &
other=$!
recorder_start -p $other "${recorded[@]}" --keep=60s,32M -v -o "$work/data" \
	--switch-output-when="syscall>23ms if comm==$comm"
make syscall "${lengths[@]}"
wait_until 10 nr_reported 5 || note "fewer than 5 reports"
check 23
runs_after_recorded || error "attached to the tracepoints"
kill $other

subtest "from one tracepoint to another, by thread"
start 'syscalls:sys_enter_clock_nanosleep..syscalls:sys_exit_clock_nanosleep>23ms'
make syscall "${lengths[@]}"
wait_until 10 nr_reported 5 || note "fewer than 5 reports"
check 23

subtest "recorders beside such a condition have all samples"
recorder_start "${events[@]}" -v -o "$work/data" \
	--switch-output-when='syscalls:sys_enter_clock_nanosleep..syscalls:sys_exit_clock_nanosleep>1000s'
"$PERF" record -q --bpf-ring=no -e 'syscalls:sys_*_clock_nanosleep' -o "$work/beside" -- \
	"$delays" syscall 1 2 3 > /dev/null 2>&1
recorder_stop
seen=$(fields "$work/beside" event | wc -l)
((seen >= 6)) || error "$seen samples of three calls"

subtest "from one tracepoint to another, by thread, without a record"
start 'raw_syscalls:sys_enter..raw_syscalls:sys_exit>23ms'
make syscall "${lengths[@]}"
wait_until 10 nr_reported 5 || note "fewer than 5 reports"
check 23

subtest "from one tracepoint to another, by a field that is 0"
start 'syscalls:sys_enter_getpgid..syscalls:sys_enter_getsid>23ms by pid'
mkdir "$work/python"
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$work/python/$comm"
"$work/python/$comm" -c 'import os, time; os.getpgid(0); time.sleep(0.1); os.getsid(0)'
wait_until 10 nr_reported 1 || error "no report"
recorder_stop
grep -q "$comm (pid [0-9]*, tid [0-9]*[,)].*getsid \(took\|has taken\) .* ms, pid 0" \
	"$work/record.err" || error "no report with the value of the field"

# The kernel starts timers of its own while a task runs: what else is reported proves nothing.
subtest "from one tracepoint to another, by a field"
rm -f "$work"/data*
recorder_start "${events[@]}" -v -o "$work/data" \
	--switch-output-when="sched:sched_waking..sched:sched_wakeup>1000s by pid" \
	--switch-output-when="timer:hrtimer_start..timer:hrtimer_expire_entry>23ms by hrtimer if comm==$comm"
make syscall "${lengths[@]}"
wait_until 10 nr_reported 5 || error "fewer than 5 reports"
recorder_stop
grep -q "$comm (pid [0-9]*, tid [0-9]*[,)].*: timer:hrtimer_start..timer:hrtimer_expire_entry \(took\|has taken\) .* ms, hrtimer 0x" \
	"$work/record.err" || error "no report with the value of the field"

probe() {
	"$PERF" probe -q -x "$(readlink -f "$delays")" "$@" 2> "$work/probe.err"
}
subtest "from the call of a function to its return: the outermost call"
group=probe_dly$$
if probe "$group:call=delayed" && probe "$group:back=delayed%return"; then
	start "$group:call..$group:back__return>23ms"
	make recursive "${lengths[@]}"
	wait_until 10 nr_reported 5 || note "fewer than 5 reports"
	check 23
else
	inconclusive "no uprobe: $(tail -n 1 "$work/probe.err")"
fi

subtest "from the call of a function to the return of another one, which it calls"
if probe "$group:outer=make_call"; then
	start "$group:outer..$group:back__return>23ms" --advise
	make recursive "${lengths[@]}"
	recorder_stop
	grep -q ' of 11 durations are too long' "$work/record.err" ||
		error "not 11 durations: $(grep durations "$work/record.err")"
else
	inconclusive "no uprobe: $(tail -n 1 "$work/probe.err")"
fi
"$PERF" probe -q -d "$group:*" 2> /dev/null

# usdt NAME: print the place of a static probe of the helper, as uprobe_events wants it
usdt() {
	echo "$(readlink -f "$delays"):$(readelf -n "$delays" | awk -v name="$1" '
		$1 == "Name:" && $2 == name { getline; sub(",", "", $2); print $2; exit }')"
}
subtest "from one USDT probe to another, on another CPU"
probes=/sys/kernel/tracing/uprobe_events
group=usdt_dly$$
if { echo "p:$group/begin $(usdt begin)" >> $probes &&
	echo "p:$group/end $(usdt end)" >> $probes; } 2> "$work/probe.err"; then
	start "$group:begin..$group:end>23ms"
	make request "${lengths[@]}"
	wait_until 10 nr_reported 5 || note "fewer than 5 reports"
	check 23
else
	inconclusive "no USDT probe: $(tail -n 1 "$work/probe.err")"
fi
for name in begin end; do
	echo "-:$group/$name" >> $probes
done 2> /dev/null

subtest "a system call, a state and a name that do not match"
for condition in 'syscall(fsync)>23ms' 'off-cpu(D)>23ms'; do
	start "$condition"
	make syscall 41 43
	recorder_stop
	nr_reported 1 && error "a report for $condition"
done
rm -f "$work"/data*
recorder_start "${events[@]}" -v -o "$work/data" \
	--switch-output-when="syscall>23ms if comm==no$comm" \
	--switch-output-when="syscall>23ms if comm==$comm, pid==1" \
	--switch-output-when="syscall>23ms if comm==$comm, pid!=1"
make syscall 41 43
wait_until 10 nr_reported 0
recorder_stop
found=$(grep -oE 'if comm==.*: [0-9]+ durations?' "$work/record.err" | tr '\n' ';')
[[ $found =~ ^"if comm==no$comm: 0 durations;if comm==$comm, pid==1: 0 durations;if comm==$comm, pid!=1: "([0-9]+)" durations;"$ ]] &&
	((BASH_REMATCH[1] >= 2)) || error "found $found"

subtest "a filter matches the deepest descendants of a cgroup"
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
cgroup=/dly$$
nested=$cgroup
for ((i = 0; i < 40; i++)); do
	nested+=/$i
done
if [ -n "$root" ] && mkdir -p "$root$nested" 2> "$work/mkdir.err"; then
	rm -f "$work"/data*
	perf_record "${events[@]}" -o "$work/data" \
		--switch-output-when="syscall(nanosleep,clock_nanosleep)>23ms if cgroup==$cgroup" \
		-- sh -c "echo \$\$ > '$root$nested/cgroup.procs'; exec '$delays' syscall 41 43"
	grep -qF "if cgroup==$cgroup: 2 durations" "$work/record.err" ||
		error "not 2 durations: $(grep durations "$work/record.err")"
	(cd "$root" && rmdir -p "${nested#/}" 2> /dev/null)
else
	inconclusive "no cgroup: $(tail -n 1 "$work/mkdir.err" 2> /dev/null)"
fi

# sleep_inside: sleep too long in the cgroup
sleep_inside() {
	sh -c "echo \$\$ > '$root$cgroup/cgroup.procs'; exec '$delays' syscall 41" > /dev/null
}

# in_cgroup CGROUP CONDITION: sleep too long in a new cgroup, and print what commands are told
in_cgroup() {
	mkdir -p "$root$1" 2> "$work/mkdir.err" || return
	rm -f "$work"/data*
	perf_record "${events[@]}" -o "$work/data" --switch-output-when="$2" \
		--exec-snapshot "echo \"\$PERF_SNAPSHOT_REASON\" >> $work/told #" \
		-- sh -c "echo \$\$ > '$root$1/cgroup.procs'; exec '$delays' syscall 41"
	(cd "$root" && rmdir -p "${1#/}" 2> /dev/null)
	cat "$work/told"
	rm "$work/told"
}

subtest "the cgroup of a container is told whole, of a longer path the end"
level=$(printf '%060d' 0)
for path in "/dly$$/$level/$level/$level" "/dly$$/$level/$level/$level/$level/$level"; do
	if [ -n "$root" ] && told=$(in_cgroup "$path" "syscall>23ms if comm==$comm"); then
		shown=$path
		((${#path} <= 255)) || shown=...${path: -252}
		grep -qF ", cgroup $shown) " <<< "$told" || error "not the cgroup $shown: $told"
	else
		inconclusive "no cgroup: $(tail -n 1 "$work/mkdir.err" 2> /dev/null)"
	fi
done

subtest "a long condition does not hide who took too long, and when"
names=$(printf 'clock_nanosleep%.0s,' {1..14})nanosleep
if [ -n "$root" ] && told=$(in_cgroup "$path" "syscall($names)>23ms if cgroup==$path"); then
	[[ $told =~ \.\.\.": "[^\ ]*" (pid ".*" ms; from "[0-9.]+" to "[0-9.]+ ]] ||
		error "not who, or not when: $told"
	find_snapshots "$work/data"
	"$PERF" data convert -i "${snapshots[0]}" "--to-chrome=$work/long.chrome" \
		2> "$work/convert.err" || error "cannot convert: $(< "$work/convert.err")"
	grep -q '"cat":"too-long"' "$work/long.chrome" || error "--to-chrome has no interval"
else
	inconclusive "no cgroup: $(tail -n 1 "$work/mkdir.err" 2> /dev/null)"
fi

subtest "a cgroup that is removed and made again, as that of a service that is restarted"
for mode in -v --advise; do
	if [ -z "$root" ] || ! mkdir "$root$cgroup" 2> "$work/mkdir.err"; then
		inconclusive "no cgroup: $(tail -n 1 "$work/mkdir.err" 2> /dev/null)"
		continue
	fi
	recorder_start "${events[@]}" $mode -o "$work/data" \
		--switch-output-when="syscall(nanosleep,clock_nanosleep)>23ms if cgroup==$cgroup" \
		--switch-output-when="irq>1s if cgroup!=$cgroup"
	sleep_inside
	rmdir "$root$cgroup"
	mkdir "$root$cgroup"
	pause 2
	sleep_inside
	recorder_stop
	rmdir "$root$cgroup"
	grep -qE "if cgroup==$cgroup: 2 (of 2 )?durations" "$work/record.err" ||
		error "$mode: not 2 durations: $(grep durations "$work/record.err")"
done

subtest "in a PID namespace: no cgroup of another task that has the same id there"
mkfifo "$work/begun" "$work/tid" "$work/go"
if [ -n "$root" ] && mkdir "$root$cgroup" 2> "$work/mkdir.err"; then
	# The command makes a task with the id of the one outside, which then goes on.
	# shellcheck disable=SC2016 # expanded by that shell
	unshare --pid --fork --kill-child --mount-proc "$PERF" record "${events[@]}" \
		-o "$work/data" --switch-output-when="syscall(nanosleep,clock_nanosleep)>23ms if comm==$comm" \
		-- sh -c '
			echo > "$0/begun"
			read -r tid < "$0/tid"
			echo $((tid - 1)) > /proc/sys/kernel/ns_last_pid
			sh -c "echo 0 > \"\$0\" && exec sleep 100" "$1/cgroup.procs" &
			[ "$!" = "$tid" ] || echo "process $!, not $tid" >&2
			while kill -0 "$!" && ! grep -qx "$!" "$1/cgroup.procs"; do
				sleep 0.01
			done
			echo > "$0/go"
			sleep 1' "$work" "$root$cgroup" > /dev/null 2> "$work/record.err" &
	recorder=$!
	timeout 60 cat "$work/begun" > /dev/null
	sh -c 'read -r line < "$0" && exec "$@"' "$work/go" "$delays" syscall 41 > /dev/null &
	tid=$!
	timeout 30 sh -c "echo $tid > '$work/tid'"
	if wait "$recorder" && ! grep "process .*, not" "$work/record.err"; then
		grep -q "$comm (pid $tid, tid ${tid}[,)]" "$work/record.err" ||
			error "no report"
		! grep -F "cgroup $cgroup" "$work/record.err" || error "another task's cgroup"
		grep -q "that exist already are not judged" "$work/record.err" ||
			error "no warning"
	else
		inconclusive "no such namespace: $(tail -n 1 "$work/record.err")"
		kill "$tid" 2> /dev/null
	fi
	wait_until 10 rmdir "$root$cgroup" || error "the cgroup is in use"
else
	inconclusive "no cgroup: $(tail -n 1 "$work/mkdir.err" 2> /dev/null)"
fi

# idle: print for how long CPUs have been idle [1/100 s]
idle() {
	awk '$1 == "cpu" { print $5 }' /proc/stat
}

subtest "interrupts of idle CPUs, with --no-exclude-perf"
recorder_start -v -a --no-exclude-perf -e sched:sched_process_exec -o "$work/data" \
	--switch-output-when='softirq>1us'
begun=$(idle)
pause 1
recorder_stop
idle=$(($(idle) - begun))
if ! grep -q 'softirq>1us: swapper' "$work/record.err"; then
	((idle > 50)) || inconclusive "no CPU was idle"
	((idle <= 50)) || error "none is reported, though CPUs were idle for ${idle}0 ms"
fi

subtest "a call of a 32-bit program has another number"
if "$delays" call-32 1 > /dev/null 2>&1; then
	start 'syscall>23ms' --switch-output-when="syscall(sync)>23ms if comm==$who"
	make call-32 "${lengths[@]}"
	wait_until 10 nr_reported 5 || note "fewer than 5 reports"
	check 23
	reports "$comm (pid .* 32-bit call 162 for "
	reports -F "syscall(sync)>23ms if comm==$who: 0 durations"
else
	inconclusive "no 32-bit calls"
fi

subtest "a call that does not end is reported while it lasts, once"
start 'syscall>307ms'
"$delays" syscall 60000 > /dev/null &
wait_until 20 nr_reported 1 || error "not reported"
kill -0 $! || error "the call has ended"
kill $!
wait $! 2> /dev/null
recorder_stop
grep -q "$comm (pid $!, tid $!.*) has been in .* for 3[0-9][0-9]\..* ms" "$work/record.err" ||
	note "the check came late"
[ "$(grep -c "$comm (pid $!.* has been in .* from .* to [0-9]*$" "$work/record.err")" = 1 ] ||
	error "not reported once"

subtest "the snapshot says who"
who=${comm}w
start 'sched-delay>23ms' --exec-snapshot "echo \"\$PERF_SNAPSHOT_REASON\" >> $work/reason"
make sched-delay 41
wait_until 20 test -s "$work/reason" || error "no snapshot"
recorder_stop "$work/data"
[ "${#snapshots[@]}" = 2 ] || error "${#snapshots[@]} files, not 2"
tid=$(cut -d ' ' -f 1 "$work/truth")
says="sched-delay>23ms if comm==$who: $who \(pid [0-9]+, tid $tid(, cgroup [^ ]+)?\) (has )?waited [0-9.]+ ms for a CPU"
holder="; $comm \(tid [0-9]+\) held CPU 0 for [0-9.]+ ms of them"
for text in "$(head -n 1 "$work/reason")" \
	"$(grep -m 1 '^\[ perf record: sched-delay' "$work/record.err")" \
	"$("$PERF" script "${no_symbols[@]}" -i "${snapshots[0]}" 2> /dev/null |
		grep -m 1 'BPF string')"; do
	note "$text"
	[[ $text =~ $says$holder"; from "[0-9.]+" to "[0-9.]+ ]] || error "not as expected: $text"
done

subtest "viewers mark the interval"
read -r _ begin _ end < <(grep -o 'from [0-9.]* to [0-9.]*' "$work/reason" | head -n 1)
for format in chrome perfetto; do
	"$PERF" data convert -i "${snapshots[0]}" "--to-$format=$work/trace.$format" \
		2> "$work/convert.err" ||
		error "cannot convert: $(< "$work/convert.err")"
done
python3 - "$work/trace.chrome" "$begin" "$end" "$tid" \
	"sched-delay>23ms if comm==$who: $who (pid" <<'END' ||
import json
import sys

path, begin, end, tid, text = sys.argv[1:]
events = json.load(open(path))['traceEvents']
first, = [e for e in events if e['ph'] == 'B' and e.get('cat') == 'too-long']
track = first['pid'], first['tid']
last, = [e for e in events if e['ph'] == 'E' and (e['pid'], e['tid']) == track]
assert abs(first['ts'] - 1e6 * float(begin)) < 0.5 and \
    abs(last['ts'] - 1e6 * float(end)) < 0.5, (first, last)
assert first['args']['tid'] == int(tid) and first['name'].startswith(text), first
END
	error "--to-chrome has another interval: $(grep -a too-long "$work/trace.chrome")"

subtest "--control and the service manager are told"
# Both requests have arrived when the recorder goes on.
export NOTIFY_SOCKET=$work/notify
python3 -c '
import socket, sys
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind(sys.argv[1])
while True:
    print(notify.recv(8192).decode(), flush=True)
' "$NOTIFY_SOCKET" > "$work/notified" &
wait_until 10 test -S "$NOTIFY_SOCKET" || fatal "no socket"
start 'sched-delay>23ms' --switch-output
unset NOTIFY_SOCKET
kill -STOP "$recorder"
make sched-delay 41
echo "snapshot id=7" >&"$ctl"
kill -CONT "$recorder"
control ping id=8
until [[ $answer = *id=7* ]] || ! IFS= read -rt 20 -u "$ack" answer; do :; done
told=$answer
recorder_stop
note "$told"
says="sched-delay>23ms if comm==$who: $who \(pid [0-9]+, tid $(cut -d ' ' -f 1 "$work/truth")"
[[ $told =~ "ack id=7 $work/data."[0-9]+[^\;]*"; "$says ]] || error "the answer is '$told'"
grep -qE "^STATUS=Recording; snapshot 1 is in $work/data\.[0-9]+: $says" "$work/notified" ||
	error "the status is $(< "$work/notified")"

subtest "--control is told of a duration whose snapshot --after delays"
start 'sched-delay>23ms' --switch-output --after=10m
make sched-delay 41
wait_until 20 nr_reported 1 || error "no report"
control snapshot || error "no answer"
note "$answer"
says="sched-delay>23ms if comm==$who: $who \(pid [0-9]+, tid $(cut -d ' ' -f 1 "$work/truth")"
[[ $answer =~ "ack $work/data."[0-9]+[^\;]*"; "$says ]] || error "the answer is '$answer'"
recorder_stop

subtest "as JSON"
start 'sched-delay>23ms' --summary=json
make sched-delay 41
wait_until 20 grep -q '"type":"snapshot"' "$work/record.err" || error "no snapshot"
recorder_stop
grep '^{' "$work/record.err" | python3 -c '
import json, sys
objects = [json.loads(line) for line in sys.stdin]
first = next(o for o in objects if o["type"] == "snapshot")
took = first["duration"]
assert first["reason"].startswith("sched-delay>23ms if comm=="), first
assert 0.023 < took["time"] < took["end"], took
assert abs(took["end"] - took["begin"] - took["time"]) < 1e-6, took
assert took["holder"]["cpu"] == 0 and took["holder"]["tid"] != first["tid"], took
triggers = next(o for o in objects if o["type"] == "triggers")
assert triggers["conditions"][0]["durations"] >= 1, triggers
' || error "the JSON is wrong"

who=$comm
subtest "--cooldown and --keep-first limit the snapshots"
start 'syscall>23ms' --cooldown=1h
make syscall 41
wait_until 20 grep -q 'Snapshot 1 ' "$work/record.err" || error "no snapshot"
make syscall 43 47 53
recorder_stop "$work/data"
[ "${#snapshots[@]}" = 2 ] || error "${#snapshots[@]} files, not 2"
reports '[1-9] triggers took no snapshot'
start 'syscall>23ms' --keep-first 2
make syscall 41 43 47 53
wait_until 20 grep -q 'Snapshot 1 ' "$work/record.err" || error "no snapshot"
recorder_stop "$work/data"
((${#snapshots[@]} <= 3)) || error "${#snapshots[@]} files, more than 3"

subtest "--cooldown: a duration after it takes a snapshot, also if others are seen with it"
start 'syscall>23ms' --cooldown=2s
make syscall 41
wait_until 20 grep -q 'Snapshot 1 ' "$work/record.err" || error "no snapshot"
recorder_suspend
make syscall 29 29 29 29 29 29 29 29 29 29
pause 2.1
make syscall 47
kill -CONT "$recorder"
wait_until 20 grep -q 'Snapshot 2 (syscall' "$work/record.err" || error "no second snapshot"
recorder_stop

subtest "a duration that is too long in the cooldown, and ends after it, is counted once"
start 'syscall>23ms' --cooldown=2s
make syscall 41 43 3001
recorder_stop
grep -q " if comm==$who: 3 durations " "$work/record.err" ||
	error "not 3 durations: $(grep 'durations\? ' "$work/record.err")"

subtest "100,000 durations: each is reported, counted, or known to be neither"
who=${comm}w
for limit in --cooldown=1h --after=10m; do
	start 'syscall(getppid)>1ns' $limit
	make calls 100003
	recorder_stop
	awk '/ durations that were too long are not counted/ { n += $2 }
		/ if comm==.*: [0-9]+ durations / { n += $(NF - 2) }
		END { exit n != 100003 }' "$work/record.err" ||
			error "$limit: not all are accounted for"
	! grep -F '(null)' "$work/record.err" || error "$limit: a request without a reason"
done
who=$comm

subtest "--after: later durations, and signals, become part of the snapshot"
start 'syscall>23ms' --after=3s
make syscall 41 43
kill -USR2 "$recorder"
wait_until 20 grep -q 'Snapshot 1 ' "$work/record.err" || error "no snapshot"
recorder_stop "$work/data"
[ "${#snapshots[@]}" = 2 ] || error "${#snapshots[@]} files, not 2"
for text in "syscall>23ms if comm==$comm: $comm \(pid .*; from [0-9.]+ to [0-9.]+ ]" \
	"The same snapshot is for syscall>23ms if comm==$comm by .* ms; from [0-9.]+ to [0-9.]+ ]" \
	"The same snapshot is for signal by [^;]*$"; do
	grep -qE "$text" "$work/record.err" || error "the summary lacks: $text"
done

subtest "--after: durations that are merged have times on the clock of the events, also in the JSON"
start 'syscall>23ms' --after=3s -k monotonic_raw --summary=json
make syscall 41 43
recorder_stop
grep '^{' "$work/record.err" | python3 -c '
import json, sys
objects = [json.loads(line) for line in sys.stdin]
first = next(o for o in objects if o["type"] == "snapshot")
other, = first["merged"]
assert abs(other["end"] - other["begin"] - other["time"]) < 1e-6, other
(begin, _), (_, end) = [line.split()[3:5] for line in open(sys.argv[1])]
between = other["begin"] - first["duration"]["begin"]
assert 0 < between < (int(end) - int(begin)) / 1e9, (between, begin, end)
' "$work/truth" || error "the JSON is wrong: $(grep '"merged"' "$work/record.err")"

subtest "--after: signals are delayed, commands are not"
start 'syscall>1000s' --after=300ms
kill -USR2 "$recorder"
control snapshot || error "--control waits for --after"
wait_until 20 grep -q 'Snapshot [12] (signal' "$work/record.err" ||
	error "no snapshot for the signal"
recorder_stop
start 'syscall>23ms' --cooldown=1h --after=500ms
make syscall 41
wait_until 20 grep -q 'Snapshot 1 ' "$work/record.err" || error "no snapshot"
make syscall 43
kill -USR2 "$recorder"
control ping
make syscall 47
wait_until 20 grep -q 'Snapshot 2 ' "$work/record.err" || error "no snapshot for the signal"
recorder_stop
reports "The same snapshot is for syscall>23ms if comm==$comm by "
start 'syscall>1000s' --after=1m
kill -USR2 "$recorder"
control ping
recorder_stop
reports 'Snapshot 1 (signal'

subtest "the configuration has conditions, which the command line replaces"
cat > "$work/config" <<- END
	[record]
		switch-output-when = syscall>23ms if comm==$comm
		switch-output-when-sleep = off-cpu>23ms if comm==$comm
		after = 10ms
END
PERF_CONFIG=$work/config "$PERF" record "${events[@]}" -o "$work/data" -- "$delays" syscall 41 \
	> /dev/null 2> "$work/record.err" || error "perf record fails"
[ "$(grep -c "if comm==$comm: [1-9][0-9]* durations\? " "$work/record.err")" = 2 ] ||
	error "not two conditions"
PERF_CONFIG=$work/config "$PERF" record "${events[@]}" --switch-output-when='on-cpu>1000s' \
	-o "$work/data" \
	-- "$delays" syscall 41 > /dev/null 2> "$work/record.err" || error "perf record fails"
reports -F 'on-cpu>1000s: 0 durations'
grep -qF 'syscall>23ms' "$work/record.err" && error "a condition of the configuration"

subtest "the durations of a command are judged without -a, too"
for mode in -v --advise; do
	perf_record -e sched:sched_process_exec --keep=60s,32M $mode -o "$work/data" \
		--switch-output-when="syscall(nanosleep,clock_nanosleep)>23ms if comm==$comm" \
		-- "$delays" syscall 41 43
	grep -E ': (2 durations|2 of 2 durations)' "$work/record.err" ||
		error "$mode: not 2 durations: $(grep durations "$work/record.err")"
done

subtest "the recorder's own durations are not reported"
rm -f "$work"/data*
recorder_start "${events[@]}" -v -o "$work/data" --switch-output-when='syscall>1us if comm==perf' \
	--keep-first 1
control ping
recorder_stop
grep -q "(pid $recorder," "$work/record.err" && error "they are"

subtest "--advise says how long durations took"
rm -f "$work"/data*
perf_record "${events[@]}" --advise \
	--switch-output-when="syscall(nanosleep,clock_nanosleep)>23ms if comm==$comm" \
	--switch-output-when="off-cpu>23ms if comm==no$comm" \
	-o "$work/data" -- "$delays" syscall 3 3 3 3 3 3 3 3 22 22 101
line=$(grep 'durations are too long; median' "$work/record.err")
note "$line"
[[ $line =~ ": "([0-9]+)" of 11 durations are too long; median "([0-9]+)"."[0-9]+" ms, ".*" longest "([0-9]+)"."[0-9]+" ms" ]] ||
	error "not 11 durations"
most=$(awk '$3 > 23e6' "$work/issued" | wc -l)
((BASH_REMATCH[1] >= 1 && BASH_REMATCH[1] <= most)) || error "not 1 to $most are too long"
((BASH_REMATCH[2] >= 3 && BASH_REMATCH[2] <= 101 && BASH_REMATCH[3] >= 101)) ||
	error "the median or the longest is wrong"
reports -E 'Not once in [0-9.]+ s: >[0-9]{3,}\.'
[ "$(grep -c 'Not once in ' "$work/record.err")" = 1 ] || error "a threshold without durations"
reports -F "if comm==no$comm: there were no durations"
ls "$work"/data* 2> /dev/null && error "a file"

subtest "errors"
# refused TEXT OPTION...
refused() {
	"$PERF" record "${events[@]}" -o "$work/data" "${@:2}" -- true > "$work/record.err" 2>&1 &&
		error "accepted: ${*:2}"
	grep -qF -- "$1" "$work/record.err" || error "the message for ${*:2} lacks: $1"
}
refused "at column 12: no system call 'fsnyc'; did you mean 'fsync'?" \
	--switch-output-when='   syscall(fsnyc)>1s'
refused '               ^' --switch-output-when='   syscall(fsnyc)>1s'
refused 'no cgroup (v2)' --switch-output-when='irq>1s if cgroup==/none/such'
refused 'cannot read the event none:such' --switch-output-when='sched:sched_switch..none:such>1s'
refused "has no field 'pid' that is a number. It has: prev_pid" \
	--switch-output-when='sched:sched_waking..sched:sched_switch>1s by pid'
refused 'not a time of 1ms or more' --after=2
many=()
for ((i = 0; i < 65; i++)); do
	many+=(--switch-output-when='irq>1000s')
done
refused 'more than 64 conditions' "${many[@]}"
"$PERF" record "${events[@]}" -o "$work/data" "${many[@]:1}" -- true > "$work/record.err" 2>&1 ||
	error "64 conditions are refused"
if as_nobody_ready; then
	"${as_nobody[@]}" "$PERF" record -e cpu-clock:u --keep --switch-output-when='irq>1s' \
		-o "$public/data" \
		-- true > "$work/record.err" 2>&1 && error "accepted from an ordinary user"
	grep -q 'Cannot judge durations .*: run as root, or with CAP_BPF and CAP_PERFMON' \
		"$work/record.err" ||
		error "the reason is missing"
else
	note "$reason"
fi

finish
