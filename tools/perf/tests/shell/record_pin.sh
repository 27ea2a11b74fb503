#!/bin/bash
# perf record --pin: the kernel records on after SIGKILL, and the next recorder saves that first
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# tags: parallel

# A BPF file system of its own: pins of the machine are left alone.
[ "${PIN_MOUNTED-}" ] || ! unshare --mount true 2> /dev/null ||
	PIN_MOUNTED=1 exec unshare --mount "$0" "$@"

. "$(dirname "$0")/lib/numbered.sh"
# shellcheck source=lib/cgroups.sh
. "$(dirname "$0")/lib/cgroups.sh"

need_numbered
command -v python3 > /dev/null || skip "no python3"
[ "${PIN_MOUNTED-}" ] || skip "cannot create a mount namespace"
mount -t bpf none /sys/fs/bpf 2> /dev/null || skip "cannot mount a BPF file system"

enter=raw_syscalls:sys_enter
pins=/sys/fs/bpf/perf-record/box
trace_options=(--comms "$comm")		# the rings have all system calls of the machine

# start [record options]: record all system calls, or what the options say, pinned
start() {
	rm -f "$work"/data*
	recorder_start -v -a -m 32M -e "$enter/overwrite/" --pin=box --switch-output \
		-o "$work/data" "$@"
}

kill_recorder() {
	kill -KILL "$recorder"
	wait "$recorder" 2> /dev/null
	exec {ctl}>&- {ack}>&-
}

# refused MESSAGE [record options]: check that perf record does not begin, and says why
refused() {
	local message=$1

	shift
	"$PERF" record -a -m 32M --pin=box -o "$work/none" "$@" -- true 2> "$work/refused.err" &&
		error "accepted: $*"
	grep -qF -- "$message" "$work/refused.err" ||
		error "not said: $message: $(< "$work/refused.err")"
}

need_bpf_ring -v -a -e "$enter/overwrite/"

# tag_of FILE TAG: print the range of the workload's numbers with this tag. Tasks that began when no
# recorder ran have no names: calls of other tests may be there, too.
tag_of() {
	trace_options=()
	numbered_ranges "$1" | tr ' ' '\n' | grep "^$2:"
	trace_options=(--comms "$comm")
}
tag=$((10000 + $$ % 50000))

# covered FILE: print since when all rings have everything, as a time of CLOCK_MONOTONIC [s]. On a
# busy machine, that are seconds.
covered() {
	fields "$1" cpu,time | tr -d '[:]' |
		awk '!($1 in oldest) { oldest[$1] = $2; if (!last || $2 > last) last = $2 }
			END { printf "%.6f", last }'
}

# has FILE TAG LAST: check that a file has all calls since $begun, unless the rings begin later
has() {
	local found since

	found=$(tag_of "$1" "$2")
	[ "$found" != "$2:1-$3" ] || return 0
	since=$(covered "$1")
	if awk "BEGIN { exit !($since > $begun) }"; then
		inconclusive "the rings were too small for what this machine does"
	else
		error "${1##*/} has '$found', not '$2:1-$3'; calls since $begun, the rings begin at $since"
	fi
}

# Set $begun to the time of now.
begin() {
	begun=$(python3 -c 'import time; print(time.monotonic())')
}

subtest "a recorder that ends leaves nothing"
start
for file in session words lost link-on_sys_enter prog-on_sys_enter ring-0; do
	[ -e "$pins/$file" ] || error "$file is not pinned"
done
[ "$(stat -c %a "$pins")" = 700 ] || error "others can look into it"
recorder_stop
[ ! -e "$pins" ] || error "left: $(ls "$pins")"

