#!/bin/bash
# perf record --mmap-flush, --affinity, --write-buffer: when and where rings are drained, and buffer memory
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered spoil_writes

out=$work/data
numbered_event

# --- --mmap-flush

# A command that calls kill(2) 100 times for each line that it reads, then echoes the line
cat > "$work/calls" << 'EOF'
while read -r line; do
	for ((i = 0; i < 100; i++)); do kill -0 $$; done
	echo "$line"
done < "$1" > "$2"
EOF

# calls N: issue N * 100 calls; return when all have been issued
calls() {
	local nr

	for ((nr = $1; nr > 0; nr--)); do
		echo more >&"$more"
		read -rt 30 -u "$done" || fatal "the command does not answer"
	done
}

# written: print the number of samples in the file so far
written() {
	cp "$out" "$work/copy"
	samples "$work/copy"
}

written_are() {
	(($(written) >= $1))
}

# flush_start [options]: begin a subtest, record the command
flush_start() {
	subtest "${*:-without --mmap-flush}"
	rm -f "$out" "$work"/{more,done}
	mkfifo "$work/more" "$work/done"
	exec {more}<> "$work/more" {done}<> "$work/done"
	recorder_start -m 512 -e syscalls:sys_enter_kill -o "$out" "$@" -- \
		bash "$work/calls" "$work/more" "$work/done" {more}>&- {done}>&-
}

# flush_stop SAMPLES: end the recording, check the number of samples
flush_stop() {
	exec {more}>&- {done}>&-
	recorder_end
	[ "$(samples "$out")" = "$1" ] || error "$(samples "$out") samples, not $1"
}

# stays_in_ring THRESHOLD: check that 100 more samples stay in the ring; set $nr to the number of
# attempts. To finish a round, all rings are drained as soon as any record arrives: try again then.
stays_in_ring() {
	local before

	for ((nr = 1; nr <= 20; nr++)); do
		before=$(written)
		calls 1
		pause 1
		[ "$before" != "$(written)" ] || return 0
	done
	error "samples below the threshold are drained: $1"
}

need syscalls:sys_enter_kill

flush_start
stays_in_ring "half of a ring"
flush_stop $((nr * 100))

flush_start --no-buffering
calls 1
wait_until 30 written_are 100 || error "$(written) of 100 samples are in the file"
flush_stop 100

flush_start --no-buffering --mmap-flush=128K
stays_in_ring --mmap-flush
calls 30
wait_until 30 written_are $((nr * 100 + 1)) || error "samples above --mmap-flush are not drained"
flush_stop $(((nr + 30) * 100))

# --- --affinity

# allowed: print the CPUs that each thread of the recorder may run on
allowed() {
	sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$recorder/task"/*/status
}

on() {
	allowed | grep -qx "$1"
}

# record_cpu CPU [options]: record numbered calls on this CPU
record_cpu() {
	recorder_start -C "$1" -m 16 --no-buffering --threads=package "${event[@]}" -o "$out" \
		"${@:2}"
	taskset -c "$1" "$work/$comm" --rate 1000 > "$work/issued" ||
		error "the numbered workload failed"
}

subtest "--affinity"
mapfile -t cpus < <(for ((cpu = 0; cpu < $(getconf _NPROCESSORS_ONLN); cpu++)); do
	taskset -c $cpu true && echo $cpu
done 2> /dev/null)
if ((${#cpus[@]} > 1)); then
	for cpu in "${cpus[0]}" "${cpus[1]}"; do
		record_cpu "$cpu" --affinity=cpu
		wait_until 30 on "$cpu" ||
			error "no reader thread is on CPU $cpu, but on: $(allowed | xargs)"
		recorder_stop
	done
	record_cpu "${cpus[0]}"
	! on "${cpus[0]}" || error "a reader thread is on CPU ${cpus[0]} without --affinity"
	recorder_stop
else
	inconclusive "only one CPU"
fi

# --- --write-buffer

# buffers MB: check that the recorder takes about that much memory while a write stalls and twice as
# much is recorded
buffers() {
	local size=$1 before took

	rm -f "$out" "$work/answers"
	recorder_start -a -m 128 --io=sync --write-buffer="${size}M" --call-graph dwarf,4096 \
		"${event[@]}" -o "$out"
	before=$(recorder_memory VmRSS)
	"$work/$comm" --threads 1 --noise --rate 20000 --count $((size * 512)) > "$work/issued" ||
		fatal "the numbered workload failed"
	took=$((($(recorder_memory VmHWM) - before) / 1024))
	note "--write-buffer=${size}M: $took MB"
	((took >= size / 2 && took < size + 4)) ||
		error "--write-buffer=${size}M: the recorder takes $took MB"
	touch "$work/answers"
	recorder_stop
	grep 'Lost' "$work/record.err"
	readable "$out" || error "the file cannot be read"
}

# The first write stalls (helpers/spoil_writes.c).
subtest "--write-buffer"
wrapper=(env "LD_PRELOAD=$(realpath "$BUILD/tests/spoil_writes")" "SPOIL_WRITES=stall 1"
	"SPOIL_UNTIL=$work/answers")
buffers 8
buffers 64

finish
