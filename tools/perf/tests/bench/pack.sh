#!/bin/bash
# Benchmark: how densely --keep packs records, and what packing costs
# SPDX-License-Identifier: GPL-2.0-only
#
# Records context switches, wake-ups, and the entries and exits of system calls of the whole machine
# while each of WORKLOADS (find redis build) runs, to files that are not compressed. pack_bench
# packs their samples, and compresses them by zstd alone, in turns. TMPDIR needs 1 GB.
#
#	find	find, cat, gzip and sha256sum
#	redis	redis-benchmark, SET and GET; left out without it
#	build	gcc, 20 times
#
# Prints RESULT lines: bytes and CPU time of a sample, and the minutes that 256 MB hold at 200,000
# samples a second. Does not judge them.

. "$(dirname "$0")/lib.sh"

need pack_bench sched:sched_switch raw_syscalls:sys_enter

workloads=${WORKLOADS:-find redis build}

run_find() {
	find /usr/include -name '*.h' | head -n 4000 | xargs cat | gzip -1 | sha256sum
}

run_redis() {
	redis-benchmark -s "$work/redis.sock" -t set,get -n 60000 -c 50 --csv
}

run_build() {
	local i

	echo 'int main(void) { return 0; }' > "$work/main.c"
	for ((i = 0; i < 20; i++)); do
		gcc -O2 "$work/main.c" -o "$work/main"
	done
}

start_redis() {
	redis-server --port 0 --unixsocket "$work/redis.sock" --save '' --appendonly no \
		--dir "$work" > "$work/redis.log" &
	wait_until 10 test -S "$work/redis.sock" || fatal "redis-server does not start"
}

for name in $workloads; do
	if [ "$name" = redis ]; then
		type redis-server redis-benchmark > "$work/types" 2>&1 || continue
		start_redis
	fi
	recorder_start -a -m 16M -o "$work/$name" \
		-e sched:sched_switch,sched:sched_waking,sched:sched_wakeup \
		-e raw_syscalls:sys_enter,raw_syscalls:sys_exit
	"run_$name" > "$work/load.out" 2>&1
	recorder_stop
	files+=("$work/$name")
done
"$BUILD/tests/pack_bench" "${files[@]}"
