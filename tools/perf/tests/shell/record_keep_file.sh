#!/bin/bash
# perf record --keep-file: what a killed recorder had kept is recovered, each record once
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# tags: parallel long
#
# KILLS is the number of recorders that are killed at random instants; 3 by default, 1,000 by night.

. "$(dirname "$0")/lib/numbered.sh"

kills=${KILLS:-${NIGHT:+1000}}
kills=${kills:-3}
damages=${NIGHT:+1000}
damages=${damages:-16}

need_numbered spoil_writes
command -v python3 > /dev/null || skip "no python3"
numbered_event
box=$work/box

# keep [record options]: record the calls of 2 threads, which change their CPU
keep() {
	rm -f "$work"/data* "$work/recovered"
	recorder_start -a "${event[@]}" -o "$work/data" --keep-file="$box" "$@"
	numbered_start --threads 2 --unpinned --rate 60000
}

# kill_recorder SECONDS: kill the recorder after this time; nothing can prepare for SIGKILL
kill_recorder() {
	pause "$1"
	kill -KILL "$recorder"
	{ wait "$recorder"; kill "$numbered"; wait "$numbered"; } 2> /dev/null
	exec {ctl}>&- {ack}>&-
}

# recover [FILE]: write what is in the box to $work/recovered, and set $begin and $end to the times
# between which nothing is missing
recover() {
	rm -f "$work/recovered"
	"$PERF" inject --recover-keep "${1:-$box}" -o "$work/recovered" 2> "$work/inject.err" ||
		return
	read -r begin end < <(sed -n 's/.*missing from \([0-9.]*\) to \([0-9.]*\) s.*/\1 \2/p' \
		"$work/inject.err")
	[ -n "$end" ] || error "no span: $(< "$work/inject.err")"
}

# ended PID: has it ended? It remains a zombie if the new parent does not wait for it.
ended() {
	gone "$1" || grep -q '^State:.Z' "/proc/$1/status"
}

# has_span: had all rings been read three times before the recorder was killed?
has_span() {
	awk "BEGIN { exit !($begin < $end) }"
}

# is_too_short: has the recovered file less than a second, and no call in it? The workload begins
# later than the recorder.
is_too_short() {
	local ranges

	trace_options=(--time "$begin,$end")
	ranges=$(numbered_ranges "$work/recovered")
	trace_options=()
	[ -z "$ranges" ] && awk "BEGIN { exit !($end - $begin < 1) }"
}

# is_complete FILE...: check that the files hold each call between $begin and $end once
is_complete() {
	trace_options=(--time "$begin,$end")
	numbered_check "$@" ||
		error "calls are missing or repeated from $begin to $end: $(< "$work/inject.err")"
	trace_options=()
}

# recover_claimed: recover; set $all to the calls that are there, and $claimed to those of the time
# for which the message claims that nothing is missing
recover_claimed() {
	recover || error "not recovered: $(< "$work/inject.err")"
	all=$(numbered_ranges "$work/recovered")
	is_complete "$work/recovered"
	trace_options=(--time "$begin,$end")
	claimed=$(numbered_ranges "$work/recovered")
	trace_options=()
	note "of $all, $claimed are claimed"
}

# ask: request snapshots until the recorder is gone, so that SIGKILL may hit the writing of one
ask() {
	while kill -USR2 "$recorder" 2> /dev/null; do
		pause 0.07
	done
}

