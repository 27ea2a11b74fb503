#!/bin/bash
# perf record --advise: who follows the advice keeps the wanted time, with little more memory
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered
numbered_event
wanted=10			# [s]
measured=5003			# calls

# json FIELD: print a number of the advice
json() {
	sed -nE "s/.*\"$1\":([0-9.]+).*/\\1/p" "$work/record.err"
}

# calls "WORKLOAD OPTIONS" [record options]: record the calls of one thread
calls() {
	local options=$1

	shift
	# shellcheck disable=SC2086 # several options
	perf_record -o "$work/data" "$@" -- "$work/$comm" --threads 1 $options
}

# nr_found: print the number of calls in the file
nr_found() {
	fields "$work/data" event | grep -c sys_enter
}

subtest "--advise measures, and writes nothing"
echo precious > "$work/data"
numbered_event overwrite
calls "--rate 10000 --idle --count $measured" -z0 --advise="${wanted}s" "${event[@]}" \
	--switch-output --switch-output-event sched:sched_process_exec --summary=json
note "$(cat "$work/record.err")"
[ "$(cat "$work/data")" = precious ] || error "the file is overwritten"
compgen -G "$work/data.*" && error "a file was written"
[ "$(json events)" = "$measured" ] || error "not $measured events"
[ "$(json time)" = "$wanted.000000000" ] || error "not the wanted time"
ring=$(json ring_bytes) keep=$(json keep_bytes)
[ "${ring:-0}" -gt 0 ] && [ "${keep:-0}" -gt 0 ] || fatal "no advice"
# The rate of the calls depends on the machine. The test is about the number of calls that fit.
fitting=$(awk -v n="$measured" -v wanted="$wanted" -v s="$(json measured)" '
	BEGIN { print int(n * wanted / s) }')
bytes=$(awk -v rate="$(json busiest_bytes_per_second)" -v s="$wanted" \
	'BEGIN { print int(rate * s) }')
note "$wanted s are $fitting calls, $bytes bytes"
((keep > bytes && keep < bytes * 5 / 4 + (64 << 20))) || error "--keep=$keep for $bytes bytes"

subtest "-m as advised holds the wanted time, a quarter of it does not"
calls "--rate 0 --count $fitting" -m "$((ring >> 10))K" "${event[@]}"
found=$(nr_found)
[ "$found" = "$fitting" ] || error "$found calls, not $fitting"
calls "--rate 0 --count $fitting" -m "$((ring >> 12))K" "${event[@]}"
found=$(nr_found)
((found < fitting)) || error "a quarter of the advised size holds as much"

subtest "--keep as advised holds the wanted time"
numbered_event
calls "--rate 0 --count $fitting" -z0 --keep="1h,$((keep >> 20))M" "${event[@]}"
reports 'nothing was dropped'
grep -q 'Lost 0 events' "$work/record.err" || inconclusive "the reader got no CPU in time"

subtest "what cannot be measured is refused"
"$PERF" record --advise=5 -e cpu-clock true > "$work/out" 2> "$work/record.err"
[ $? = 129 ] || error "a time without a unit is accepted"
"$PERF" record --advise -D 10 -e cpu-clock true > "$work/out" 2> "$work/record.err"
[ $? = 129 ] || error "-D is accepted"

finish
