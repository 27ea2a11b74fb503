#!/bin/bash
# perf record and perf loss: counts of lost events are exact, in summaries, JSON and pictures
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 180

. "$(dirname "$0")/lib/numbered.sh"

need_numbered

# Rings of one page hold 30 calls, and overflow at each burst.
numbered_event
small=(-B -m 1 --no-threads "${event[@]}")
bursts=(--idle --burst 61 --rate 20000)

# in_log PATTERN: print the numbers that the pattern matches in the messages of perf record
in_log() {
	sed -nE "s/^\[ perf record: $1.*/\1 \2 \3 \4/p" "$work/record.err"
}
lost_line='Lost ([0-9]+) events of ([0-9]+) \(([0-9.]+) %\), data loss metric ([0-9.]+) %'

# of EXPRESSION: print a number of perf loss --json
of() {
	python3 -c "import json; d = json.load(open('$work/loss.json')); print($1)"
}

# missing FILE...: set $missing to the number of calls that the files lack, and $issued to the
# number of calls
missing() {
	numbered_check "$@" -- --from-start --expect "$work/issued" --quiet --result r \
		> "$work/verdict"
	issued=$(awk '$1 == "thread" { sum += $NF } END { print sum }' "$work/issued")
	missing=$(sed -n 's/^RESULT r-missing \([0-9]*\) .*/\1/p' "$work/verdict")
}

# agree: check that perf record, perf loss and perf report --stats count as lost what $work/data
# lacks
agree() {
	local lost events share metric

	missing "$work/data"
	read -r lost events share metric <<< "$(in_log "$lost_line")"
	note "$issued calls, $missing missing; reported: ${lost:-no} of ${events:-?} lost, metric ${metric:-?} %"
	((missing > 0)) || inconclusive "no event was lost"
	[ "${lost:-0}" = "$missing" ] ||
		error "perf record reports ${lost:-no} lost events, but $missing are missing"
	((missing == 0)) || [ "$events" = "$issued" ] ||
		error "perf record reports $events events, not $issued"

	"$PERF" loss --json "$work/data" > "$work/loss.json" 2> "$work/loss.err" ||
		error "perf loss fails"
	((missing == 0)) ||
		[ "$(of "'%d %d %.2f %.2f' % (d['lost'], d['events'], \
			100 * d['lost'] / d['events'], d['metric_percent'])")" = \
		"$lost $events $share $metric" ] ||
			error "perf loss reports other figures: $(cat "$work/loss.json")"

	"$PERF" report --stats -i "$work/data" > "$work/stats" 2> "$work/stats.err"
	awk -v lost="$(of "d['lost']")" -v chunks="$(of "d['lost_records']")" \
		-v samples="$(of "d['samples']")" '
		/^ *[A-Z_]+ events:/ { if (of_event) sum[$1] += $3; else total[$1] = $3 }
		/stats:$/ && !/Aggregated/ { of_event = 1 }
		END { exit !(sum["LOST_SAMPLES"] == lost && total["LOST"] + 0 == chunks &&
			total["SAMPLE"] == samples) }
	' "$work/stats" || error "perf report --stats reports other figures: $(cat "$work/stats")"
}

# drawn FILE.svg LOST: check that the picture is XML, and that its marks add up to this many lost
# events
drawn() {
	python3 - "$@" <<- 'END' || error "the picture is not XML, or shows other losses"
		import re, sys, xml.etree.ElementTree as tree
		svg = tree.parse(sys.argv[1]).getroot()
		titles = [t.text for t in svg.iter('{http://www.w3.org/2000/svg}title')]
		lost = sum(int(n) for t in titles for n in re.findall(r'(\d+) events lost', t))
		print(f'# {sys.argv[1].split("/")[-1]}: {len(titles)} marks, {lost} lost events')
		sys.exit(svg.tag != '{http://www.w3.org/2000/svg}svg' or lost != int(sys.argv[2]))
	END
}

subtest "losses while recording, all CPUs"
perf_record -a "${small[@]}" -o "$work/data" --loss-report="$work/rec.svg" -- \
	"$work/$comm" "${bursts[@]}" --duration 1