# saves_all: check that snapshots and the recovered file hold each call before $end once. A recorder
# that is killed between the end of a snapshot and the note of it in the box leaves its records in
# both.
saves_all() {
	local last

	find_snapshots "$work/data"
	last=${#snapshots[@]}
	trace_options=(--time ",$end")
	if numbered_check "${snapshots[@]}" "$work/recovered" > "$work/all"; then
		trace_options=()
		return
	fi
	((last)) && numbered_check "${snapshots[@]:0:last - 1}" "$work/recovered" > "$work/but_last"
	status=$?
	trace_options=()
	((status)) || { twice=$((twice + 1)) && return; }
	error "calls are missing or repeated in ${#snapshots[@]} snapshots and $(< "$work/inject.err")"
	cat "$work/all"
}

# Each round finds the box as the one before has left it: recovered, or without a record.
rounds=0 killed=0 early=0 late=0 asked=0 twice=0
try() {
	local seconds asker=

	seconds=$((RANDOM % 2)).$((RANDOM % 900 + 100))
	((RANDOM % 4)) || seconds=$((RANDOM % 3 + 2)).5
	((RANDOM % 8)) || seconds=0.0$((RANDOM % 90 + 10))
	rounds=$((rounds + 1))
	if ((rounds % 4)); then
		keep "$@"
	else
		keep "$@" --switch-output
		asked=$((asked + 1))
		ask &
		asker=$!
	fi
	kill_recorder "$seconds"
	[ -z "$asker" ] || wait "$asker"
	if ! recover; then
		grep -q 'before it kept' "$work/inject.err" ||
			error "not recovered: $(< "$work/inject.err")"
		early=$((early + 1))
	elif ! has_span || is_too_short; then
		readable "$work/recovered" || error "it cannot be read"
		late=$((late + 1))
	elif [ "$asker" ]; then
		# Where a ring or the budget lost records, the span begins behind the loss.
		! grep -q 'nothing dropped' <("$PERF" script "${no_symbols[@]}" \
			-f -i "$work/recovered" 2> /dev/null) ||
			saves_all
		killed=$((killed + 1))
	else
		is_complete "$work/recovered"
		killed=$((killed + 1))
	fi
	((rounds % 50)) || note "$rounds killed, of which $killed recovered"
}

subtest "killed at random instants, $kills times"
for ((i = 0; i < kills && !result_errors; i++)); do
	case $((i % 3)) in
	0) try --keep=60s,64M ;;
	1) try --keep=32M -z0 ;;	# 32 MB are full after 4 s
	2) try --keep=1s,32M ;;
	esac
done
note "$rounds killed: $killed recovered and complete, $early before a record was kept, $late before three visits of all rings, or before a call"
note "$asked wrote snapshots meanwhile, $twice of these had the last one in the box as well"
((killed || result_errors)) || inconclusive "the readers got no CPU in time"
rm -f "$box"

subtest "a file with names, build-ids and the reason"
keep --keep=60s
kill_recorder 1.5
recover || error "not recovered: $(< "$work/inject.err")"
readable "$work/recovered" || error "it cannot be read"
fields "$work/recovered" comm,event | grep -v snapshot: | sort -u > "$work/comms"
grep -qv "$comm " "$work/comms" && error "names: $(< "$work/comms")"
"$PERF" buildid-list -i "$work/recovered" | grep -q "/numbered$" ||
	error "no build-id of the workload"
"$PERF" script -i "$work/recovered" 2> /dev/null |
	grep -q 'recorder was killed; kept [0-9.]* s, nothing dropped' || error "no reason"

subtest "what nobody had read when the recorder was killed"
keep --keep=60s
pause 0.5
kill "$numbered"
wait "$numbered" 2> /dev/null
pgrep -P "$recorder" -x perf-guard > "$work/guard" || error "no guard"
# Less than a ring holds: no reader wakes up for it, and none reads the names and maps.
mkdir "$work/late"
cp "$work/$comm" "$work/late"
kill -STOP "$recorder"
"$work/late/$comm" --threads 1 --tag 9 --count 997 > /dev/null
kill_recorder 0
recover || error "not recovered: $(< "$work/inject.err")"
note "$(grep 'rings that nobody' "$work/inject.err")"
numbered_ranges "$work/recovered" | grep -qw 9:1-997 ||
	error "it holds $(numbered_ranges "$work/recovered"): $(< "$work/inject.err")"
fields "$work/recovered" comm,event | grep -v snapshot: | sort | uniq -c > "$work/comms"
grep -qv "$comm " "$work/comms" && error "names: $(< "$work/comms")"
"$PERF" buildid-list -i "$work/recovered" | grep -q "/late/$comm$" || error "no build-id"
# perf inject prints microseconds, and the last one may hold several calls.
end=$(awk "BEGIN { printf \"%.6f\", $end + 0.000001 }")
trace_options=(--time "$begin,$end")
numbered_ranges "$work/recovered" | grep -qw 9:1-997 ||
	error "claimed are $(numbered_ranges "$work/recovered"): $(< "$work/inject.err")"
is_complete "$work/recovered"
mv "$box.rings" "$work/rings"
cat > "$work/overlap.py" << 'END'
"""overlap.py RINGS NEW: write another file, with 200 times the records of the fullest ring."""
import struct
import sys


