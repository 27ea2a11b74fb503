#!/bin/bash
# perf record: a loss of a streamed ring ends the time for which a snapshot is complete
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered
numbered_event

# take: take a snapshot; set $seconds and $limit to what the answer says
take() {
	control snapshot || fatal "the snapshot is not acknowledged: $answer"
	read -r _ file seconds limit <<< "$answer"
	note "$answer"
}

# lose: let rings overflow while the recorder is stopped
lose() {
	kill -STOP "$recorder"
	wait_until 20 grep -q '^State:.T' "/proc/$recorder/status" || fatal "it does not stop"
	numbered_calls 20 20011
	kill -CONT "$recorder"
}

# lost: return 0 if the file lacks calls that were made while the recorder was stopped
lost() {
	! numbered_check "$file" > "$work/checked" ||
		[[ $(numbered_ranges "$file") != *20:1-20011* ]]
}

# is_complete: of what the file has in the last $seconds before its newest record, no call is
# missing. The sample that describes the snapshot is later: on a busy machine, by more than
# $seconds.
is_complete() {
	local newest oldest

	newest=$(fields "$file" time,event --ns |
		awk '$2 != "snapshot:" { sub(":", "", $1); print $1 }' | sort -n | tail -n 1)
	oldest=$(awk -v t="$newest" -v s="$seconds" 'BEGIN { printf "%.9f", t - s }')
	fields "$file" trace --time "$oldest," > "$work/span"
	grep -q . "$work/span" || return 0
	"$BUILD/tests/numbered_check" < "$work/span"
}

subtest "--keep: in the answer, the summary and the sample of the snapshot"
recorder_start -a -m 16 "${event[@]}" -o "$work/data" --keep=60s,64M --switch-output --summary=json
numbered_calls 10 101
take
[ "$limit" = none ] || error "the limit is '$limit' before anything is lost"
numbered_calls 11 101
lose
numbered_calls 30 101
take
lost || inconclusive "no call was lost"
[ "$limit" = lost ] || error "the answer says '$limit'"
[ "$(in_json snapshot "['kept']['limit']")" = lost ] ||
	error "the summary says $(in_json snapshot "['kept']")"
"$PERF" script "${no_symbols[@]}" -f -i "$file" 2> /dev/null | grep -q 'limited by a loss' ||
	error "the sample does not say it"
is_complete || error "calls are missing in the last $seconds s"
numbered_calls 40 101
take
[ "$limit" = none ] || error "the limit is '$limit' after the next snapshot"
recorder_stop

subtest "streams beside overwritten events"
recorder_start -a -m 16 "${event[@]}" -e raw_syscalls:sys_exit/overwrite/ \
	--filter "comm == \"$comm\"" -o "$work/mixed" --switch-output
numbered_calls 10 101
take
[ "$limit" != lost ] || error "the limit is '$limit' before anything is lost"
numbered_calls 11 11
lose
numbered_calls 30 11
take
lost || inconclusive "no call was lost"
"$PERF" script "${no_symbols[@]}" -f -i "$file" 2> /dev/null | grep -q 'which lost events' ||
	error "the sample does not say it"
[ "$limit" = lost ] || error "the answer says '$limit'"
is_complete || error "calls are missing in the last $seconds s"
recorder_stop

finish