subtest "nothing is missing between two recorders that were killed and a third one"
# Alone, the calls do not fill the rings while a busy machine starts a recorder.
calls=(--filter "id == $("$work/$comm" --print-nr) && comm == \"$comm\"")
start "${calls[@]}"
numbered_start --threads 2 --unpinned --rate 2000 --duration 200
pause 0.3
kill_recorder
pause 0.3
exec {early}<> "$work/ctl"
echo snapshot >&"$early"		# the recorder finds this request when it begins
start "${calls[@]}"
exec {early}>&-
control ping && read -rt 20 -u "$ack" || error "the second recorder takes no snapshot"
kill_recorder
find_snapshots "$work/data"
((${#snapshots[@]})) || error "the second recorder has no snapshot"
for file in "${snapshots[@]}"; do
	mv "$file" "$work/second.${file##*/data.}"
done
pause 0.2
start "${calls[@]}"
pause 0.2
kill -TERM "$numbered"
wait "$numbered" 2> /dev/null
recorder_stop "$work/second"
files=("${snapshots[@]}")
find_snapshots "$work/data"
files+=("${snapshots[@]}")
note "${#files[@]} files"
"$PERF" script "${no_symbols[@]}" -i "${files[0]}" 2> /dev/null |
	grep -q 'the recorder before was killed' ||
	error "the first snapshot has another reason"
numbered_check "${files[@]}" || error "calls are missing or repeated"
fields "${files[0]}" comm | grep -q "$comm" || error "no names"

subtest "--unpin saves what the kernel has recorded since"
start
kill_recorder
begin
numbered_calls $tag 997
"$PERF" record --unpin=box -o "$work/saved" 2> "$work/unpin.err" ||
	error "it fails: $(< "$work/unpin.err")"
readable "$work/saved" || error "it cannot be read"
has "$work/saved" $tag 997
[ ! -e "$pins" ] || error "left: $(ls "$pins")"
fields "$work/saved" comm,pid > "$work/names"
grep -q "^ *$(< /proc/$$/comm) *$$ " "$work/names" ||
	error "no names: $(sort "$work/names" | uniq -c | tail -n 5)"
"$PERF" record --unpin=box -o "$work/saved" 2> "$work/unpin.err" && error "nothing is pinned"

subtest "a process with the id that the killed recorder had is recorded"
start
gone=$recorder
kill_recorder
reused=
begin
# shellcheck disable=SC2016 # expanded by the other shell
if echo $((gone - 1)) > /proc/sys/kernel/ns_last_pid 2> /dev/null; then
	"$work/$comm" --threads 1 --tag $((tag + 1)) --count 101 > /dev/null &
	reused=$!
	wait $reused
fi
"$PERF" record --unpin=box -o "$work/saved" 2> "$work/unpin.err" ||
	error "it fails: $(< "$work/unpin.err")"
if [ "$reused" = "$gone" ]; then
	has "$work/saved" $((tag + 1)) 101
else
	inconclusive "its id is in use, or cannot be chosen"
fi

subtest "conditions are judged after the programs of a recorder that was killed"
sleeper=slp$$
ln -s "$(command -v sleep)" "$work/$sleeper"
condition="--switch-output-when=syscall(nanosleep,clock_nanosleep)>23ms if comm==$sleeper"
start "$condition"
kill_recorder
start "$condition"
reports 'sys_enter runs after the program that writes'
"$work/$sleeper" 0.001
"$work/$sleeper" 0.041
wait_until 10 grep -q " if comm==$sleeper: $sleeper (pid" "$work/record.err" ||
	error "not reported"
recorder_stop
grep -q ": 1 duration " "$work/record.err" || error "$(grep 'durations\? ' "$work/record.err")"
[ ! -e "$pins" ] || error "left: $(ls "$pins")"

subtest "--unpin when nothing was recorded writes a file without samples"
start --filter 'id == 9999'
kill_recorder
"$PERF" record --unpin=box -o "$work/saved" 2> "$work/unpin.err" ||
	error "it fails: $(< "$work/unpin.err")"
grep -q 'No event was recorded' "$work/unpin.err" || error "not said: $(< "$work/unpin.err")"
readable "$work/saved" || error "it cannot be read"
[ -z "$("$PERF" script "${no_symbols[@]}" -i "$work/saved" 2> /dev/null)" ] ||
	error "it has samples"
[ ! -e "$pins" ] || error "left: $(ls "$pins")"

subtest "what is refused while events of a killed recorder are pinned"
start
refused 'in use by another perf record' -e "$enter/overwrite/"
"$PERF" record --unpin=box -o "$work/saved" 2> "$work/unpin.err" &&
	error "--unpin while perf records"
kill_recorder
refused 'it recorded other events' -e "$enter/overwrite/" -e sched:sched_switch/overwrite/
refused 'another size' -e "$enter/overwrite/" -m 1M
refused 'is in overwrite mode' -e "$enter"
grep -q -- "--unpin=box" "$work/refused.err" || error "no way out"
[ "$(nproc)" = 1 ] || refused 'other CPUs' -C 0 -e "$enter/overwrite/"
mkdir "$pins/../spare"
mv "$pins/ring-0" "$pins/../spare/ring-0"
refused 'other CPUs' -e "$enter/overwrite/"
mv "$pins/words" "$pins/ring-0"
mv "$pins/lost" "$pins/words"
refused 'have another layout' -e "$enter/overwrite/"
mv "$pins/words" "$pins/lost"
mv "$pins/ring-0" "$pins/words"
mv "$pins/lost" "$pins/../spare/lost"
mv "$pins/prog-on_sys_enter" "$pins/lost"
refused 'have another layout' -e "$enter/overwrite/"
mv "$pins/lost" "$pins/prog-on_sys_enter"
mv "$pins/../spare/lost" "$pins/lost"
mv "$pins/../spare/ring-0" "$pins/ring-0"
rmdir "$pins/../spare"
rm "$pins/words"
refused 'some of its maps are missing' -e "$enter/overwrite/"
chmod 777 "$pins"
refused 'only root or this user can write' -e "$enter/overwrite/"
chmod 700 "$pins"
chown 65534 "$pins"
refused 'only root or this user can write' -e "$enter/overwrite/"
chown 0 "$pins"
"$PERF" record --unpin=box -o "$work/none/saved" 2> "$work/unpin.err" &&
	error "written to no directory"
grep -q 'still in' "$work/unpin.err" || error "not said that they remain"
"$PERF" record --unpin=box -o "$work/saved" 2> "$work/unpin.err" ||
	error "it fails: $(< "$work/unpin.err")"
readable "$work/saved" || error "it cannot be read"

subtest "events of tasks are refused, and names that no directory may have are not used"
refused 'Cannot pin events of tasks' --no-all-cpus -e "$enter/overwrite/"
[ ! -e "$pins" ] || error "left: $(ls "$pins")"
"$PERF" record -a -e "$enter/overwrite/" --pin=a.b -o "$work/none" -- true 2> "$work/record.err" ||
	error "it does not record: $(< "$work/record.err")"
grep -q 'use letters' "$work/record.err" || error "not said: $(< "$work/record.err")"
if unshare --pid --fork --mount-proc true 2> /dev/null; then
	unshare --pid --fork --mount-proc "$PERF" record -a -e "$enter/overwrite/" --pin=box \
		-o "$work/none" -- true 2> "$work/record.err" ||
		error "it does not record in a PID namespace: $(< "$work/record.err")"
	grep -q 'Cannot pin events.*: perf is in a PID namespace' "$work/record.err" ||
		error "not said: $(< "$work/record.err")"
	[ ! -e "$pins" ] || error "left: $(ls "$pins")"
fi

subtest "another recorder must have the same filter"
filter=(--filter 'id == 39')
start "${filter[@]}"
kill_recorder
refused 'it recorded other events' -e "$enter/overwrite/"
refused 'it recorded other events' -e "$enter/overwrite/" --filter 'id == 40'
start "${filter[@]}"
recorder_stop
[ ! -e "$pins" ] || error "left: $(ls "$pins")"

subtest "another recorder must have the same cgroup"
if make_cgroups "" -other; then
	start -G "$box"
	kill_recorder
	refused 'it recorded other events' -e "$enter/overwrite/"
	refused 'it recorded other events' -e "$enter/overwrite/" -G "$box-other"
	start -G "$box"
	# shellcheck disable=SC2016 # expanded by that shell
	sh -c 'echo 0 > "$0/cgroup.procs" && exec true' "$root/$box" ||
		fatal "no task in the cgroup"
	kill_recorder
	# A cgroup of this name that was created later
	wait_until 10 rmdir "$root/$box" || fatal "the cgroup is in use"
	mkdir "$root/$box"
	refused 'it recorded other events' -e "$enter/overwrite/" -G "$box"
	"$PERF" record --unpin=box -o "$work/saved" 2> "$work/unpin.err" ||
		error "it fails: $(< "$work/unpin.err")"
	[ ! -e "$pins" ] || error "left: $(ls "$pins")"
	wait_until 10 remove_cgroups || error "cgroups are in use"
else
	inconclusive "no cgroup2 that perf counts in"
fi

subtest "what is no session of this version"
start
kill_recorder
rm "$pins/session"
mv "$pins/words" "$pins/session"
refused 'another format' -e "$enter/overwrite/"
rm "$pins/session"
start
kill_recorder
mv "$pins/lost" "$pins/ring-9"
"$PERF" record --unpin=box -o "$work/none" 2> "$work/unpin.err" &&
	error "a map that is no ring was saved as one"
grep -q 'Cannot copy .*: Invalid argument' "$work/unpin.err" ||
	error "it is not said: $(< "$work/unpin.err")"
[ -e "$pins/ring-0" ] || error "the rings are removed"
rm "$pins"/*
start
recorder_stop
[ ! -e "$pins" ] || error "left: $(ls "$pins")"

subtest "a recorder that fails to start leaves nothing behind"
"$PERF" record -a -m 32M -e "$enter/overwrite/" --pin=box -o "$work/none" -- /none/such \
	2> "$work/record.err" && error "a command that does not exist was recorded"
[ ! -e "$pins" ] || error "its pins are still there: $(ls "$pins")"

finish