def mix(total, word):
    total = (total ^ word) * 0x9e3779b97f4a7c15 % (1 << 64)
    return total ^ total >> 32


def checksum(data):		# recording/lib/checksum.h
    lanes, total = [0, 1, 2, 3], len(data)
    for pos in range(0, len(data) - 31, 32):
        lanes = [mix(*pair) for pair in zip(lanes, struct.unpack_from('=4Q', data, pos))]
    rest = data[len(data) & ~31:].ljust(32, b'\0')
    for lane, word in zip(lanes, struct.unpack('=4Q', rest)):
        total = mix(mix(total, lane), word)
    return total or 1


with open(sys.argv[1], 'rb') as file:
    rings = file.read()
magic, box, nr, total = struct.unpack_from('=8s3Q', rings)
at, size, of_records, free = max((struct.unpack_from('=4Q', rings, 32 + 32 * i) for i in range(nr)),
                                 key=lambda entry: entry[1])
records, entries = rings[at:at + size], rings[32:32 + 32 * nr]
if checksum(entries) != total or checksum(records) != of_records:
    sys.exit('# ERROR: other checksums than those of the guard')
entries = struct.pack('=4Q', 32 + 32 * 200, size, of_records, free) * 200
with open(sys.argv[2], 'wb') as file:
    file.write(struct.pack('=8s3Q', magic, box, 200, checksum(entries)) + entries + records)
END
python3 "$work/overlap.py" "$work/rings" "$box.rings" || error "no file with overlapping rings"
recover || error "overlapping rings: $(< "$work/inject.err")"
! grep -q 'rings that nobody' "$work/inject.err" || error "overlapping rings are added"
rm "$box.rings"
rm -f "$work/recovered"
wait_until 60 ended "$(< "$work/guard")" || error "the guard does not end"

