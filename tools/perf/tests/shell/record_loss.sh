#!/bin/bash
# perf record and perf loss: what they say is lost is what is missing, and the pictures show it
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 180

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered

# Rings of one page cannot hold what two threads do between two looks of a reader that waits for the CPU
numbered_event
small=(-B -m 1 --no-threads "${event[@]}")

# said PATTERN: the numbers of that pattern in what the recorder said; empty if it did not say so
said() {
	sed -nE "s/^\[ perf record: $1.*/\1 \2 \3 \4/p" "$work/record.err"
}
lost_line='Lost ([0-9]+) events of ([0-9]+) \(([0-9.]+) %\), data loss metric ([0-9.]+) %'

# of JSON: a number of perf loss --json
of() {
	python3 -c "import json; d = json.load(open('$work/loss.json')); print($1)"
}

# missing FILE...: how many calls are not in the files, and in $issued how many there were
missing() {
	numbered_check "$@" -- --from-start --expect "$work/issued" --quiet --result r > "$work/verdict"
	issued=$(awk '$1 == "thread" { sum += $NF } END { print sum }' "$work/issued")
	missing=$(sed -n 's/^RESULT r-missing \([0-9]*\) .*/\1/p' "$work/verdict")
}

# The recorder, perf loss and perf report --stats tell the same of $work/data, which is what is missing
agree() {
	local lost events share metric

	missing "$work/data"
	read -r lost events share metric <<< "$(said "$lost_line")"
	echo "$1: $issued calls, $missing missing; said: ${lost:-nothing} of ${events:-?} lost, metric ${metric:-?} %"
	((missing > 0)) || wrong "$1: nothing was lost: this shows nothing"
	[ "$lost" = "$missing" ] || wrong "$1: perf record says $lost are lost, but $missing are"
	[ "$events" = "$issued" ] || wrong "$1: perf record says it was of $events events, not $issued"

	"$PERF" loss --json "$work/data" > "$work/loss.json" 2> "$work/loss.err" || wrong "$1: perf loss fails"
	[ "$(of "'%d %d %.2f %.2f' % (d['lost'], d['events'], 100 * d['lost'] / d['events'], d['metric_percent'])")" = \
		"$lost $events $share $metric" ] || wrong "$1: perf loss does not say the same: $(cat "$work/loss.json")"

	"$PERF" report --stats -i "$work/data" > "$work/stats" 2> "$work/stats.err"
	awk -v lost="$(of "d['lost']")" -v chunks="$(of "d['lost_records']")" -v samples="$(of "d['samples']")" '
		/^ *[A-Z_]+ events:/ { if (of_event) sum[$1] += $3; else total[$1] = $3 }
		/stats:$/ && !/Aggregated/ { of_event = 1 }
		END { exit !(sum["LOST_SAMPLES"] == lost && total["LOST"] + 0 == chunks && total["SAMPLE"] == samples) }
	' "$work/stats" || wrong "$1: perf report --stats does not agree: $(cat "$work/stats")"
}

# drawn FILE.svg LOST: it is XML, and the places of the picture hold that many lost events together
drawn() {
	python3 - "$@" <<- 'END' || wrong "the picture is not what it should be"
		import re, sys, xml.etree.ElementTree as tree
		svg = tree.parse(sys.argv[1]).getroot()
		titles = [t.text for t in svg.iter('{http://www.w3.org/2000/svg}title')]
		lost = sum(int(n) for t in titles for n in re.findall(r'(\d+) events lost', t))
		print(f'{sys.argv[1].split("/")[-1]}: {len(titles)} places, {lost} events lost in them')
		sys.exit(svg.tag != '{http://www.w3.org/2000/svg}svg' or lost != int(sys.argv[2]))
	END
}

# --- losses in the middle

"$PERF" record -a "${small[@]}" -o "$work/data" --loss-report="$work/rec.svg" -- \
	"$work/$comm" --duration 2 > "$work/issued" 2> "$work/record.err" || fail "record ends with status $?"
agree "all CPUs"
drawn "$work/rec.svg" "$missing"
grep -q 'ring up to' "$work/rec.svg" || wrong "the picture does not show how full the rings were"
"$PERF" loss --svg="$work/loss.svg" "$work/data" > /dev/null || wrong "perf loss --svg fails"
drawn "$work/loss.svg" "$missing"
(($(of "d['holes']") > 1)) || wrong "only one hole: this shows nothing"

"$PERF" record "${small[@]}" -o "$work/data" -- "$work/$comm" --duration 1 > "$work/issued" \
	2> "$work/record.err" || fail "record ends with status $?"
agree "one command"

# --- losses at the end: no LOST record tells of them

recorder_start -a "${small[@]}" -o "$work/data"
kill -STOP "$recorder"
numbered_start --rate 20000 --duration 1
numbered_end
kill -CONT "$recorder"
recorder_stop
agree "at the end"
[ "$(of "d['lost_records']")" = 0 ] || wrong "there are LOST records: this shows nothing"
# A page is full after a few ms, the rest of the second is a hole
of "d['metric_percent'] > 50" | grep -q True || wrong "the metric knows nothing of the end: $(cat "$work/loss.json")"

# --- files that are switched: each tells its own losses

