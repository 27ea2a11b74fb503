#!/bin/bash
# perf record: what ran before the recording is noted in whole, by however many threads
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_perf
need_root
command -v python3 > /dev/null || skip "no python3"

# Tasks that stay as they are: processes, and between them some of 13 threads and thousands of maps, so
# that several are read at the same time
large() {
	python3 -c 'import mmap, sys, threading, time
file = open("/proc/self/exe", "rb")
kept = [mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC) for i in range(1009)]
for i in range(12): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print(flush=True)
time.sleep(1000)' > "$work/ready" &
	started+=($!)
	wait_until 10 test -s "$work/ready" || fail "the large process does not begin"
	rm "$work/ready"
}

for ((i = 0; i < 101; i++)); do
	((i % 25)) || large
	sleep 1000 &
	started+=($!)
done
for i in "${started[@]}"; do
	wait_until 5 grep -qxE 'sleep|python3.*' "/proc/$i/comm" || fail "process $i is not what it should be"
done

# tasks: "tid comm" and "pid 0xaddress path" for what is mapped as code, of all these tasks, as /proc has it
tasks() {
	local pid

	for pid in "${started[@]}"; do
		grep -H . "/proc/$pid/task"/*/comm | sed -E 's,^/proc/[0-9]+/task/([0-9]+)/comm:,\1 ,'
		awk -v pid="$pid" '$2 ~ /x/ && NF > 5 { sub("-.*", "", $1); sub("^0*", "", $1); print pid, "0x" $1, $6 }' \
			"/proc/$pid/maps"
	done | sort
}

# noted FILE: the same, of the file; each record once
noted() {
	"$PERF" script -i "$1" --show-task-events --show-mmap-events 2> "$work/script.err" |
		sed -nE -e 's/.* PERF_RECORD_COMM: (.*):[0-9]+\/([0-9]+)$/\2 \1/p' \
			-e 's/.* PERF_RECORD_MMAP2? ([0-9]+)\/[0-9]+: \[(0x[0-9a-f]+)\(.*\]: ..x. (.*)/\1 \2 \3/p' |
		awk -v pids=" $ids " 'index(pids, " " $1 " ")' | sort
}

# records FILE: how many there are of each kind, that are not of tasks which come and go
records() {
	"$PERF" script -f -i "$1" -D 2> /dev/null | grep -aoE 'PERF_RECORD_[A-Z0-9_]+' |
		grep -vE '_(COMM|FORK|EXIT|MMAP2?|SAMPLE|BPF_EVENT|KSYMBOL)$' | sort | uniq -c
}

# new_tasks N [options]: threads and processes that are started while it records, by the kernel's account
new_tasks() {
	"$PERF" stat -x , -e task:task_newtask -o "$work/stat" -- "$PERF" record -B --no-threads --io=sync -a -e dummy \
		-o "$work/data" --num-thread-synthesize="$1" -- true 2> "$work/record.err" || wrong "perf record fails"
	awk -F , '/task_newtask/ { print $1 }' "$work/stat"
}

tasks > "$work/tasks"
ids=$(cut -d ' ' -f 1 "$work/tasks" | sort -u | tr '\n' ' ')
echo "$(grep -vc 0x "$work/tasks") tasks, $(grep -c 0x "$work/tasks") maps"

many=$(($(getconf _NPROCESSORS_ONLN) * 2 + 1))
for options in "-e dummy" "-e cpu-clock/overwrite/u" "-e cpu-clock:u --switch-output" "-e dummy --tail-synthesize"; do
	for nr in 1 7 $many 5000; do
		echo "--- $options --num-thread-synthesize=$nr"
		rm -f "$work"/data* "$work/said"
		# shellcheck disable=SC2086
		"$PERF" record -B -a $options --num-thread-synthesize="$nr" -o "$work/data" -- true 2> "$work/record.err" ||
			wrong "perf record fails"
		find_snapshots "$work/data"
		file=${snapshots[0]:-$work/data}
		noted "$file" > "$work/noted"
		[ -s "$work/script.err" ] && wrong "$(cat "$work/script.err")"
		diff "$work/tasks" "$work/noted" > "$work/diff" || wrong "$(head "$work/diff")"
		records "$file" > "$work/records.$nr"
		diff "$work/records.1" "$work/records.$nr" || wrong "the file differs from that of one thread"
	done
done
tasks | diff "$work/tasks" - > "$work/diff" || fail "the tasks have changed: this shows nothing"

if [ -d /sys/kernel/tracing/events/task ]; then
	few=$(new_tasks 1)
	more=$(new_tasks 7)
	echo "--- 7 threads: $few tasks are started with 1, $more with 7"
	((more == few + 7)) || wrong "not 7 threads"
else
	echo "note: no tracepoint task:task_newtask here, threads are not counted"
fi

echo "--- what is none"
for nr in 0 -1 3x "" 4294967297; do
	"$PERF" record --num-thread-synthesize="$nr" -a -e dummy -o "$work/data" -- true 2> "$work/record.err"
	[ $? = 129 ] || wrong "--num-thread-synthesize=$nr is taken"
	grep -qF -e "--num-thread-synthesize=$nr: " "$work/record.err" || wrong "$nr: no message"
done

finish
