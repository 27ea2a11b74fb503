# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # used, and set, by those who source this
# Make delays of known length, and compare them with what --switch-output-when reports.
#
# Skips the test where conditions are refused.

. "${BASH_SOURCE[0]%/*}/recorder.sh"

need perf root delays sched:sched_process_exec

events=(-a -e sched:sched_process_exec "--keep=60s,32M")
"$PERF" record "${events[@]}" --switch-output-when='irq>1000s' -o "$work/data" -- true \
	2> "$work/record.err" ||
	skip "$(grep -m 1 'Cannot judge' "$work/record.err" || tail -n 1 "$work/record.err")"

# Other tests may run the helper, too.
delays=$work/dly$$
ln -s "$BUILD/tests/delays" "$delays"
comm=${delays##*/}
who=$comm	# the thread that has the delays

# Events where the programs of all conditions on tasks run
recorded=(-e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -e sched:sched_switch
	-e sched:sched_wakeup -e sched:sched_wakeup_new)

# Do programs that judge durations run after those that write events, if BPF writes these?
runs_after_recorded() {
	! grep -q 'sched_switch is written by BPF' "$work/record.err" ||
		grep -q 'runs after the program that writes' "$work/record.err"
}

# start CONDITION [record options]
start() {
	rm -f "$work"/data*
	recorder_start "${events[@]}" -v -o "$work/data" --switch-output-when="$1 if comm==$who" \
		"${@:2}"
}

# make KIND MS...: let the helper make delays
make() {
	"$delays" "$@" > "$work/truth" || fatal "delays $*: status $?"
}

nr_reported() {
	(($(grep -c " if comm==$who: $who (pid" "$work/record.err") >= $1))
}

# check MS [MAX_ERROR_US]: compare the reports with the truth
check() {
	local status

	sleep 0.2	# a report that is wrong would arrive late
	recorder_stop
	"$tests_dir/shell/lib/delays_check.py" "$1" "$work/truth" "$work/record.err" "${@:2}" \
		> "$work/check"
	status=$?
	sed 's/^/# /' "$work/check"
	[ $status = 2 ] && inconclusive "no delay is surely above the threshold, or none below"
	[ $status = 1 ] || return
	if grep -q 'the kernel skipped the programs' "$work/record.err"; then
		inconclusive "the kernel skipped programs, and the summary says so"
	else
		error "the reports differ from the truth"
	fi
}

# Delays below, above, below ...; primes
lengths=(2 41 3 61 5 67 2 43 3 5 59)

# compare CONDITION KIND THRESHOLD_MS [record options]: record while the helper makes delays of
# @lengths
# KIND may be several words.
compare() {
	local kind

	read -ra kind <<< "$2"
	start "$1>$3ms" "${@:4}"
	make "${kind[@]}" "${lengths[@]}"
	check "$3"
}
