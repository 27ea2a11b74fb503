#!/bin/bash
# perf loss: the same counts as perf report --stats for files of stock perf
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 180

. "$(dirname "$0")/lib/numbered.sh"

need perf root numbered raw_syscalls:sys_enter

# stats PERF FILE: print the numbers of samples, LOST records, and lost events as counted by the
# kernel. Fails if this perf cannot read the file, for which perf 6.1 exits with 0.
stats() {
	"$1" report --stats -i "$2" > "$work/stats" 2> "$work/stats.err" || return
	grep -q ' events: ' "$work/stats" || return
	awk '
		/^ *[A-Z_]+ events:/ { if (of_event) sum[$1] += $3; else total[$1] = $3 }
		/stats:$/ && !/Aggregated/ { of_event = 1 }
		END { print total["SAMPLE"] + 0, total["LOST"] + 0, sum["LOST_SAMPLES"] + 0 }
	' "$work/stats"
}

# more_than_counted FILE: print the numbers of LOST records and of lost events, taking for each ring
# the larger one of the sum over LOST records and the kernel's count. perf 6.1 sometimes writes a
# part of a ring twice when the CPUs are busy, LOST records included.
more_than_counted() {
	"$PERF" script --dump-unsorted-raw-trace -i "$1" 2> /dev/null | sed -nE '
		s/^ *\.\.\. id: ([0-9]+) +idx: ([0-9]+).*/ring \1 \2/p
		s/.*PERF_RECORD_LOST: id:([0-9]+): lost:([0-9]+).*/lost \1 \2/p
		s/.*PERF_RECORD_LOST_SAMPLES: id:([0-9]+): lost samples :([0-9]+).*/counted \1 \2/p
	' | awk '
		$1 == "ring" { ring[$2] = $3; next }
		$1 == "lost" { records++ }
		{ sum[$1, ring[$2]] += $3; total[$1] += $3 }
		END {
			for (id in ring)
				rings[ring[id]]
			delete rings[""]
			more = sum["lost", ""]
			for (i in rings)
				more += sum["lost", i] > sum["counted", i] ? \
					sum["lost", i] : sum["counted", i]
			print records + 0, (more > total["counted"] ? more : total["counted"]) + 0
		}'
}

# compare NAME PERF METRIC RECORD_OPTIONS...: METRIC is a pattern for the metric that perf loss
# prints
compare() {
	local name=$1 perf=$2 metric=$3 reported counted

	shift 3
	subtest "$name record $*"
	rm -rf "$work/data"
	"$perf" record -B -m 1 -o "$work/data" "$@" -- "$work/$comm" --duration 0.3 \
		> "$work/issued" 2> "$work/record.err" ||
		{ inconclusive "perf record fails: $(tail -n 1 "$work/record.err")"; return; }
	if ! counted=$(stats "$perf" "$work/data"); then
		# With --threads, perf 6.1 seldom writes a damaged file. Where another recorder runs
		# while BPF programs are loaded, the kernel writes records that are too long
		# (recording/state/fixup.h), which other perfs pass on.
		[ "$perf" != "$PERF" ] || error "perf report fails: $(cat "$work/stats.err")"
		inconclusive "$name cannot read its own file: $(head -n 1 "$work/stats.err")"
		return
	fi
	recorded=$((recorded + 1))
	"$PERF" loss "$work/data" > "$work/loss.out" 2> "$work/loss.err" || error "perf loss fails"
	reported=$(awk '/^Samples/ { s = $2 } /^Events lost/ { e = $3 } /^LOST records/ { l = $3 }
		END { print s, l, e }' \
		"$work/loss.out")
	note "samples, LOST records, lost events: $reported;$(sed -n 's/^Data loss metric */ metric /p' "$work/loss.out")"
	if [ "$reported" != "$counted" ]; then
		note "perf report --stats reports $counted"
		[ "$reported" = "${counted%% *} $(more_than_counted "$work/data")" ] ||
			error "perf loss differs; LOST records, lost events: $(more_than_counted "$work/data")"
	fi
	grep -qE "^Data loss metric +$metric" "$work/loss.out" ||
		error "the metric does not match: $metric"
	[ "${counted##* }" = 0 ] || lossy=$((lossy + 1))
	[ -s "$work/loss.err" ] && error "perf loss prints messages: $(cat "$work/loss.err")"
}

number='[0-9.]+ %'
recorded=0 lossy=0
for perf in "$PERF" "${UPSTREAM_PERF:-}" /usr/bin/perf; do
	[ -x "$perf" ] || continue
	name=$("$perf" --version)
	compare "$name" "$perf" "$number" -a -e raw_syscalls:sys_enter
	compare "$name" "$perf" "$number" -a -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit \
		-e cpu-clock --switch-events
	compare "$name" "$perf" "$number" -e raw_syscalls:sys_enter
	compare "$name" "$perf" "$number" --per-thread -e raw_syscalls:sys_enter
	# Stock perf records no CPU number with these samples.
	if [ "$perf" = "$PERF" ]; then
		compare "$name" "$perf" "$number" -e cpu-clock -c 20000
	else
		compare "$name" "$perf" none -e cpu-clock -c 20000
		compare "$name" "$perf" "$number" -e cpu-clock -c 20000 --sample-cpu
		compare "$name" "$perf" "$number" -a -z -e raw_syscalls:sys_enter
		compare "$name" "$perf" "$number" -a --threads -e raw_syscalls:sys_enter
	fi
done
subtest "losses in the recordings"
note "$recorded recordings, $lossy of them with losses"
((lossy > 3)) || inconclusive "only $lossy recordings have losses"

finish
