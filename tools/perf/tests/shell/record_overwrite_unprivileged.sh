#!/bin/bash
# perf record /overwrite/ as an ordinary user, with kernel.perf_event_paranoid = 2
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 120

. "$(dirname "$0")/lib/numbered.sh"

need perf numbered
need root	# to become another user
as_nobody_ready || skip "$reason"

for name in cpu-clock task-clock; do
	for ring in "" "-m 1"; do
		subtest "$name:u ${ring:-default -m}"
		# shellcheck disable=SC2086 # no word, or two
		"${as_nobody[@]}" "$PERF" record -o "$public/data" $ring -c 100000 \
			-e "$name/overwrite/u" -- \
			"$helpers/numbered" --rate 0 --count 3000017 > "$work/issued" \
			2> "$work/record.err"
		status=$?
		rm -f
		[ $status = 0 ] || { error "exit status $status"; continue; }
		"${as_nobody[@]}" "$PERF" script -i "$public/data" -F comm,tid,time,event,ip \
			> "$work/script.all" 2> "$work/script.err" ||
			error "the owner of the file cannot read it: $(cat "$work/script.err")"
		grep -v ' snapshot: ' "$work/script.all" > "$work/script.out"
		awk '
			{ time = $3; sub(":", "", time); if (!(time + 0 >= last)) back++ }
			{ last = time + 0; n++ }
			$5 ~ /^ffff/ { kernel++ }
			$1 != "numbered" { other++ }
			END {
				printf "# %d samples, %d of the kernel, %d of other commands, " \
					"%d back in time\n", n, kernel, other, back
				exit !(n > 10 && !kernel && !back && !other)
			}' "$work/script.out" ||
				error "not only samples of the workload in user mode, in order of time"
		counts+=("$(wc -l < "$work/script.out")")
		readable "$public/data" || error "the file cannot be read"
		rm -f "$public"/data*
	done
done
# A ring of one page holds about a hundred samples, the default ring holds all of them.
((counts[1] < counts[0] && counts[3] < counts[2])) ||
	error "a ring of one page has as many samples as the default: ${counts[*]}"

subtest "-p: a task of the same user"
"${as_nobody[@]}" "$helpers/numbered" --rate 0 --duration 1000 --threads 1 > "$work/issued" &
task=$!
# perf records the threads that exist.
has_thread() {
	local threads=("/proc/$task/task"/*)

	((${#threads[@]} > 1))
}
wait_until 20 has_thread || fatal "the workload does not start"
cat > "$helpers/computed" <<'END'
#!/bin/bash
# Wait until a process has computed for a second.
ticks() { cut -d ' ' -f 14 "/proc/$task/stat"; }
task=$1 end=$(($(ticks) + 100))
until (($(ticks) >= end)); do sleep 0.1; done
END
chmod +x "$helpers/computed"
"${as_nobody[@]}" "$PERF" record -o "$public/data" -e cpu-clock/overwrite/u -p "$task" -- \
	"$helpers/computed" "$task" > "$work/record.out" 2> "$work/record.err" ||
	error "perf record exits with status $?"
count=$(samples "$public/data")
((count > 10)) || error "$count samples"
kill -TERM "$task"

finish
