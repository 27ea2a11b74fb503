#!/bin/bash
# perf record: when rings are read, on which CPU, and how much memory what waits for the disk takes
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered spoil_writes

out=$work/data
numbered_event

# --- --mmap-flush

# A command that calls kill(2) 100 times, and nothing else, for each line that it reads, and answers
cat > "$work/calls" << 'EOF'
while read -r line; do
	for ((i = 0; i < 100; i++)); do kill -0 $$; done
	echo "$line"
done < "$1" > "$2"
EOF

# More so many times; returns when all have happened
calls() {
	local nr

	for ((nr = $1; nr > 0; nr--)); do
		echo more >&"$more"
		read -rt 30 -u "$done" || fail "the command does not answer"
	done
}

# What is in the file by now
written() {
	cp "$out" "$work/copy"
	samples "$work/copy"
}

written_are() {
	(($(written) >= $1))
}

# flushes [options]
flushes() {
	echo "--- ${*:-no --mmap-flush}"
	rm -f "$out" "$work"/{more,done}
	mkfifo "$work/more" "$work/done"
	exec {more}<> "$work/more" {done}<> "$work/done"
	recorder_start -m 512 -e syscalls:sys_enter_kill -o "$out" "$@" -- \
		bash "$work/calls" "$work/more" "$work/done" {more}>&- {done}>&-
}

flushed() {
	exec {more}>&- {done}>&-
	recorder_end
	[ "$(samples "$out")" = "$1" ] || wrong "$(samples "$out") samples, not $1"
}

# waits WHAT: 100 more samples stay in the ring; how often that was tried is in $nr. A round that must be
# finished has all rings read, as long as other records come: then it is tried again.
waits() {
	local before

	for ((nr = 1; nr <= 20; nr++)); do
		before=$(written)
		calls 1
		pause 1
		[ "$before" != "$(written)" ] || return 0
	done
	wrong "nothing waits for $1"
}

need_tracepoint syscalls:sys_enter_kill

flushes
waits "half of a ring"
flushed $((nr * 100))

flushes --no-buffering
calls 1
wait_until 30 written_are 100 || wrong "$(written) of 100 samples are in the file"
flushed 100

flushes --no-buffering --mmap-flush=128K
waits --mmap-flush
calls 30
wait_until 30 written_are $((nr * 100 + 1)) || wrong "what is more than --mmap-flush is not read"
flushed $(((nr + 30) * 100))

# --- --affinity

# The CPUs that each of the recorder's threads may run on
allowed() {
	sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$recorder/task"/*/status
}

on() {
	allowed | grep -qx "$1"
}

# visits CPU [options]: start a recorder of that CPU, and read what happens there
visits() {
	recorder_start -C "$1" -m 16 --no-buffering --threads=package "${event[@]}" -o "$out" "${@:2}"
	taskset -c "$1" "$work/$comm" --rate 1000 > "$work/issued" || wrong "numbered fails"
}

echo "--- --affinity"
mapfile -t cpus < <(for ((cpu = 0; cpu < $(getconf _NPROCESSORS_ONLN); cpu++)); do
	taskset -c $cpu true && echo $cpu
done 2> /dev/null)
if ((${#cpus[@]} > 1)); then
	for cpu in "${cpus[0]}" "${cpus[1]}"; do
		visits "$cpu" --affinity=cpu
		wait_until 30 on "$cpu" || wrong "no reader is on CPU $cpu, they are on: $(allowed | xargs)"
		recorder_stop
	done
	visits "${cpus[0]}"
	! on "${cpus[0]}" || wrong "a reader is on CPU ${cpus[0]} without --affinity"
	recorder_stop
else
	echo "not tried with one CPU"
fi

# --- --write-buffer

# memory VmRSS|VmHWM: of the recorder [kB]
memory() {
	awk -v key="$1:" '$1 == key { print $2 }' "/proc/$recorder/status"
}

# takes MB: that much, and hardly more, while the disk does not answer and twice as much is recorded
takes() {
	local size=$1 before took

	rm -f "$out" "$work/answers"
	recorder_start -a -m 128 --io=sync --write-buffer="${size}M" --call-graph dwarf,4096 "${event[@]}" -o "$out"
	before=$(memory VmRSS)
	"$work/$comm" --threads 1 --noise --rate 20000 --count $((size * 512)) > "$work/issued" || fail "numbered fails"
	took=$((($(memory VmHWM) - before) / 1024))
	echo "--write-buffer=${size}M: $took MB"
	((took >= size / 2 && took < size + 4)) || wrong "--write-buffer=${size}M: the recorder takes $took MB"
	touch "$work/answers"
	recorder_stop
	grep 'Lost' "$work/record.err"
	readable "$out" || wrong "the file cannot be read"
}

# The first write stalls: see helpers/spoil_writes.c
echo "--- --write-buffer"
wrapper=(env "LD_PRELOAD=$(realpath "$BUILD/tests/spoil_writes")" "SPOIL_WRITES=stall 1" "SPOIL_UNTIL=$work/answers")
takes 8
takes 64

finish
