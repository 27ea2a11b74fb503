#!/bin/bash
# perf record --bpf-ring: an event whose program has interrupted itself is counted as lost
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

# shellcheck source=lib/recorder.sh
. "$(dirname "$0")/lib/recorder.sh"
# shellcheck source=lib/balance.sh
. "$(dirname "$0")/lib/balance.sh"

need bpf_fault exceptions:page_fault_kernel

# faults: let the program interrupt itself
nr_faults=1009
faults() {
	local objects

	objects=$("${tests_dir}/shell/lib/bpf_objects.py" held "$recorder" | tr ' ' '\n' |
		grep 'prog:')
	[ "$(wc -l <<< "$objects")" = 1 ] || fatal "the recorder holds not one program: $objects"
	# shellcheck disable=SC2016 # expanded by that shell
	command=(sh -c '"$0" "$@" > "$FAULTS" || [ $? = 2 ]' "$BUILD/tests/bpf_fault"
		"${objects#prog:}" "$nr_faults")
}

# all_faults: the file has the page faults of the command once; as many that interrupted the program
# were lost
all_faults() {
	local begin end nr

	read -r begin end < "$FAULTS"
	nr=$(fields "$work/data" trace | grep -o 'address=0x[0-9a-f]*' |
		python3 -c '
import sys
first, end = (int(word, 0) for word in sys.argv[1:])
print(sum(first <= int(line.split("=")[1], 0) < end for line in sys.stdin))' "$begin" "$end")
	((nr == nr_faults)) || error "$nr page faults of $nr_faults are recorded"
	((lost >= nr_faults)) || error "$lost are lost, not $nr_faults"
}

export FAULTS=$work/faults
events=(exceptions:page_fault_kernel)
get_command() { faults; }
for terms in overwrite ""; do
	subtest "a program that interrupts itself: each miss is a lost event${terms:+ ($terms)}"
	balance "$terms" ""
	if grep -q '^Cannot' "$FAULTS"; then
		inconclusive "$(< "$FAULTS")"
	else
		all_faults
	fi
done

finish
