#!/bin/bash
# perf sched, kwork, lock, trace, timechart, diff, annotate, archive, inject, scripts: kinds of files
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 600
# tags: parallel long
# needs: upstream-perf
#
# Each kind of file is recorded, and decompressed by perf inject. Each reader prints the same of
# both, and the same as the reader of upstream's perf prints of the decompressed one.

. "$(dirname "$0")/lib/recorder.sh"

need perf root raw_syscalls:sys_enter sched:sched_switch sched:sched_waking irq:softirq_entry \
	workqueue:workqueue_execute_start
command -v objdump > /dev/null || skip "no objdump"

events=()
for event in cpu-clock/period=50000/u raw_syscalls:sys_enter raw_syscalls:sys_exit \
	sched:sched_{switch,waking,wakeup,wakeup_new,migrate_task,stat_runtime} \
	sched:sched_process_{fork,exit} \
	irq:irq_handler_{entry,exit} irq:softirq_{raise,entry,exit} \
	workqueue:workqueue_{activate_work,execute_start,execute_end} lock:contention_{begin,end} \
	power:cpu_{idle,frequency}; do
	[[ $event != *:*_* ]] || has_tracepoint "$event" || continue
	events+=(-e "$event")
done

# NAME OPTIONS: kinds of files. The output of -o - goes to a file.
kinds=(
	"stream --bpf-ring=no"
	"stream_of_bpf --bpf-ring=yes"
	"overwrite --overwrite"
	"keep --keep=60s,64M --bpf-ring=no"
	"keep_of_bpf --keep=60s,64M --bpf-ring=yes"
	"compressed -z"
	"pipe -o -"
)

# perf mem and perf c2c need samples of a hardware PMU.
scripts=$(dirname "$tests_dir")/scripts/python
[ -d "$scripts" ] || scripts=$BUILD/linux/tools/perf/scripts/python
# The part of each program's run that has samples and symbols everywhere
annotated=$(ldd /bin/cat | sed -n 's|^[^/]*\(/[^ ]*/ld[^/ ]*\) .*|\1|p')
annotated=$(readlink -f "${annotated:-/bin/cat}")
readers=(
	"script ${no_symbols[*]} -F comm,tid,cpu,time,event,trace,ip"
	"report ${no_symbols[*]} --stdio -s dso,sym"
	"sched latency"
	"sched timehist ${no_symbols[*]}"
	"sched timehist ${no_symbols[*]} -MVw --state"
	"sched map"
	"sched replay -r 1"
	"kwork -k irq,softirq,workqueue report"
	"kwork -k irq,softirq,workqueue latency"
	"kwork -k irq,softirq,workqueue timehist ${no_symbols[*]}"
	"lock contention"
	"lock contention -t"
	"trace"
	"trace -s"
	"timechart -o OUT"
	"annotate --stdio -d $annotated"
	"buildid-list -H"
	"script -s $scripts/syscall-counts.py"
	"script -s $scripts/syscall-counts-by-pid.py"
	"script -s $scripts/failed-syscalls-by-pid.py"
	"script -s $scripts/futex-contention.py"
	"script -s $scripts/task-analyzer.py"
	"script -s $scripts/stackcollapse.py"
	"script -s $scripts/gecko.py"
	"inject"
	"inject -b"
	"inject -j"
	"inject -s"
	"diff"
	"archive"
)

# Readers that fail on a pipe file with upstream's perf as well: events and number of CPUs are not
# known when perf inject -s and perf sched timehist -V look at them, perf diff fails at the first
# sample, and there are no build-ids before perf inject -b.
not_of_pipes='^inject -s$|^sched timehist .*-MVw|^diff$|^archive$'

# Upstream's perf trace -i attaches BPF programs, which take the system calls of recordings beside
# it.
not_by_upstream='^trace'

export HOME=$work		# the cache of build-ids
printf 'cat /nonexistent 2> /dev/null | cat; sleep 0.01\n' > "$work/workload"

# record NAME OPTIONS...: few events of $target, the CPU on which the workload runs
cpu=$(taskset -pc $$ | sed 's/.*[ ,-]//')
record() {
	local name=$1

	shift
	"$PERF" record -q "${target[@]}" -m 4M -o "$work/$name" "${events[@]}" "$@" \
		-- taskset -c "$cpu" sh "$work/workload" 2> "$work/record.err" > "$work/output"
	status=$?
	[[ "$*" != *"-o -"* ]] || mv "$work/output" "$work/$name"
	return $status
}

# record_both NAME OPTIONS...: record the file, and decompress it to NAME.plain
record_both() {
	record "$@" || return
	"$PERF" inject -i "$work/$1" -o "$work/$1.plain" 2> "$work/inject.err" ||
		fatal "perf inject fails: $(< "$work/inject.err")"
}

