#!/bin/bash
# perf record --num-thread-synthesize: existing tasks and maps are complete, with any number of threads
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

. "$(dirname "$0")/lib/files.sh"

need perf root
command -v python3 > /dev/null || skip "no python3"

processes=()

# Start tasks that do not change: processes, some of them with 13 threads and 1009 maps, so that
# several are read at the same time.
large() {
	python3 -c 'import mmap, sys, threading, time
file = open("/proc/self/exe", "rb")
kept = [mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
        for i in range(1009)]
for i in range(12): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print(flush=True)
time.sleep(1000)' > "$work/ready" &
	processes+=($!)
	wait_until 20 test -s "$work/ready" || fatal "the large process does not start"
	rm "$work/ready"
}

for ((i = 0; i < 101; i++)); do
	((i % 25)) || large
	sleep 1000 &
	processes+=($!)
done
for i in "${processes[@]}"; do
	wait_until 20 grep -qxE 'sleep|python3.*' "/proc/$i/comm" ||
		fatal "process $i has another name than expected"
done

# tasks: print "tid comm" and "pid 0xaddress path" of executable maps for all these tasks, from
# /proc
tasks() {
	local pid

	for pid in "${processes[@]}"; do
		grep -H . "/proc/$pid/task"/*/comm |
			sed -E 's,^/proc/[0-9]+/task/([0-9]+)/comm:,\1 ,'
		awk -v pid="$pid" '$2 ~ /x/ && NF > 5 {
			sub("-.*", "", $1)
			sub("^0*", "", $1)
			print pid, "0x" $1, $6
		}' "/proc/$pid/maps"
	done | sort
}

# recorded FILE: print the same from the records of the file
recorded() {
	"$PERF" script -i "$1" --show-task-events --show-mmap-events 2> "$work/script.err" |
		sed -nE -e 's/.* PERF_RECORD_COMM: (.*):[0-9]+\/([0-9]+)$/\2 \1/p' \
			-e 's/.* PERF_RECORD_MMAP2? ([0-9]+)\/[0-9]+: \[(0x[0-9a-f]+)\(.*\]: ..x. (.*)/\1 \2 \3/p' |
		awk -v pids=" $ids " 'index(pids, " " $1 " ")' | sort
}

# records FILE: count the records of each type, except those of tasks, which come and go, and those
# that depend on how fast this machine is
records() {
	"$PERF" script -f -i "$1" -D 2> /dev/null | grep -aoE 'PERF_RECORD_[A-Z0-9_]+' |
		grep -vE '_(COMM|FORK|EXIT|MMAP2?|SAMPLE|BPF_EVENT|KSYMBOL|FINISHED_ROUND|LOST|LOST_SAMPLES)$' |
		sort | uniq -c
}

# new_tasks N: print how many threads and processes the kernel starts while perf record synthesizes
# with N threads
new_tasks() {
	"$PERF" stat -x , -e task:task_newtask -o "$work/stat" -- "$PERF" record -B --no-threads \
		--io=sync -a -e dummy \
		-o "$work/data" --num-thread-synthesize="$1" -- true 2> "$work/record.err" ||
			error "perf record fails"
	awk -F , '/task_newtask/ { print $1 }' "$work/stat"
}

tasks > "$work/tasks"
ids=$(cut -d ' ' -f 1 "$work/tasks" | sort -u | tr '\n' ' ')
note "$(grep -vc 0x "$work/tasks") tasks, $(grep -c 0x "$work/tasks") maps"

many=$(($(getconf _NPROCESSORS_ONLN) * 2 + 1))
for options in "-e dummy" "-e cpu-clock/overwrite/u" "-e cpu-clock:u --switch-output" \
	"-e dummy --tail-synthesize"; do
	rm -f "$work/first"
	for nr in 1 7 $many 5000; do
		subtest "$options --num-thread-synthesize=$nr"
		rm -f "$work"/data*
		# shellcheck disable=SC2086
		perf_record -v -B -a --proc-map-timeout=100000 $options \
			--num-thread-synthesize="$nr" -o "$work/data" -- true
		find_snapshots "$work/data"
		file=${snapshots[0]:-$work/data}
		recorded "$file" > "$work/recorded"
		if grep -q 'reading /proc again' "$work/record.err"; then
			inconclusive "records of other tasks were lost: the file may have a map twice"
			continue
		fi
		# Other programs of the machine may be deleted meanwhile.
		unexpected=$(grep -v '^Without symbols: ' "$work/script.err") && error "$unexpected"
		diff "$work/tasks" "$work/recorded" > "$work/diff" || error "$(head "$work/diff")"
		records "$file" > "$work/records"
		[ -e "$work/first" ] || cp "$work/records" "$work/first"
		diff "$work/first" "$work/records" ||
			error "the file differs from that with fewer threads"
	done
done
tasks | diff "$work/tasks" - > "$work/diff" || inconclusive "the tasks have changed"

if [ -d /sys/kernel/tracing/events/task ]; then
	few=$(new_tasks 1)
	more=$(new_tasks 7)
	subtest "the number of threads"
	((more == few + 7)) || error "$few tasks are started with 1, $more with 7, not 7 more"
else
	note "no tracepoint task:task_newtask: threads are not counted"
fi

subtest "invalid numbers"
for nr in 0 -1 3x "" 4294967297; do
	"$PERF" record --num-thread-synthesize="$nr" -a -e dummy -o "$work/data" \
		-- true 2> "$work/record.err"
	[ $? = 129 ] || error "--num-thread-synthesize=$nr is accepted"
	grep -qF -e "--num-thread-synthesize=$nr: " "$work/record.err" || error "$nr: no message"
done

finish
