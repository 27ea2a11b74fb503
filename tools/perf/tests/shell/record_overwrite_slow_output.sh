#!/bin/bash
# perf record /overwrite/: slow output does not delay copies, and requests made meanwhile are merged
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered

request() {
	kill -USR2 "$recorder" || fatal "the recorder has exited"
	signal_taken
}

# The output is a pipe whose reader is stopped: write() blocks, as on a disk that does not answer.
mkfifo "$work/pipe"
exec {pipe}<> "$work/pipe"
cat "$work/pipe" > "$work/data" {pipe}>&- &
reader=$!

# output_blocks: return 0 if a thread of the recorder is in write()
output_blocks() {
	grep -q "^$nr_write " "/proc/$recorder/task"/*/syscall
}
case $(uname -m) in
x86_64) nr_write=1 ;;
*) nr_write=64 ;;
esac

numbered_event overwrite
recorder_out=$work/pipe
recorder_start -a -m 256 "${event[@]}" -o -
numbered_calls 10 5003
kill -STOP "$reader"
request
wait_until 10 output_blocks ||
	fatal "write() does not block: $(cat "/proc/$recorder/task"/*/syscall)"

# Each copy is taken when it is requested; later records do not overwrite it.
for phase in 21 22 23; do
	numbered_calls $phase 503
	request
done
output_blocks || fatal "write() does not block any more"
# More than the ring holds: the earlier calls are overwritten in the ring, but not in the copy.
numbered_calls 30 20011
kill -CONT "$reader"
exec {pipe}>&-
# The end of the recording is a request, too: wait for the pending one.
wait_until 20 grep -q 'Snapshot 2' "$work/record.err" || fatal "the second snapshot is not written"
recorder_stop
wait_until 10 gone "$reader" || fatal "the pipe is still open"

seen=$(numbered_ranges "$work/data")
[[ $seen == "10:1-5003 21:1-503 22:1-503 23:1-503 30:"*"-20011" ]] ||
	error "recorded calls are '$seen'"
numbered_check "$work/data" -- --quiet | grep -i repeated
reports 'Merged 3 snapshot requests'

finish