agree
drawn "$work/rec.svg" "$missing"
grep -q 'ring up to' "$work/rec.svg" ||
	error "the picture does not show the fill level of the rings"
"$PERF" loss --svg="$work/loss.svg" "$work/data" > /dev/null || error "perf loss --svg fails"
drawn "$work/loss.svg" "$missing"
(($(of "d['holes']") > 1)) || inconclusive "only one interval has losses"

subtest "a picture of a recording in a pipe that no option names"
"$PERF" record -e dummy --loss-report="$work/piped.svg" -- true 2> "$work/record.err" |
	cat > "$work/piped"
status=${PIPESTATUS[0]}
[ "$status" = 0 ] || error "exit status $status"
drawn "$work/piped.svg" 0
grep -q '<title>standard output</title>' "$work/piped.svg" || error "the picture has another title"

subtest "a symbolic link stays, also if there is no picture yet"
ln -s "$work/linked.svg" "$work/early.svg"
for _ in 1 2; do
	perf_record -e dummy -o "$work/data" --loss-report="$work/early.svg" -- true
	[ -L "$work/early.svg" ] || error "the link is replaced"
	drawn "$work/linked.svg" 0
done

subtest "losses while recording, one command"

perf_record "${small[@]}" -o "$work/data" -- "$work/$comm" "${bursts[@]}" --duration 0.5
agree

# No LOST record follows these losses.
subtest "losses at the end"
recorder_start -a "${small[@]}" -o "$work/data"
kill -STOP "$recorder"
numbered_start --idle --rate 20000 --duration 0.5
numbered_end
kill -CONT "$recorder"
recorder_stop
agree
[ "$(of "d['lost_records']")" = 0 ] || inconclusive "there are LOST records"
# A page is full after a few ms; events are lost in the rest of the half second.
of "d['metric_percent'] > 50" | grep -q True ||
	error "the metric does not include the end: $(cat "$work/loss.json")"

subtest "losses of each file with --switch-output"
perf_record -a "${small[@]}" -o "$work/part" --switch-output=1s -- \
	"$work/$comm" "${bursts[@]}" --duration 2.3
