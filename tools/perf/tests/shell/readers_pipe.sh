#!/bin/bash
# perf sched, kwork, trace, inject: compressed files and pipes have the contents of plain files
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 180
# tags: parallel

. "$(dirname "$0")/lib/harness.sh"

need perf sched:sched_switch irq:softirq_entry workqueue:workqueue_execute_start

perf_record -a -z -o "$work/compressed" -e sched:sched_switch -e sched:sched_wakeup \
	-e irq:irq_handler_entry -e irq:irq_handler_exit -e irq:softirq_entry -e irq:softirq_exit \
	-e raw_syscalls:sys_enter -e raw_syscalls:sys_exit \
	-- sh -c 'exec sleep 0.05' $'\xc3\xa4\xff'
"$PERF" inject -i "$work/compressed" -o "$work/file" 2> "$work/inject.err" ||
	fatal "perf inject fails: $(< "$work/inject.err")"
"$PERF" inject -i "$work/file" -o - 2> "$work/inject.err" | cat > "$work/pipe" ||
	fatal "perf inject fails: $(< "$work/inject.err")"

# same FILE COMMAND...: check that a command prints the same of the file and of FILE
same() {
	local other=$1 input

	shift
	for input in file "$other"; do
		"$PERF" "$@" -i "$work/$input" > "$work/$input.out" 2> "$work/$input.err" ||
			error "perf $* of a $input fails: $(tail -n 1 "$work/$input.err")"
	done
	[ -s "$work/file.out" ] || error "perf $* prints nothing"
	cmp -s "$work/file.out" "$work/$other.out" ||
		error "perf $*: $(diff "$work/file.out" "$work/$other.out" | head -n 5)"
}

for input in compressed pipe; do
	subtest "A $input: perf sched, kwork, trace, script"
	same $input script "${no_symbols[@]}"
	same $input sched latency
	same $input sched timehist "${no_symbols[@]}"
	same $input sched map
	same $input kwork -k irq,softirq report
	same $input kwork -k irq,softirq timehist
	same $input trace -s -o /dev/stdout
done

subtest "A pipe as standard input, without -i: perf script, sched, kwork"
for command in script "sched latency" "kwork -k irq,softirq report"; do
	read -ra words <<< "$command"
	"$PERF" "${words[@]}" -i "$work/file" > "$work/file.out" 2> "$work/file.err" ||
		error "perf $command of a file fails: $(tail -n 1 "$work/file.err")"
	# shellcheck disable=SC2002 # the input must be a pipe
	cat "$work/pipe" | "$PERF" "${words[@]}" > "$work/stdin.out" 2> "$work/stdin.err" ||
		error "perf $command fails with status $?: $(tail -n 1 "$work/stdin.err")"
	cmp -s "$work/file.out" "$work/stdin.out" ||
		error "perf $command: $(diff "$work/file.out" "$work/stdin.out" | head -n 5)"
done

subtest "A pipe: perf buildid-list"
"$PERF" buildid-list -H -i "$work/pipe" > "$work/ids" 2> "$work/ids.err" ||
	error "$(< "$work/ids.err")"
! grep . "$work/ids.err" || error "perf buildid-list prints this"

subtest "A pipe: perf data convert --to-json"
for input in compressed file pipe; do
	"$PERF" data convert -i "$work/$input" --to-json="$work/$input.json" 2> "$work/json.err" ||
		error "$(< "$work/json.err")"
done
python3 - "$work"/{compressed,file,pipe}.json <<'END' ||
import json
import sys

compressed, file, pipe = (json.load(open(path, encoding='utf-8')) for path in sys.argv[1:])
for key in 'hostname', 'os-release', 'arch', 'perf-version':
    if file['headers'][key] != pipe['headers'][key] or not pipe['headers'][key]:
        sys.exit(f'# ERROR: {key}: {pipe["headers"][key]}')
if compressed['headers']['cmdline'][-1] != '\u00e4\ufffd':
    sys.exit(f'# ERROR: text that is not ASCII: {compressed["headers"]["cmdline"]}')
sys.exit(not file['samples'] or file['samples'] != pipe['samples'])
END
	error "the pipe has other samples or headers"

subtest "A full disk: perf data convert --to-json"
"$PERF" data convert --force -i "$work/file" --to-json=/dev/full 2> "$work/json.err" &&
	error "it does not fail"
grep -q 'Cannot write /dev/full' "$work/json.err" || error "$(< "$work/json.err")"

subtest "A pipe: perf inject"
"$PERF" inject -i - -o - < "$work/pipe" 2> "$work/inject.err" | cat > "$work/piped" ||
	error "perf inject fails: $(< "$work/inject.err")"
cp "$work/piped" "$work/again"
same again script "${no_symbols[@]}"

subtest "A pipe: perf inject writes a file that has the formats of tracepoints"
"$PERF" inject -i - -o "$work/again" < "$work/pipe" 2> "$work/inject.err" ||
	error "perf inject fails: $(< "$work/inject.err")"
same again script "${no_symbols[@]}"
same again sched timehist "${no_symbols[@]}"
rm "$work/again"
"$PERF" inject -b -i "$work/pipe" -o "$work/again" 2> "$work/inject.err" ||
	error "perf inject -b fails: $(< "$work/inject.err")"
same again script "${no_symbols[@]}"

finish
