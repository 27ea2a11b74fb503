#!/bin/bash
# perf record: all events of a file have the same sample id fields
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 300

# Side-band records end with the sample id: task, time, id and CPU. Some readers, such as that of
# hotspot, take its layout from the first event, and stop if another event has other fields.

. "$(dirname "$0")/lib/harness.sh"

need perf root raw_syscalls:sys_enter

tracepoint=raw_syscalls:sys_enter

# id_fields: print the sample id fields of each event that perf evlist -v describes, and its name
id_fields() {
	sed -nE 's/^([^ ]+): .*sample_type: ([A-Z_|]+),.*/\1 \2/p' | while read -r name type; do
		printf '%s ' "$name"
		tr '|' '\n' <<< "$type" | grep -xE 'TID|TIME|ID|STREAM_ID|CPU|IDENTIFIER' |
			paste -sd '|'
	done
}

# compare_events NAME: compare the events of the file with each other
compare_events() {
	"$PERF" evlist -v -i "$(echo "$work"/data*)" 2> /dev/null | id_fields > "$work/ours"
	[ "$(cut -d ' ' -f 2 "$work/ours" | sort -u | wc -l)" = 1 ] ||
		error "$1: fields differ:" "$(paste -sd ' ' "$work/ours")"
}

# check OPTIONS...: record a command, and check the events of the file
check() {
	rm -f "$work"/data*
	perf_record -q -B -o "$work/data" "$@" -- true
	compare_events "perf record $*"
}

# lacks_none OPTIONS...: check that events have the fields that the unmodified perf gives them. It
# uses IDENTIFIER for ID if the types of samples differ.
lacks_none() {
	local name theirs ours field

	rm -f "$work"/data*
	"$UPSTREAM_PERF" record -q -B -o "$work/data" "$@" -- true 2> "$work/record.err" ||
		fatal "the unmodified perf exits with status $?: record $*"
	"$UPSTREAM_PERF" evlist -v -i "$work/data" 2> /dev/null | id_fields > "$work/theirs"
	[ -s "$work/theirs" ] || error "no events in the file of the unmodified perf: record $*"
	while read -r name theirs; do
		ours=$(grep -F "$name " "$work/ours") || error "perf record $*: no event $name"
		for field in ${theirs//|/ }; do
			[[ "|${ours#* }|" = *"|${field/#ID*/IDENTIFIER}|"* ]] ||
				error "perf record $*: $name has no $field"
		done
	done < "$work/theirs"
}

subtest "streamed events"
for options in "-e $tracepoint" "-e cpu-clock,$tracepoint" "-e $tracepoint -D 10" \
	"-e cpu-clock --no-timestamp" "-e {cpu-clock,page-faults}:S -T"; do
	# shellcheck disable=SC2086 # several options
	check $options
	# shellcheck disable=SC2086
	[ -z "${UPSTREAM_PERF:-}" ] || lacks_none $options
done
for options in "-e cpu-clock,$tracepoint -D 10" "-e $tracepoint --per-thread" \
	"-e cpu-clock,$tracepoint --no-timestamp" "-e $tracepoint -a -T"; do
	# shellcheck disable=SC2086
	check $options
done

subtest "overwrite and --keep"
for options in "-e $tracepoint/overwrite/" "-e cpu-clock/overwrite/,$tracepoint -D 10" \
	"-e cpu-clock/overwrite/ --per-thread" "-e cpu-clock --keep=60s,32M" \
	"-e $tracepoint --keep=60s,32M -D 10" \
	"-e cpu-clock/overwrite/ --switch-output-event cs/period=1000/"; do
	# shellcheck disable=SC2086
	check $options
done

subtest "--off-cpu"
rm -f "$work"/data*
if "$PERF" record -q -B --off-cpu -e cpu-clock -o "$work/data" -- true 2> "$work/record.err"; then
	compare_events --off-cpu
else
	inconclusive "no --off-cpu: $(tail -n 1 "$work/record.err")"
fi

finish