# say PERF FILE READER...: write what the reader says of FILE to $work/said; return its exit status
say() {
	local perf=$1 file=$2 status

	shift 2
	rm -f "$work"/OUT "$work/injected" "$work/file" "$work/file.tar.bz2"
	ln "$file" "$work/file"
	case "$*" in
	inject*)
		"$perf" "$@" -i "$work/file" -o "$work/injected" &&
			"$PERF" script "${no_symbols[@]}" -i "$work/injected" \
				-F comm,tid,time,event,trace
		;;
	diff)	"$perf" diff "${no_symbols[@]}" "$work/file" "$work/file" ;;
	archive)
		(cd "$work" && "$perf" archive file > archive.out && tar -tjf file.tar.bz2 | sort)
		;;
	*gecko.py)	# which would serve the result at port 8000
		(cd "$work" && "$perf" "$1" -i file "${@:2}" -- --save-only=OUT)
		;;
	*)	(cd "$work" && "$perf" "$@" -i "$work/file") ;;
	esac < /dev/null 2> "$work/say.err" > "$work/said"
	status=$?
	[ ! -e "$work/OUT" ] || cat "$work/OUT" >> "$work/said"
	# Tips, names of temporary files, and a share of all events, of which a pipe file has
	# others, differ.
	sed -i '/^# (Tip: /d; s/perf-vdso.so-.*/perf-vdso.so/; s/INFO: .*% skipped/INFO: skipped/' \
		"$work/said"
	[ "$1 ${2-}" != "sched replay" ] || sed -i '/^task\|nr_/!d' "$work/said"
	return $status
}

# annotates READER...: the file, with a result
annotates() {
	say "$PERF" "$work/$name" "$@" ||
		error "perf $* of $name fails: $(tail -n 1 "$work/say.err")"
	[ -s "$work/said" ] || error "perf $* of $name prints nothing"
}

# same_as_plain READER...
same_as_plain() {
	local file

	for file in "$name" "$name.plain"; do
		say "$PERF" "$work/$file" "$@" ||
			error "perf $* of a file ($file) fails: $(tail -n 1 "$work/say.err")"
		mv "$work/said" "$work/$file.said"
	done
	[[ $1 != annotate || -s $work/$name.said ]] || error "perf $* of $name prints nothing"
	cmp -s "$work/$name.said" "$work/$name.plain.said" ||
		error "perf $* of $name: $(diff "$work/$name.said" "$work/$name.plain.said" | head -n 5)"
}

# same_as_upstream READER...: likewise, but for lines with a task whose name upstream does not know,
# or whose pid (as a number, -1 is 4294967295)
same_as_upstream() {
	say "$UPSTREAM_PERF" "$work/$name.plain" "$@" || {
		note "upstream's perf $* fails: $(tail -n 1 "$work/say.err")"
		return
	}
	diff --unchanged-line-format= --old-line-format='<%L' --new-line-format='>%L' \
		"$work/$name.plain.said" "$work/said" > "$work/differences" && return
	awk '/^</ { ours++ } /^>/ { theirs++; if (!/:-?[0-9]+| 4294967295 /) other++ }
	     END { exit ours != theirs || other > 0 }' "$work/differences" ||
		error "perf $* of $name, and of upstream: $(head -n 5 "$work/differences")"
}

for kind_nr in "${!kinds[@]}"; do
	read -r name options <<< "${kinds[kind_nr]}"
	subtest "$name"
	target=(-C "$cpu")
	# shellcheck disable=SC2086 # several options
	record_both "$name" $options || {
		if grep -q 'no event can be written by BPF' "$work/record.err"; then
			inconclusive "$(tail -n 1 "$work/record.err")"
		else
			error "perf record $options fails"
		fi
		continue
	}
	for nr in "${!readers[@]}"; do
		read -ra reader <<< "${readers[nr]}"
		[[ $name != pipe || ! ${readers[nr]} =~ $not_of_pipes ]] || continue
		# Every reader meets one kind, and all kinds at night. perf annotate always meets
		# each kind.
		if [ -z "${NIGHT-}" ] && ((nr % ${#kinds[@]} != kind_nr)); then
			[ "${reader[0]}" != annotate ] || annotates "${reader[@]}"
			continue
		fi
		if [ "${reader[0]}" = archive ]; then	# the last one
			# Other programs on this CPU may be large: it takes a minute to compress a
			# compiler.
			target=()
			# shellcheck disable=SC2086 # several options
			record_both "$name" $options || error "perf record $options fails"
		fi
		same_as_plain "${reader[@]}"
		# Upstream's perf inject writes no build-ids of programs that were not hit by a
		# sample.
		[[ ! -x ${UPSTREAM_PERF-} || ${reader[0]} = archive ||
			${reader[0]} = buildid-list ]] ||
			[[ "${reader[*]}" =~ $not_by_upstream ]] || same_as_upstream "${reader[@]}"
	done
done

finish