"$PERF" record -a "${small[@]}" -o "$work/part" --switch-output=1s -- \
	"$work/$comm" --duration 3 > "$work/issued" 2> "$work/record.err" || fail "record ends with status $?"
find_snapshots "$work/part"
missing "${snapshots[@]}"
((${#snapshots[@]} > 1)) || wrong "only one file: this shows nothing"
sum=0 twice=0
for file in "${snapshots[@]}"; do
	"$PERF" loss --json "$file" > "$work/loss.json" || wrong "perf loss fails for $file"
	sum=$((sum + $(of "d['lost']")))
	echo "${file##*/}: $(of "'%d of %d' % (d['lost'], d['events'])") lost"
	# What is lost during a switch both files may tell, the second in its first LOST of each ring
	[ "$file" = "${snapshots[0]}" ] || twice=$((twice + $("$PERF" script --dump-unsorted-raw-trace -i "$file" 2> /dev/null |
		awk -F '[ :]' '/PERF_RECORD_LOST: / && !seen[$1]++ { sum += $NF } END { print sum + 0 }')))
done
((sum >= missing && sum <= missing + twice)) || wrong "$missing are missing, but the files say $sum, $twice perhaps twice"
[ "$(said "$lost_line" | cut -d ' ' -f 1)" = "$missing" ] || wrong "$missing are missing, the recorder says otherwise"

# --- no losses

"$PERF" record -a "${event[@]}" -o "$work/good" -- "$work/$comm" --rate 1000 --count 1009 > "$work/issued" \
	2> "$work/record.err" || fail "record ends with status $?"
grep -q '^\[ perf record: Lost 0 events \]' "$work/record.err" || wrong "the recorder does not say: Lost 0 events"
"$PERF" loss --fail-above 0 "$work/good" > "$work/loss.out" || wrong "perf loss finds losses: $(cat "$work/loss.out")"
grep -q 'Data loss metric  *0.00 %' "$work/loss.out" || wrong "a metric where nothing was lost: $(cat "$work/loss.out")"

# --- scripts, pipes, what cannot be read

"$PERF" loss --fail-above 0.001 "$work/data" > "$work/loss.out"
[ $? = 1 ] || wrong "--fail-above does not fail with status 1"
"$PERF" loss --fail-above 100 --per-cpu "$work/data" > "$work/loss.out" 2> "$work/loss.err" || wrong "--fail-above 100 fails"
grep -qE '^CPU 0 ' "$work/loss.out" || wrong "no table of the rings: $(cat "$work/loss.out")"
[ -s "$work/loss.err" ] && wrong "chatter: $(cat "$work/loss.err")"

"$PERF" record -a "${small[@]}" -o - -- "$work/$comm" --duration 0.5 --tag 1 2> "$work/record.err" |
	"$PERF" loss --json > "$work/loss.json" || wrong "perf loss does not read a pipe"
[ "$(of "d['lost']")" = "$(said "$lost_line" | cut -d ' ' -f 1)" ] || wrong "through a pipe: $(cat "$work/loss.json")"

# A record of no size in the middle of the data
"$PERF" loss --json "$work/good" > "$work/loss.json"
samples=$(of "d['samples']")
dd if=/dev/zero of="$work/good" bs=1 count=4096 conv=notrunc status=none \
	seek=$(($("$PERF" script --dump-unsorted-raw-trace -i "$work/good" 2> /dev/null |
		awk '/PERF_RECORD_SAMPLE/ && ++n == 1000 { print $3; exit }')))
"$PERF" loss --json "$work/good" > "$work/loss.json" 2> "$work/loss.err"
[ $? = 255 ] || wrong "a damaged file is no error"
cat "$work/loss.err"
grep -q "$work/good is damaged" "$work/loss.err" || wrong "a damaged file: no message"
[ "$(of "d['samples']")" = 999 ] || wrong "a damaged file: $(of "d['samples']") samples of $samples counted, not 999"
# Into a pipe, which has no events: a PERF_RECORD_LOST_SAMPLES, and one that ends before its number
printf 'PERFILE2\20\0\0\0\0\0\0\0\15\0\0\0\0\0\20\0\7\0\0\0\0\0\0\0\15\0\0\0\0\0\10\0' |
	"$PERF" loss --json -i - > "$work/loss.json" 2> "$work/loss.err"
[ $? = 255 ] || wrong "a record that is cut off is no error"
[ "$(of "d['lost']")" = 7 ] || wrong "a record that is cut off: $(of "d['lost']") lost events, not 7"
head -c 100000 "${snapshots[0]}" > "$work/half"
"$PERF" loss "$work/half" > "$work/loss.out" 2> "$work/loss.err"
[ $? = 255 ] && grep -q "$work/half" "$work/loss.err" || wrong "half a file is no error"
"$PERF" loss "$work/none" > "$work/loss.out" 2> "$work/loss.err"
[ $? = 255 ] && grep -q "$work/none" "$work/loss.err" || wrong "no file is no error"
"$PERF" record --loss-report="$work/no/such.svg" -o "$work/data" -- true 2> "$work/record.err"
[ $? = 255 ] && grep -q "$work/no/such.svg" "$work/record.err" || wrong "a picture that cannot be made is no error"

finish