# The ring of one CPU loses calls, and is read while it is full. Its next record tells of the loss,
# and is not read. Meanwhile, all rings are read several times, each 0.25 s: a sixteenth of what is
# kept.
subtest "a loss that the recorder had not read of when it was killed"
read -r -a cpus < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
if ((${#cpus[@]} > 1)); then
	rm -f "$work"/data*
	recorder_start -a "${event[@]}" -o "$work/data" --keep-file="$box" --keep=4s -m 64
	taskset -c "${cpus[1]}" "$work/$comm" --idle --threads 1 --rate 400 --duration 600 \
		> "$work/issued.other" &
	numbered=$!
	pinned=(taskset -c "${cpus[0]}" "$work/$comm" --threads 1)
	pause 0.3
	recorder_suspend
	"${pinned[@]}" --tag 8 --count 10007 > "$work/issued"
	kill -CONT "$recorder"
	pause 1.5
	recorder_suspend
	"${pinned[@]}" --tag 9 --count 97 > "$work/issued"
	kill_recorder 0
	recover_claimed
	if [[ $all = *8:1-10007* || $all != *9:1-97* ]]; then
		inconclusive "calls were lost otherwise"
	else
		[[ $claimed != *8:* ]] || error "a time without calls is claimed"
		[[ $claimed = *9:* ]] || error "the last calls are not claimed"
	fi
else
	inconclusive "one CPU"
fi

# As above, but the ring stays silent. Call 7 comes after all that were lost.
subtest "a loss that no record tells of"
if ((${#cpus[@]} > 1)); then
	rm -f "$work"/data*
	recorder_start -a "${event[@]}" -o "$work/data" --keep-file="$box" --keep=4s -m 64
	taskset -c "${cpus[1]}" "$work/$comm" --idle --threads 1 --rate 400 --duration 600 \
		> "$work/issued.other" &
	numbered=$!
	pause 0.3
	recorder_suspend
	taskset -c "${cpus[0]}" "$work/$comm" --threads 1 --tag 8 --count 10007 > "$work/issued"
	taskset -c "${cpus[1]}" "$work/$comm" --threads 1 --tag 7 --count 1 > "$work/issued"
	kill -CONT "$recorder"
	pause 2
	kill_recorder 0
	recover_claimed
	if [[ $all = *8:1-10007* || $all != *7:1* ]]; then
		inconclusive "no calls were lost, or others"
	else
		[[ $claimed != *[78]:* ]] || error "a time without calls is claimed"
		[[ $claimed = *1:* ]] || error "no call is claimed"
	fi
else
	inconclusive "one CPU"
fi

# Stop one thread until the recorder is killed.
cat > "$work/stop_thread.py" << 'END'
import ctypes, os, sys

SEIZE, INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
ptrace = ctypes.CDLL(None).ptrace
ptrace.argtypes = [ctypes.c_long] * 4
tid = int(sys.argv[1])
if ptrace(SEIZE, tid, 0, 0) or ptrace(INTERRUPT, tid, 0, 0):
    sys.exit('cannot trace it')
os.waitpid(tid, WALL)
print('stopped', flush=True)
os.waitpid(tid, WALL)
END

subtest "names that were read, but not taken over, when the recorder was killed"
keep --keep=60s -m 16
pause 0.5
python3 "$work/stop_thread.py" "$recorder" > "$work/stopped" 2>&1 &
tracer=$!
if wait_until 10 grep -q stopped "$work/stopped"; then
	for ((i = 0; i < 300; i++)); do
		"$work/$comm" --threads 1 --tag 9 --count 7
	done > /dev/null
	kill_recorder 0.3
	recover || error "not recovered: $(< "$work/inject.err")"
	fields "$work/recovered" comm,event | grep -v snapshot: | sort | uniq -c > "$work/comms"
	grep -q "$comm " "$work/comms" || error "no samples"
	grep -qv "$comm " "$work/comms" && error "names: $(head -3 "$work/comms")"
else
	kill_recorder 0
	inconclusive "$(< "$work/stopped")"
fi
kill "$tracer" 2> /dev/null
wait "$tracer" 2> /dev/null

subtest "without the guard, what nobody had read is not claimed"
keep --keep=60s
pause 0.5
kill -KILL "$(pgrep -P "$recorder" -x perf-guard)"
kill_recorder 0.3
recover || error "not recovered: $(< "$work/inject.err")"
! grep -q 'rings that nobody' "$work/inject.err" || error "there is no guard"
! has_span || is_complete "$work/recovered"

subtest "what is in a snapshot is not recovered again"
keep --keep=60s --switch-output
pause 0.5
control snapshot || fatal "no snapshot"
kill_recorder 0.7
recover || error "not recovered: $(< "$work/inject.err")"
find_snapshots "$work/data"
begin=0
is_complete "${snapshots[@]}" "$work/recovered"

subtest "processes that begin and end: new generations of the live state"
keep --keep=60s,32M -vv
for ((i = 0; i < 400; i++)); do
	for ((j = 0; j < 25; j++)); do
		"$work/$comm" --print-nr
	done > /dev/null
	[ "$(grep -c 'The live state takes' "$work/record.err")" -lt 3 ] || break
done
grep -c 'The live state takes' "$work/record.err" > "$work/generations"
kill_recorder 0.3
recover || error "not recovered: $(< "$work/inject.err")"
(($(< "$work/generations") >= 2)) || error "$(< "$work/generations") generations"
fields "$work/recovered" comm,event | grep -v snapshot: | sort -u > "$work/comms"
grep -qv "$comm " "$work/comms" && error "names: $(< "$work/comms")"

subtest "a recorder that ends removes the file"
keep --keep=32M
recorder_stop
kill "$numbered" 2> /dev/null
[ ! -e "$box" ] && [ ! -e "$box.rings" ] || error "it is left"

subtest "what has no space on the disk stays in the file"
if mount_small "$work/small" 1m; then
	recorder_start -a "${event[@]}" -o "$work/small/data" --keep-file="$box" --keep=32M
	numbered_calls 1 997
	head -c 2M /dev/zero > "$work/small/zeros" 2> /dev/null
	control stop
	recorder_end
	[ "$status" = 254 ] || error "exit status $status"
	if [ -e "$box" ]; then
		reports 'still in .*perf inject --recover-keep'
		recover || error "not recovered: $(< "$work/inject.err")"
		holds "$work/recovered" 1:1-997
	else
		inconclusive "the disk had space for the snapshot"
	fi
	rm -f "$box"
fi

# spoiled FAULT [record options]: record on a disk that has the fault (helpers/spoil_writes.c)
spoiled() {
	rm -f "$work"/data*
	wrapper=(env "LD_PRELOAD=$(realpath "$BUILD/tests/spoil_writes")" "SPOIL_WRITES=$1"
		"SPOIL_FILE=$(realpath "$work")/data*")
	recorder_start -a "${event[@]}" -o "$work/data" --keep-file="$box" --keep=32M "${@:2}"
	wrapper=()
}

# stays RANGES: end the recorder, and check that the file remains and holds these calls
stays() {
	control stop
	recorder_end
	((status)) || error "exit status 0"
	reports 'still in .*perf inject --recover-keep'
	if recover; then
		holds "$work/recovered" "$1"
	else
		error "not recovered: $(< "$work/inject.err")"
	fi
	rm -f "$box"
}

for fault in 'close 122' 'sync 5'; do
	subtest "what is written, but not saved at the end: $fault"
	spoiled "$fault"
	numbered_calls 1 997
	stays 1:1-997

	subtest "a snapshot that is written, but not saved: $fault"
	spoiled "$fault" --switch-output
	numbered_calls 1 997
	control snapshot && error "it is acknowledged"
	numbered_calls 2 499
	stays "1:1-997 2:1-499"
done

# refused MESSAGE [record options]: check that perf record does not begin, and says why
refused() {
	local message=$1

	shift
	"$PERF" record -a "${event[@]}" --keep=32M -o "$work/none" "$@" \
		-- true 2> "$work/record.err" &&
		error "accepted: $*"
	grep -q -- "$message" "$work/record.err" || error "not said: $message"
}

subtest "files that are refused"
keep --keep=60s
before=$(stat -c %i "$box")
[ "$(stat -c %a "$box")" = 600 ] || error "mode $(stat -c %a "$box")"
refused "in use by perf record, process $recorder" --keep-file="$box"
recover && error "a file in use is recovered"
kill_recorder 0.5
refused 'perf inject --recover-keep' --keep-file="$box"
[ "$(stat -c %i "$box")" = "$before" ] || error "it was replaced"
ln -s "$box" "$work/link"
refused 'symbolic link' --keep-file="$work/link"
echo text > "$work/text"
refused 'no file of --keep-file' --keep-file="$work/text"
[ "$(< "$work/text")" = text ] || error "a file of others was overwritten"
touch "$work/other"
chown 65534 "$work/other"
refused 'another user' --keep-file="$work/other"
refused 'regular file' --keep-file="$work/never"
touch "$work/first"
ln "$work/first" "$work/second"
refused 'has other names' --keep-file="$work/first"
mkfifo "$work/fifo"
mknod "$work/device" c 1 3
refused 'regular file' --keep-file="$work/fifo"
refused 'regular file' --keep-file="$work/device"
for file in other never first fifo device; do
	[ -e "$work/$file" ] || error "$file was removed"
done
refused 'No such file' --keep-file="$work/none/box"
if [ "${#mounted[@]}" != 0 ]; then
	refused 'Cannot reserve 32 MB .*No space left.* has 0 MB free' --keep-file="$work/small/box"
	[ ! -e "$work/small/box" ] || error "it is left"
fi
# ext4 leaves what it had reserved; the message tells the space without that.
if command -v mkfs.ext4 > "$work/mkfs" && truncate -s 16M "$work/image" &&
   mkfs.ext4 -q -O ^has_journal -m 0 "$work/image" 2> "$work/mount.err" && mkdir "$work/loop" &&
   mount -o loop "$work/image" "$work/loop" 2> "$work/mount.err"; then
	mounted+=("$work/loop")
	refused 'Cannot reserve 32 MB .* has [1-9][0-9]* MB free' --keep-file="$work/loop/box"
fi
refused 'needs --keep' --no-keep --keep-file="$work/new"
[ ! -e "$work/new" ] || error "a file is left"

subtest "an output that has no space"
for free in 0 8k; do
	[ -e "$work/small/zeros" ] || break
	rm -f "$work/small/out"*
	cat /dev/zero > "$work/small/zeros" 2> /dev/null
	truncate -s "-$free" "$work/small/zeros"
	"$PERF" inject --recover-keep "$box" -o "$work/small/out" 2> "$work/inject.err" &&
		error "no error"
	grep -q "Cannot write .*No space left on device.* still in $box" "$work/inject.err" ||
		error "$free: it is not said: $(< "$work/inject.err")"
	refused 'perf inject --recover-keep' --keep-file="$box"
done

subtest "an output that has space for the records only"
cp --sparse=always "$box" "$work/copy"
[ ! -e "$box.rings" ] || cp "$box.rings" "$work/copy.rings"
recover "$work/copy" || error "not recovered: $(< "$work/inject.err")"
kb=$(($(stat -c %s "$work/recovered") / 1024))
(
	ulimit -f $((kb - 8))
	exec "$PERF" inject --recover-keep "$box" -o "$work/cut" 2> "$work/inject.err"
) && error "no error"
grep -q "Cannot complete the header of $work/cut: File too large" "$work/inject.err" ||
	error "it is not said: $(< "$work/inject.err")"
refused 'perf inject --recover-keep' --keep-file="$box"

subtest "files from which nothing can be recovered"
for file in "$work/text" "$work/never" "$work/none" /dev/null; do
	recover "$file" && error "$file is accepted"
	[ ! -e "$work/recovered" ] || error "$file: an output is left"
	grep -q 'Cannot' "$work/inject.err" || error "$file: no message"
done
"$PERF" inject --recover-keep "$box" -i "$work/text" -o "$work/recovered" 2> "$work/inject.err" &&
	error "an input file is accepted"

subtest "a file of another version"
[ -e "$box" ] || fatal "no file"
cp "$box" "$work/old"
python3 - "$work/old" << 'END' || fatal "cannot change the version"
import sys

with open(sys.argv[1], 'r+b') as file:
    file.seek(16)
    version = int.from_bytes(file.read(8), sys.byteorder)
    file.seek(16)
    file.write((version - 1).to_bytes(8, sys.byteorder))
    file.write(bytes(1))            # the header's checksum is wrong as well: it may have changed
END
recover "$work/old" && error "it is recovered"
grep -q 'from another version of perf' "$work/inject.err" || error "$(< "$work/inject.err")"
refused 'from another version of perf' --keep-file="$work/old"

# Change the bytes of a copy, and recover. What is recovered may lack calls, but repeats none,
# unless the changed bytes are in a block that was still being filled: it has no checksum yet.
cat > "$work/damage.py" << 'END'
import random, re, subprocess, sys

perf, path, copy, out, times = sys.argv[1:]
seed = random.randrange(1 << 32)
random.seed(seed)
print(f'# seed {seed}')
with open(path, 'rb') as file:
    data = file.read()
slots, arena = (int.from_bytes(data[at:at + 8], 'little') for at in (48, 56))
used = [at for at in range(slots, arena, 128) if data[at]]
OPEN = 1
bad, recovered, said = 0, 0, 0
for run in range(int(times)):
    damaged = bytearray(data)
    unchecked = False
    for _ in range(random.choice((1, 4, 64))):
        slot = random.choice(used)
        at = int.from_bytes(data[slot + 16:slot + 24], 'little')
        length = max(int.from_bytes(data[slot + 8:slot + 16], 'little'), 1)
        place = random.choice((random.randrange(512), slot + random.randrange(128),
                               at + random.randrange(length)))
        unchecked |= data[slot] == OPEN and place >= at
        damaged[place] = random.choice((0, 255, damaged[place] ^ 1 << random.randrange(8)))
    if random.randrange(4) == 0:
        del damaged[random.randrange(len(damaged)):]
    with open(copy, 'wb') as file:
        file.write(damaged)
    inject = subprocess.run([perf, 'inject', '--recover-keep', copy, '-o', out],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=600)
    text = inject.stderr.decode(errors='replace')
    what = ''
    if inject.returncode < 0:
        what = f'perf inject is ended by signal {-inject.returncode}'
    elif inject.returncode and 'Cannot' not in text:
        what = f'perf inject fails without a reason: {text}'
    elif not inject.returncode:
        recovered += 1
        said += 'damaged' in text
        script = subprocess.run([perf, 'script', '--kallsyms', '/dev/null', '-f', '-i', out,
                                 '-F', 'trace'], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, timeout=600)
        calls = re.findall(rb'\((.*)\)', script.stdout)
        if script.returncode < 0:
            what = f'perf script is ended by signal {-script.returncode}'
        elif not unchecked and len(calls) != len(set(calls)):
            what = f'{len(calls) - len(set(calls))} calls are repeated'
    if what:
        bad += 1
        print(f'# run {run}: {what}')
print(f'# {recovered} of {times} recovered, {said} said to be damaged')
sys.exit(bad > 0)
END

subtest "damaged files, $damages times"
[ -e "$box" ] || fatal "no file"
python3 "$work/damage.py" "$PERF" "$box" "$work/copy" "$work/out" "$damages" ||
	error "a damaged file misleads"

finish
