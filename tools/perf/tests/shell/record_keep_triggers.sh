#!/bin/bash
# perf record --cooldown, --keep-first, --exec-snapshot: storms of triggers, a command for each file
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered sched:sched_process_exec
numbered_event
marker=$work/marker$$		# no other program triggers
ln -s /bin/true "$marker"
trigger=(--switch-output-event sched:sched_process_exec --filter "filename == \"$marker\"")

# start [record options]
start() {
	rm -f "$work"/data* "$work/names"
	recorder_start -v -a "${event[@]}" -o "$work/data" --keep=60s,64M "${trigger[@]}" "$@"
	numbered_calls 1 1009
}

# storm FILES: execute five programs that trigger; wait for the file of each of the first FILES
storm() {
	local i

	for ((i = 1; i <= 5; i++)); do
		"$marker"
		((i > $1)) || wait_until 20 nr_files $i || error "no file for trigger $i"
	done
	# The trigger is seen before these are answered.
	control ping && control ping || error "no answer to 'ping'"
}

nr_files() {
	find_snapshots "$work/data"
	((${#snapshots[@]} >= $1))
}

subtest "--cooldown: one snapshot for a storm, and the summary says how many there could have been"
start --cooldown=1h
storm 1
recorder_stop "$work/data"
[ "${#snapshots[@]}" = 2 ] || error "${#snapshots[@]} files, not 2"
reports -E '[1-4] events took no snapshot'
[ "$(numbered_ranges "${snapshots[0]}")" = 1:1-1009 ] || error "the file has not the calls"

subtest "--cooldown: an event after it takes a snapshot, also if an earlier one is seen with it"
start --cooldown=2s
"$marker"
wait_until 20 nr_files 1 || error "no file"
recorder_suspend
"$marker"
"$marker"
pause 2.1
"$marker"
kill -CONT "$recorder"
wait_until 20 nr_files 2 || error "no file for the last event"
recorder_stop "$work/data"
[ "${#snapshots[@]}" = 3 ] || error "${#snapshots[@]} files, not 3"

subtest "each event that takes no snapshot is counted, also if several are seen at once"
start --cooldown=1h
"$marker"
wait_until 20 nr_files 1 || error "no file"
recorder_suspend
for _ in 1 2 3 4 5; do
	"$marker"
done
kill -CONT "$recorder"
control ping && control ping || error "no answer to 'ping'"
recorder_stop "$work/data"
reports '\[ perf record: 5 events took no snapshot'

for after in '' --after=500ms; do
	subtest "all requests that are seen at once are told${after:+ (--after)}"
	start --switch-output $after
	recorder_suspend
	for _ in 1 2 3 4 5; do
		"$marker"
	done
	kill -USR2 "$recorder"
	kill -CONT "$recorder"
	wait_until 20 nr_files 1 || error "no file"
	recorder_stop
	reports 'Snapshot 1 (sched:sched_process_exec)'
	reports 'The same snapshot is for signal by '
	reports 'The same snapshot is for 4 more requests'
done

subtest "--keep-first: the first two"
start --keep-first=2
storm 2
recorder_stop "$work/data"
[ "${#snapshots[@]}" = 3 ] || error "${#snapshots[@]} files, not 3"

subtest "no limit: more of them"
start
storm 3
recorder_stop "$work/data"
((${#snapshots[@]} > 3)) || error "${#snapshots[@]} files"

subtest "--exec-snapshot: each file is passed on, and the recorder does not wait"
cat > "$work/hook" <<-END
	#!/bin/sh
	echo "\$2" >> "$work/names"
	ulimit -Sn >> "$work/limits"
	echo "\$PERF_SNAPSHOT_REASON" >> "$work/reasons"
	[ \$1 = fail ] && exit 7
	[ \$1 = slow ] && until [ -e "$work/go" ]; do sleep 0.1; done
	exit 0
END
chmod +x "$work/hook"
export PERF_SNAPSHOT_REASON=none
wrapper=(prlimit --nofile=257:)
start --exec-snapshot "$work/hook slow" --keep-first=1
wrapper=()
"$marker"
wait_until 10 test -s "$work/names" || error "the command was not run for the trigger"
for _ in 1 2; do
	control snapshot || error "no snapshot: the recorder waits for the command"
done
touch "$work/go"
recorder_stop "$work/data"
[ "$(sort "$work/names")" = "$(printf '%s\n' "${snapshots[@]}" | sort)" ] ||
	error "the command got: $(xargs < "$work/names")"
[ "$(sort "$work/reasons" | xargs)" = "control control exit sched:sched_process_exec" ] ||
	error "the command got the reasons: $(xargs < "$work/reasons")"
[ "$(sort -u "$work/limits")" = 257 ] ||
	error "the command got the limits of open files: $(xargs < "$work/limits")"
start --exec-snapshot "$work/hook fail"
recorder_stop "$work/data"
reports 'has failed with status 7'

subtest "--exec-snapshot: the command has no capabilities of the recorder, a recorded command has"
if [ "$(id -u)" = 0 ] && as_nobody_ready; then
	caps=-all,+perfmon,+dac_read_search
	install -m 600 /dev/null "$work/secret"
	cat > "$public/hook" <<-END
		#!/bin/sh
		cat "$work/secret" && touch "$public/read.\$1"
		grep -h '^CapAmb' /proc/self/status > "$public/ambient.\$1"
	END
	chmod +x "$public/hook"
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=$caps --ambient-caps=$caps \
		"$PERF" record -e page-faults/overwrite/u -o "$public/data" \
		--exec-snapshot "$public/hook snapshot" -- "$public/hook" workload \
		2> "$work/record.err" ||
		error "perf record fails"
	[ ! -e "$public/read.snapshot" ] ||
		error "the command of --exec-snapshot reads a file of root"
	[ "$(cat "$public/ambient.snapshot")" = "CapAmb:	0000000000000000" ] ||
		error "the command has $(cat "$public/ambient.snapshot")"
	[ -e "$public/read.workload" ] || error "the recorded command has lost its capabilities"
else
	inconclusive "${reason:-needs root}"
fi

subtest "what cannot work is refused"
"$PERF" record --cooldown=1s -e cpu-clock -o "$work/none" true 2> "$work/err" &&
	error "--cooldown alone"
grep -q 'add one of these options' "$work/err" || error "no reason for --cooldown"
"$PERF" record --after=1s -e cpu-clock -o "$work/none" true 2> "$work/err" && error "--after alone"
grep -q 'this recording takes none' "$work/err" || error "no reason for --after"
for options in --keep --switch-output --overwrite "-e cpu-clock/overwrite/"; do
	# shellcheck disable=SC2086 # several options
	"$PERF" record --after=1s -e cpu-clock $options -o "$work/none" true 2> "$work/err" ||
		error "--after $options: $(tail -n 1 "$work/err")"
done
for options in "--keep=1x" "--keep=1M" "--keep=60s --keep-overlap" "--keep -o -" \
	"--keep --tail-synthesize" "--keep -e cpu-clock/overwrite/" "--keep-overlap"; do
	# shellcheck disable=SC2086 # several options
	"$PERF" record -e cpu-clock/no-overwrite/ -o "$work/none" $options true \
		> "$work/refused.out" 2> "$work/err" &&
		[[ $options != *overwrite/ ]] && error "$options is not refused"
done

subtest "record.keep: the configuration has the defaults"
cat > "$work/config" <<-END
	[record]
		keep = 1s,32M
END
PERF_CONFIG=$work/config "$PERF" record --keep -a "${event[@]}" -o "$work/configured" \
	-- "$work/$comm" --threads 2 --rate 20000 --count 40009 > "$work/issued" \
	2> "$work/record.err" ||
	error "perf record fails"
reports 'dropped because of their age'

finish
