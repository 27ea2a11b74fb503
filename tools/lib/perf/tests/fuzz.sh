# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Run a fuzz target; sourced by fuzz_*.sh.
#
# fuzz PROGRAM CORPUS [libFuzzer's arguments]: without arguments, run for 5 seconds. With arguments,
# run as they specify; new inputs go to the directory PROGRAM-corpus, where the next run starts. Set
# $max_len if inputs are to be longer than some 400 bytes.
# An input that fails is kept as PROGRAM-crash-HASH (-timeout-, -oom-, -leak-).
fuzz() {
	program=$1
	corpus=$2
	artifacts=-artifact_prefix=$program-
	shift 2

	if [ $# = 0 ]; then
		mkdir new
		"$program" "$artifacts" -max_total_time=5 -max_len="${max_len:-400}" -timeout=10 \
			-seed=1 new "$corpus" >log 2>&1 || {
			status=$?
			cat log
			exit $status
		}
		tail -n 2 log
	else
		mkdir -p "$program-corpus"
		exec "$program" "$artifacts" -max_len="${max_len:-1000}" -timeout=10 "$@" \
			"$program-corpus" "$corpus"
	fi
}
