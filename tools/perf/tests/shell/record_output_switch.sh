#!/bin/bash
# perf record: while a file is completed, what comes waits for the next one, and nothing is lost
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 240

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered spoil_writes

numbered_event
spoiled=(env LD_PRELOAD="$(realpath "$BUILD/tests/spoil_writes")" SPOIL_WRITES='stall 1' "SPOIL_UNTIL=$work/over")

# Calls come in bursts, of half a megabyte each: three of them fit into a CPU's ring, all of them into
# the recorder's buffer
bursts=16
burst=5003
ring=512

# completing: does the recorder wait for the end of a write, and not for its rings?
completing() {
	grep -qs "^$nr_futex " "/proc/$recorder/syscall"
}
case $(uname -m) in
x86_64) nr_futex=202 ;;
*) nr_futex=98 ;;
esac

nr_files() {
	find_snapshots "$work/out/data"
	((${#snapshots[@]} >= $1))
}

# stalled [record options]: a recorder whose disk does not answer is told to switch files; meanwhile
# there are calls
stalled() {
	local i

	rm -rf "$work/over" "$work/out"
	mkdir "$work/out"
	wrapper=("${spoiled[@]}")
	recorder_start --io=sync -a -m "$ring" "${event[@]}" -o "$work/out/data" --switch-output=signal "$@"
	wrapper=()
	kill -USR2 "$recorder" || fail "the recorder is gone"
	wait_until 20 completing || fail "the recorder does not complete its file"
	for ((i = 1; i <= bursts; i++)); do
		"$work/$comm" --threads 1 --rate 0 --tag "$i" --count "$burst" || fail "numbered fails"
		pause 0.2
	done > "$work/issued"
	nr_files 1 && fail "there is a file that cannot have been completed"
}

for how in '' -z; do
	echo "--- ${how:-without compression}"
	stalled $how
	touch "$work/over"
	wait_until 20 nr_files 1 || fail "the file is not completed"
	recorder_stop
	nr_files 2 || fail "there is no second file"
	numbered_check "${snapshots[@]}" -- --quiet --from-start --expect "$work/issued" || wrong "faults"
	readable "${snapshots[@]}" || wrong "a file cannot be read"
done

for how in '' -z; do
	echo "--- there is no next file, ${how:-without compression}"
	stalled $how
	rm -r "$work/out"
	touch "$work/over"
	recorder_end
	[ "$status" = 255 ] || wrong "it ends with status $status, not 255"
	grep -q 'Cannot create the next output file' "$work/record.err" || wrong "it does not say why"
	[ "$(grep -c 'Cannot rename' "$work/record.err")" = 1 ] || wrong "it tries to rename a file that is not there"
	unsaved=$(sed -n 's/.* \([0-9]*\) more records were recorded.*/\1/p' "$work/record.err")
	((unsaved > bursts * burst / 2)) || wrong "it says that ${unsaved:-no} records are not saved"
done

finish
