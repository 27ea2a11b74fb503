#!/bin/bash
# perf record --summary=json: one object for each snapshot and file, and the totals
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 60
# tags: parallel

. "$(dirname "$0")/lib/recorder.sh"

[ "$(id -u)" = 0 ] || skip "needs root"
command -v python3 > /dev/null || skip "no python3 to read JSON"

# objects EXPRESSION: evaluate a Python expression in which o is the list of the printed objects,
# and of(TYPE) those of one type
objects() {
	python3 - "$work/record.err" "$1" <<- 'READ'
		import json, sys
		o = [json.loads(line) for line in open(sys.argv[1], 'rb') if line.startswith(b'{')]
		def of(kind):
		    return [object for object in o if object['type'] == kind]
		print(eval(sys.argv[2]))
	READ
}

# is EXPRESSION VALUE
is() {
	local value

	value=$(objects "$1" 2>&1)
	[ "$value" = "$2" ] || error "$1 is $value, not $2"
}

printed_by_signal() {
	grep -q '"reason":"signal"' "$work/record.err"
}

subtest "snapshots of overwritten events, in files with a name that must be quoted"
mkdir "$work/out"
name=$work/out/$'a "name"\twith \\ in it'
recorder_start -a -q --summary=json -e sched:sched_switch/overwrite/ -o "$name" --switch-output
control snapshot || error "no snapshot"
recorder_stop
is "[x['type'] for x in o]" "['snapshot', 'file', 'snapshot', 'file', 'end']"
is "[x['reason'] for x in of('snapshot')]" "['control', 'exit']"
is "[x['number'] for x in of('snapshot')]" "[1, 2]"
is "'\\n'.join(x['name'] for x in of('file'))" "$(printf '%s\n' "$name".2*)"
total=0
for file in "$name".2*; do
	total=$((total + $(fields "$file" event | grep -c sched_switch)))
done
((total > 0)) || inconclusive "no context switch"
is "of('end')[0]['samples']" $total
is "of('end')[0]['lost']" 0
is "of('end')[0]['files']" 2
is "all(x['rings']['newest'] > x['rings']['complete'] > 0 for x in of('snapshot'))" True
[ "$(grep -vc '^{' "$work/record.err")" = 0 ] ||
	error "-q prints text: $(grep -v '^{' "$work/record.err")"

subtest "a name that is not UTF-8: bytes are replaced, and the objects and the picture are valid"
perf_record --summary=json --loss-report="$work/loss.svg" -e dummy --timestamp-filename \
	-o "$work/"$'\xff\xc3\xa9\xe2\x82' -- true
is "ascii(of('file')[0]['name'].rpartition('.')[0])" "'$work/\\ufffd\\xe9\\ufffd\\ufffd'"
python3 -c 'import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])' "$work/loss.svg" ||
	error "the picture is not XML"

subtest "a locale with a decimal comma: numbers in JSON, pictures and acks have a point"
mkdir "$work/locales"
if localedef -i de_DE -f UTF-8 "$work/locales/de_DE.UTF-8" > "$work/localedef.out" 2>&1; then
	printf '#!/bin/sh\nLOCPATH=%s LC_ALL=de_DE.UTF-8 exec "%s" "$@"\n' "$work/locales" "$PERF" \
		> "$work/german"
	chmod +x "$work/german"
	PERF=$work/german recorder_start -a -q --summary=json -o "$work/comma" -e dummy \
		-e sched:sched_switch/overwrite/ --loss-report="$work/comma.svg"
	control snapshot || error "no snapshot"
	[[ $answer =~ ^"ack $work/comma "[0-9]+\.[0-9]{6}" none"$ ]] || error "the answer is '$answer'"
	recorder_stop
	is "of('end')[0]['lost']" 0
	! grep -E '(x|width)="[0-9]+,' "$work/comma.svg" || error "the picture has commas"
else
	inconclusive "no locale de_DE: $(tail -n 1 "$work/localedef.out")"
fi

