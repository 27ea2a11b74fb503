#!/bin/bash
# perf record: records of BPF programs that the kernel calls longer than they are, with another recorder about
# SPDX-License-Identifier: GPL-2.0-only

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_perf
need_root
need_helpers bpf_load
why=$("$BUILD/tests/bpf_load" --probe)
case $? in
0) ;;
1) skip "this kernel calls such records as long as they are" ;;
*) skip "$why" ;;
esac

# So many that the tracking ring is gone round in: behind a record then lies what was there before.
programs=2003

# told FILE...: each program is told of when it is loaded, by whom, and when it is gone: whoever looked at it
# meanwhile may be the last to let go of it. Two files may have the same record.
told() {
	local file

	for file; do
		"$PERF" script -f -i "$file" --show-bpf-events > "$work/script" 2> "$work/script.err" ||
			wrong "perf script of ${file##*/}: $(tail -n 1 "$work/script.err")"
		grep -aE 'PERF_RECORD_(KSYMBOL|BPF_EVENT)' "$work/script"
	done | sort -u > "$work/records"
	awk -v name="_$name\$" -v wanted=$programs '
		$4 + 0 == 0 { next }		# what there was before
		/KSYMBOL/ && $NF ~ name && /flags 0x0/ && $1 == "bpf_load" { registered++ }
		/KSYMBOL/ && $NF ~ name && /flags 0x1/ { unregistered++ }
		/BPF_EVENT type 1/ && $1 == "bpf_load" { loaded[$NF] = 1; nr_loaded++ }
		/BPF_EVENT type 2/ { unloaded[$NF] = 1 }
		END {
			for (id in loaded)
				nr_unloaded += id in unloaded
			print "of", wanted, "programs:", registered + 0, "names registered,", unregistered + 0,
				"unregistered;", nr_loaded + 0, "loaded,", nr_unloaded + 0, "unloaded"
			exit registered != wanted || unregistered != wanted || nr_loaded != wanted ||
				nr_unloaded != wanted
		}' "$work/records"
}

# Only what is recorded on one CPU lies in one ring, which is soon full.
beside_another() {
	taskset -c "$cpu" "$PERF" record -q -a -e dummy -o "$work/other" -- "$BUILD/tests/bpf_load" $programs "$name" \
		> "$work/other.err" 2>&1 || fail "the other recorder: $(tail -n 1 "$work/other.err")"
}

cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
nr=0
for options in '-e cpu-clock' '-e cpu-clock/overwrite/' '-e cpu-clock -z --switch-output=signal' \
	       '-e cpu-clock/overwrite/ -e cpu-clock --no-threads --switch-output=signal'; do
	echo "--- $options"
	rm -f "$work"/data*
	name=mode$$_$((nr++))
	# shellcheck disable=SC2086 # several words
	recorder_start -v -a $options -o "$work/data"
	beside_another
	[[ $options = *signal* ]] && control snapshot
	recorder_stop
	find_snapshots "$work/data"
	[ -e "$work/data" ] && snapshots+=("$work/data")
	told "${snapshots[@]}" || wrong "they do not tell what happened"
	readable "${snapshots[@]}" || wrong "not readable"
done

finish
