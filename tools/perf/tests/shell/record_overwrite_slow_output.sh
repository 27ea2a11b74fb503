#!/bin/bash
# perf record overwrite: a slow output delays no copy, and requests meanwhile become one snapshot
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered

# calls PHASE COUNT: numbered calls, tagged with the phase, all issued on return
calls() {
	"$work/$comm" --threads 1 --tag "$1" --count "$2" > "$work/issued" || fail "numbered fails"
}

# phases FILE: the phases seen, and the numbers of each
phases() {
	numbered_check "$1" | awk '$1 == "thread" { print $2 $4 "-" $6 }' | tr -d , | xargs
}

request() {
	kill -USR2 "$recorder" || fail "the recorder is gone"
	pause 0.3
}

# The output is a pipe whose reader stops: write() then hangs, as with a disk that does not answer.
mkfifo "$work/pipe"
exec {pipe}<> "$work/pipe"
cat "$work/pipe" > "$work/data" {pipe}>&- &
reader=$!
started+=("$reader")

# One of its threads does
hangs() {
	grep -q "^$nr_write " "/proc/$recorder/task"/*/syscall
}
case $(uname -m) in
x86_64) nr_write=1 ;;
*) nr_write=64 ;;
esac

numbered_event overwrite
recorder_out=$work/pipe
recorder_start -a -m 256 "${event[@]}" -o -
calls 10 5003
kill -STOP "$reader"
request
wait_until 10 hangs || fail "the recorder does not hang in write(): $(cat "/proc/$recorder/task"/*/syscall)"

# Each copy is taken when it is asked for, and what comes later does not push it out
for phase in 21 22 23; do
	calls $phase 503
	request
done
hangs || fail "the recorder does not hang any more"
# More than the ring holds: what was there before is gone, but not from the copy
calls 30 20011
kill -CONT "$reader"
exec {pipe}>&-
# The end is a request, too: it would push out what still waits
wait_until 20 grep -q 'Snapshot 2' "$work/record.err" || fail "the second snapshot is not written"
recorder_stop
wait_until 10 gone "$reader" || fail "the pipe is still open"

seen=$(phases "$work/data")
[[ $seen == "10:1-5003 21:1-503 22:1-503 23:1-503 30:"*"-20011" ]] || wrong "recorded are '$seen'"
numbered_check "$work/data" -- --quiet | grep -i repeated
grep -q 'answers 3 requests' "$work/record.err" || wrong "the summary does not tell of merged requests"

finish