subtest "kept streams"
recorder_start -a --summary=json -e sched:sched_switch --keep=60s,64M -o "$work/kept"
control snapshot || error "no snapshot"
[[ $answer =~ ^"ack $work/kept "[0-9]+\.[0-9]{6}" none"$ ]] || error "the answer is '$answer'"
kill -USR2 "$recorder"
wait_until 20 printed_by_signal || error "no snapshot by signal"
recorder_stop
is "[x['reason'] for x in of('snapshot') if 'kept' in x and 'rings' not in x]" \
	"['control', 'signal', 'exit']"
is "[(x['pid'], x['tid'], x['comm']) for x in of('snapshot') if 'pid' in x]" \
	"[($$, $$, '$(< /proc/$$/comm)')]"
is "of('snapshot')[0]['kept']['limit']" none
is "of('snapshot')[0]['kept']['records'] > 0" True
is "0 < of('snapshot')[0]['kept']['compressed_bytes'] <= of('snapshot')[0]['kept']['raw_bytes']" \
	True
is "0 < of('end')[0]['memory_bytes'] <= 64 << 20" True
samples=$("$PERF" script -i "$work/kept" -F event "${no_symbols[@]}" | grep -c sched_switch)
size=$("$PERF" report -i "$work/kept" -D |
	sed -nE 's/.* \[0x([0-9a-f]+)\]: PERF_RECORD_SAMPLE.*/\1/p' | head -n 1)
is "sum(x['kept']['records'] for x in of('snapshot'))" "$samples"
is "sum(x['kept']['raw_bytes'] for x in of('snapshot'))" "$((samples * 0x$size))"

subtest "a snapshot that cannot be written"
if mount_small "$work/small" 2m; then
	recorder_start -a -q --summary=json -e sched:sched_switch/overwrite/ -o "$work/small/data" \
		--switch-output
	head -c 4m /dev/zero > "$work/small/filler" 2> "$work/filler.err"
	control snapshot && error "the snapshot is acknowledged"
	rm "$work/small/filler"
	control stop
	recorder_end
	[ "$status" = 254 ] || error "exit status $status, not 254"
	is "[x['reason'] for x in of('dropped')]" "['control']"
	is "of('dropped')[0]['kept_records']" 0
	is "of('end')[0]['dropped_snapshots']" 1
	rm -f "$work/small/data"*

	subtest "kept streams that cannot be written"
	recorder_start -a -q --summary=json -e sched:sched_switch --keep=64M -o "$work/small/data"
	head -c 4m /dev/zero > "$work/small/filler" 2> "$work/filler.err"
	control snapshot && error "the snapshot is acknowledged"
	rm "$work/small/filler"
	control stop
	recorder_end
	is "of('dropped')[0]['reason']" control
	is "0 < of('dropped')[0]['kept_records'] <= of('snapshot')[0]['kept']['records']" True
fi

subtest "a snapshot without samples that cannot be written, beside a stream"
recorder_start -a -q --summary=json -e dummy/overwrite/ -e dummy -o "$work/stream"
prlimit --pid "$recorder" --fsize=4096
control snapshot && error "the snapshot is acknowledged"
recorder_end
[ "$status" = 254 ] || error "exit status $status, not 254"
is "of('end')[0]['samples']" 0
is "of('end')[0]['unwritten_records'] > 0" True

subtest "a trigger is named by its event, and ends in the totals"
perf_record -a --summary=json -e sched:sched_switch/overwrite/ -o "$work/out/data" \
	--switch-output-event sched:sched_process_exec -- sh -c "$(type -P true); sleep 0.2"
is "of('snapshot')[0]['reason']" sched:sched_process_exec
is "of('snapshot')[0]['pid'] == of('snapshot')[0]['tid'] > 0" True
is "of('snapshot')[0]['rings']['latency'] > 0" True
is "len(of('file')) == of('end')[0]['files']" True

subtest "other formats are refused"
"$PERF" record --summary=xml -- true 2> "$work/record.err"
status=$?
[ $status = 129 ] || error "exit status $status, not 129"
reports 'neither text nor json'

finish