find_snapshots "$work/part"
missing "${snapshots[@]}"
((${#snapshots[@]} > 1)) || inconclusive "only one file"
# losses_of FILE: print how many events were lost by the counters that end the file, how many by its
# LOST records, and the sum of the larger ones of each ring
losses_of() {
	"$PERF" script --dump-unsorted-raw-trace -i "$1" 2> /dev/null | sed -nE '
		s/.*PERF_RECORD_LOST: id:([0-9]+): lost:([0-9]+).*/record \1 \2/p
		s/.*PERF_RECORD_LOST_SAMPLES: id:([0-9]+): lost samples :([0-9]+).*/counter \1 \2/p
	' | awk '
		{ sum[$1] += $3; of_ring[$1, $2] += $3; rings[$2] }
		END {
			for (id in rings) {
				counter = of_ring["counter", id]
				record = of_ring["record", id]
				more += counter > record ? counter : record
			}
			print sum["counter"] + 0, sum["record"] + 0, more + 0
		}'
}
# The counters have all losses since the file before. LOST records about some of these may follow in
# the next file.
counted=0 marked=0
for file in "${snapshots[@]}"; do
	"$PERF" loss --json "$file" > "$work/loss.json" || error "perf loss fails for $file"
	lost=$(of "d['lost']")
	read -r counter record more < <(losses_of "$file")
	note "${file##*/}: $lost of $(of "d['events']") lost; counters $counter, LOST records $record"
	((lost == more)) || error "perf loss reports $lost lost events, not $more"
	counted=$((counted + counter)) marked=$((marked + record))
	((marked <= counted)) ||
		error "up to here, LOST records tell of $marked events, the counters of $counted"
done
((counted == missing)) || error "$missing are missing, but the files count $counted"
[ "$(in_log "$lost_line" | cut -d ' ' -f 1)" = "$missing" ] ||
	error "$missing are missing, but perf record reports another number"

subtest "no losses"
perf_record -a "${event[@]}" -o "$work/good" -- "$work/$comm" --idle --rate 5000 --count 1009
reports '^\[ perf record: Lost 0 events \]'
"$PERF" loss --fail-above 0 "$work/good" > "$work/loss.out" ||
	error "perf loss reports losses: $(cat "$work/loss.out")"
grep -q 'Data loss metric  *0.00 %' "$work/loss.out" ||
	error "the metric is not 0: $(cat "$work/loss.out")"
"$PERF" loss --json "$work/good" > "$work/loss.json"
[ "$(of "sum(r['sideband'] for r in d['rings']) > 0 and
	sum(r['events'] for r in d['rings'] if not r['sideband']) == d['events']")" = True ] ||
	error "the side-band rings are not marked: $(cat "$work/loss.json")"

subtest "exit status, pipes and damaged files"
"$PERF" loss --fail-above 0.001 "$work/data" > "$work/loss.out"
[ $? = 1 ] || error "--fail-above does not fail with status 1"
"$PERF" loss --fail-above 100 --per-cpu "$work/data" > "$work/loss.out" 2> "$work/loss.err" ||
	error "--fail-above 100 fails"
grep -qE '^CPU 0 ' "$work/loss.out" || error "no table of rings: $(cat "$work/loss.out")"
[ -s "$work/loss.err" ] && error "unexpected messages: $(cat "$work/loss.err")"

"$PERF" record -a "${small[@]}" -o - -- "$work/$comm" "${bursts[@]}" --duration 0.5 --tag 1 \
	2> "$work/record.err" |
	"$PERF" loss --json > "$work/loss.json" || error "perf loss cannot read a pipe"
[ "$(of "d['lost']")" = "$(in_log "$lost_line" | cut -d ' ' -f 1)" ] ||
	error "other figures through a pipe: $(cat "$work/loss.json")"

# A record of size 0 in the middle of the data
"$PERF" loss --json "$work/good" > "$work/loss.json"
samples=$(of "d['samples']")
dd if=/dev/zero of="$work/good" bs=1 count=4096 conv=notrunc status=none \
	seek=$(($("$PERF" script --dump-unsorted-raw-trace -i "$work/good" 2> /dev/null |
		awk '/PERF_RECORD_SAMPLE/ && ++n == 1000 { print $3; exit }')))
"$PERF" loss --json "$work/good" > "$work/loss.json" 2> "$work/loss.err"
[ $? = 255 ] || error "a damaged file is not an error"
grep -q "$work/good is damaged" "$work/loss.err" ||
	error "a damaged file: no message: $(cat "$work/loss.err")"
[ "$(of "d['samples']")" = 999 ] ||
	error "a damaged file: $(of "d['samples']") of $samples samples counted, not 999"
# A pipe without attributes: a PERF_RECORD_LOST_SAMPLES, and one that ends before its count
printf 'PERFILE2\20\0\0\0\0\0\0\0\15\0\0\0\0\0\20\0\7\0\0\0\0\0\0\0\15\0\0\0\0\0\10\0' |
	"$PERF" loss --json -i - > "$work/loss.json" 2> "$work/loss.err"
# Mainline skips such a record with a warning.
[ $? = 255 ] || grep -q 'event size 8 too small' "$work/loss.err" ||
	error "a truncated record is not an error"
[ "$(of "d['lost']")" = 7 ] || error "a truncated record: $(of "d['lost']") lost events, not 7"
# crafted [TIME CPU LOST]...: print a pipe with one event, and with a LOST record for each three
# values, or for each of 10000 CPUs
crafted() {
	python3 - "$@" <<- 'END'
		import struct, sys
		sample_type = 1 << 2 | 1 << 7                 # PERF_SAMPLE_TIME, PERF_SAMPLE_CPU
		attr = struct.pack('<IIQQQQQ', 1, 64, 0, 1, sample_type, 0, 1 << 18)
		attr = attr.ljust(64, b'\0')
		out = sys.stdout.buffer
		out.write(struct.pack('<8sQ', b'PERFILE2', 16))
		out.write(struct.pack('<IHH', 64, 0, 8 + len(attr)) + attr)
		values = [int(word, 0) for word in sys.argv[1:]] or \
		         [n for cpu in range(10000) for n in (1 + cpu, cpu, 1)]
		out.writelines(struct.pack('<IHHQQQQ', 2, 0, 40, 0, lost, time, cpu)
		               for time, cpu, lost in zip(*[iter(values)] * 3))
	END
}

last=0xfffffffffffffffe
crafted 0x0100000000000000 0 1 $last 0 1 1 0 1 $last 1 3 |
	"$PERF" loss --svg="$work/loss.svg" --json -i - > "$work/loss.json" 2> "$work/loss.err" ||
		error "times at the end of 64 bits: status $?: $(cat "$work/loss.err")"
[ "$(of "d['lost']")" = 6 ] || error "times at the end of 64 bits: $(cat "$work/loss.json")"
crafted 2000 0 1 1000 0 1 | "$PERF" loss --json -i - > "$work/loss.json"
[ "$(of "d['elapsed_ns'], d['lost']")" = "0 2" ] ||
	error "a time before the first one: $(cat "$work/loss.json")"
crafted | "$PERF" loss --json -i - > "$work/loss.json"
[ "$(of "d['lost'], len(d['rings']) < 5000")" = "10000 True" ] ||
	error "invalid CPUs: $(of "len(d['rings'])") rings, $(of "d['lost']") of 10000 lost events"
head -c 100000 "${snapshots[0]}" > "$work/half"
"$PERF" loss "$work/half" > "$work/loss.out" 2> "$work/loss.err"
[ $? = 255 ] && grep -q "$work/half" "$work/loss.err" || error "a truncated file is not an error"
"$PERF" loss "$work/none" > "$work/loss.out" 2> "$work/loss.err"
[ $? = 255 ] && grep -q "$work/none" "$work/loss.err" || error "a missing file is not an error"
"$PERF" record --loss-report="$work/no/such.svg" -o "$work/data" -- true 2> "$work/record.err"
[ $? = 255 ] && grep -q "$work/no/such.svg" "$work/record.err" ||
	error "a picture that cannot be created is not an error"

subtest "--loss-report: a file that exists is replaced at the end of a recording that succeeds"
echo old > "$work/old.svg"
chmod 640 "$work/old.svg"
ln -s old.svg "$work/link.svg"
ln -s /dev/null "$work/null.svg"
for name in old link null; do
	"$PERF" record --loss-report="$work/$name.svg" -e dummy -o "$work/no/such" -- true \
		2> "$work/record.err" && error "the recording does not fail"
	[ "$(cat "$work/old.svg")" = old ] || error "$name.svg is lost with the recording"
	[ -e "$work/$name.svg" ] || error "$name.svg is deleted"
done
for name in null link; do
	perf_record --loss-report="$work/$name.svg" -e dummy -o "$work/data" -- true
	[ -L "$work/$name.svg" ] || error "the link $name.svg is replaced"
done
drawn "$work/old.svg" 0
[ "$(stat -c %a "$work/old.svg")" = 640 ] || error "the mode is $(stat -c %a "$work/old.svg")"
[ -c /dev/null ] || error "/dev/null is replaced"
[ "$(echo "$work"/*.svg.*)" = "$work/*.svg.*" ] || error "left: $(echo "$work"/*.svg.*)"

subtest "A picture does not replace a recording"
perf_record --loss-report="$work/own" -e dummy -o "$work/own" -- true
grep -q "Cannot write $work/own for --loss-report: it is a recording" "$work/record.err" ||
	error "no message: $(< "$work/record.err")"
"$PERF" loss --svg="$work/own" "$work/own" > /dev/null 2> "$work/loss.err" &&
	error "perf loss does not fail"
grep -q "Cannot write $work/own: it is a recording" "$work/loss.err" ||
	error "no message: $(< "$work/loss.err")"
readable "$work/own" || error "the recording is lost"

finish
