#!/bin/bash
# perf record: BPF records whose size the kernel overstates while another recorder runs
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need perf root bpf_load
why=$("$BUILD/tests/bpf_load" --probe)
case $? in
0) ;;
1) skip "this kernel writes the right size" ;;
2) skip "$why" ;;
*) fatal "bpf_load: $why" ;;
esac

# So many that the side-band ring wraps: behind a record then lie bytes of older records.
programs=2003

# complete FILE...: check that the files have the records of each program: registered, loaded by
# bpf_load, unloaded and unregistered. Another task may hold the last reference to a program and
# unload it. Two files may have the same record.
complete() {
	local file

	for file; do
		"$PERF" script -f -i "$file" --show-bpf-events > "$work/script" \
			2> "$work/script.err" ||
			error "perf script of ${file##*/}: $(tail -n 1 "$work/script.err")"
		grep -aE 'PERF_RECORD_(KSYMBOL|BPF_EVENT)' "$work/script"
	done | sort -u > "$work/records"
	awk -v name="_$name\$" -v wanted=$programs '
		$4 + 0 == 0 { next }		# programs loaded before, synthesized
		/KSYMBOL/ && $NF ~ name && /flags 0x0/ && $1 == "bpf_load" { registered++ }
		/KSYMBOL/ && $NF ~ name && /flags 0x1/ { unregistered++ }
		/BPF_EVENT type 1/ && $1 == "bpf_load" { loaded[$NF] = 1; nr_loaded++ }
		/BPF_EVENT type 2/ { unloaded[$NF] = 1 }
		END {
			for (id in loaded)
				nr_unloaded += id in unloaded
			print "# of", wanted, "programs:", registered + 0, "names registered,",
				unregistered + 0, "unregistered;", nr_loaded + 0, "loaded,",
				nr_unloaded + 0, "unloaded"
			exit registered != wanted || unregistered != wanted ||
				nr_loaded != wanted || nr_unloaded != wanted
		}' "$work/records"
}

# Load the programs on one CPU, so that their records fill one ring.
beside_another() {
	taskset -c "$cpu" "$PERF" record -q -a -e dummy -o "$work/other" \
		-- "$BUILD/tests/bpf_load" $programs "$name" > "$work/other.err" 2>&1 ||
			fatal "the other recorder: $(tail -n 1 "$work/other.err")"
}

cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
nr=0
for options in '-e cpu-clock' '-e cpu-clock/overwrite/' '-e cpu-clock -z --switch-output=signal' \
	       '-e cpu-clock/overwrite/ -e cpu-clock --no-threads --switch-output=signal'; do
	subtest "record $options"
	rm -f "$work"/data*
	name=mode$$_$((nr++))
	# shellcheck disable=SC2086 # several words
	recorder_start -v -a $options -o "$work/data"
	beside_another
	[[ $options = *signal* ]] && control snapshot
	recorder_stop "$work/data"
	[ -e "$work/data" ] && snapshots+=("$work/data")
	complete "${snapshots[@]}" || error "records of programs are missing"
	readable "${snapshots[@]}" || error "a file cannot be read"
done

finish
