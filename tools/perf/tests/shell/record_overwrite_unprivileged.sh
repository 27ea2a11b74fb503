#!/bin/bash
# perf record overwrite: what an ordinary user may do under perf_event_paranoid=2
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 60

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_perf
need_helpers numbered
need_root	# to become somebody else
as_nobody_ready || skip "$reason"

for name in cpu-clock task-clock; do
	for ring in "" "-m 1"; do
		echo "--- $name:u ${ring:-default -m}"
		# shellcheck disable=SC2086 # no word or two
		"${as_nobody[@]}" "$PERF" record -o "$public/data" $ring -c 100000 -e "$name/overwrite/u" -- \
			"$helpers/numbered" --rate 0 --duration 1 > "$work/issued" 2> "$work/record.err"
		status=$?
		rm -f "$work/said"
		[ $status = 0 ] || { wrong "record ends with status $status"; continue; }
		"${as_nobody[@]}" "$PERF" script -i "$public/data" -F comm,tid,time,ip > "$work/script.out" 2> "$work/script.err" ||
			wrong "its owner cannot read the file: $(cat "$work/script.err")"
		awk '
			{ time = $3; sub(":", "", time); if (!(time + 0 >= last)) back++; last = time + 0; n++ }
			$4 ~ /^ffff/ { kernel++ }
			$1 != "numbered" { other++ }
			END {
				printf "%d samples, %d of the kernel, %d of other commands, %d back in time\n", n, kernel, other, back
				exit !(n > 10 && !kernel && !back && !other)
			}' "$work/script.out" || wrong "not the samples of the user code"
		counts+=("$(wc -l < "$work/script.out")")
		readable "$public/data" || wrong "the file cannot be read"
		rm -f "$public"/data*
	done
done
# One page for each CPU holds a hundred, and the default ring all the others too
((counts[1] < counts[0] && counts[3] < counts[2])) || wrong "one page holds as much as the default: ${counts[*]}"

echo "--- -p, a task of the same user"
"${as_nobody[@]}" "$helpers/numbered" --rate 0 --duration 20 --threads 1 > "$work/issued" &
started+=($!)
task=$!
"${as_nobody[@]}" "$PERF" record -o "$public/data" -e cpu-clock/overwrite/u -p "$task" -- \
	"$helpers/numbered" --duration 0.3 > "$work/record.out" 2> "$work/record.err" ||
	wrong "record -p ends with status $?"
rm -f "$work/said"
count=$(samples "$public/data")
((count > 10)) || wrong "$count samples"
kill -TERM "$task"

finish
