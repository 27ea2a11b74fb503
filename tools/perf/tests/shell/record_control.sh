#!/bin/bash
# perf record overwrite: --control and its commands, acknowledged; -D -1
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 60

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered

issued=$work/issued

# calls PHASE [COUNT]: numbered calls, tagged with the phase, all issued on return
calls() {
	"$work/$comm" --threads 1 --tag "$1" --count "${2:-1009}" > "$issued" || fail "numbered fails"
}

# phases FILE: the phases seen, and the numbers of each
phases() {
	numbered_check "$1" | awk '$1 == "thread" { print $2 $4 "-" $6 }' | tr -d , | xargs
}

for how in overwrite no-overwrite; do
	echo "--- -D -1, enable, disable: $how"
	numbered_event "$how"
	recorder_start -a -D -1 -m 1024 "${event[@]}" -o "$work/data"
	calls 10
	control enable || wrong "'enable' is not acknowledged"
	calls 20
	control disable || wrong "'disable' is not acknowledged"
	calls 30
	control "enable raw_syscalls:sys_enter" || wrong "'enable NAME' is not acknowledged"
	calls 40
	control "disable raw_syscalls:sys_enter" || wrong "'disable NAME' is not acknowledged"
	calls 50
	recorder_stop
	seen=$(phases "$work/data")
	[ "$seen" = "20:1-1009 40:1-1009" ] || wrong "recorded are '$seen', not the calls while enabled"
	numbered_check "$work/data" -- --quiet --from-start || wrong "faults"
	rm -f "$work"/data*
done

echo "--- ping, evlist, a command that is none"
numbered_event overwrite
recorder_start -a -m 1024 "${event[@]}" -o "$work/data"
for _ in 1 2 3 4 5 6 7; do
	control ping || wrong "'ping' is not acknowledged"
done
control evlist || wrong "'evlist' is not acknowledged"
grep -q 'raw_syscalls:sys_enter' "$work/record.out" "$work/record.err" || wrong "evlist does not show the event"
control evlist -v || wrong "'evlist -v' is not acknowledged"
grep -q 'sample_type' "$work/record.out" "$work/record.err" || wrong "evlist -v does not show the fields"
# It may be answered or not, but not obeyed, and the next command must be understood
echo 'no-such-command' >&"$ctl"
pause 0.1
while read -rt 0.2 -u "$ack" answer; do
	[ "$answer" != ack ] || wrong "a command that is none is acknowledged"
done
control ping || wrong "'ping' is not acknowledged after a command that is none"
grep -q 'unknown command' "$work/record.err" || wrong "nothing is said about a command that is none"

echo "--- snapshot, as fast as acknowledged"
for ((i = 1; i <= 19; i++)); do
	calls "$i" 7
	control snapshot || wrong "snapshot $i is not acknowledged"
done
recorder_stop
seen=$(phases "$work/data" | tr ' ' '\n' | grep -c ':1-7$')
[ "$seen" = 19 ] || wrong "$seen of 19 snapshots hold their calls"
numbered_check "$work/data" -- --quiet --from-start || wrong "faults"
rm -f "$work"/data*

echo "--- snapshot with --switch-output, as fast as acknowledged: no file takes the name of another"
recorder_start -a -m 1024 "${event[@]}" -o "$work/data" --switch-output=signal
calls 1 53
for ((i = 1; i <= 19; i++)); do
	control snapshot || wrong "snapshot $i is not acknowledged"
done
recorder_stop
find_snapshots "$work/data"
[ "${#snapshots[@]}" = 20 ] || wrong "${#snapshots[@]} files for 19 snapshots and the end"
numbered_check "${snapshots[@]}" -- --quiet --from-start --expect "$issued" || wrong "faults"
readable "${snapshots[0]}" "${snapshots[-1]}" || wrong "a file cannot be read"
rm -f "$work"/data*

echo "--- fd:, a workload, stop"
exec {ctl}<> "$work/ctl" {ack}<> "$work/ack"
"$PERF" record --control "fd:$ctl,$ack" "${event[@]}" -o "$work/data" -- \
	"$work/$comm" --duration 60 > "$issued" 2> "$work/record.err" &
recorder=$!
started+=("$recorder")
rm -f "$work/said"
control ping || wrong "'ping' is not acknowledged"
pause 0.3
control stop || wrong "'stop' is not acknowledged"
recorder_end 30
[ "$status" = 0 ] || wrong "stopped, the recorder ends with status $status, not 0"
# The workload was told to end, and did; what it issued after the events were disabled is not there
grep -q '^thread' "$issued" || wrong "the workload was not ended"
readable "$work/data" || wrong "the file cannot be read"
numbered_check "$work/data" -- --quiet || wrong "faults"

echo "--- commands that come to their end: the recorder sleeps"
echo ping > "$work/commands"
for from in /dev/null "$work/commands"; do
	"$PERF" record --control fd:0 -e dummy -o "$work/data" -- sleep 60 < "$from" 2> "$work/record.err" &
	recorder=$!
	started+=("$recorder")
	wait_until 20 recorder_idle || wrong "the recorder does not sleep: --control fd:0 < $from"
	kill "$recorder"
	recorder_end
done

echo "--- a fifo that does not exist"
rm -f "$work"/data*
"$PERF" record --control "fifo:$work/none" "${event[@]}" -o "$work/data" -- true > /dev/null 2> "$work/record.err"
status=$?
rm -f "$work/said"
[ $status != 0 ] || wrong "record ends with status 0"
grep -qF "$work/none" "$work/record.err" || wrong "the message does not name it"
[ ! -e "$work/data" ] || wrong "an output file is left"

finish
