#!/bin/bash
# perf record --bpf-ring: perf's rings take over where BPF is not to be had, and nothing stays behind
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 200
# tags: parallel long

# shellcheck source=lib/bpf_events.sh
. "$(dirname "$0")/lib/bpf_events.sh"

need_bpf_ring -a -e "$enter/overwrite/"

record=("$PERF" record -v -a -o "$work/data" -e "$enter/overwrite/")

# perf_takes_over TEXT COMMAND...: the command runs "$@" with a limit, for which TEXT is the reason
perf_takes_over() {
	local text=$1

	shift
	"$@" "${record[@]}" --bpf-ring=auto -- true 2> "$work/record.err" ||
		error "perf record failed"
	grep -qF "$text" "$work/record.err" || error "not the reason: $text"
	! grep -qF "rings written by BPF" "$work/record.err" || error "BPF writes"
	fields "$work/data" event | grep -q "$enter" || error "no $enter"
	"$@" "${record[@]}" --bpf-ring=yes -- true 2> "$work/record.err" &&
		error "'yes' is not refused"
	reports -F -- "--bpf-ring=yes: no event can be written by BPF: $text"
}

subtest "without the capability to load programs"
without_bpf=(setpriv '--bounding-set=-sys_admin,-bpf')
if "${without_bpf[@]}" "${record[@]}" --bpf-ring=no -- true 2> "$work/record.err"; then
	perf_takes_over "this user may not load BPF programs" "${without_bpf[@]}"
else
	inconclusive "this kernel.perf_event_paranoid wants CAP_SYS_ADMIN"
fi

subtest "in a PID namespace"
perf_takes_over "perf is in a PID namespace" unshare --pid --fork --mount-proc

subtest "without BTF"
# shellcheck disable=SC2016 # expanded by that shell
perf_takes_over "the kernel has no BTF" unshare --mount sh -c '
	mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh

subtest "with little locked memory"
if (($(uname -r | cut -d. -f1) > 5)); then
	(ulimit -l 64 && "${record[@]}" --bpf-ring=yes -- true 2> "$work/record.err") ||
		error "perf record failed"
else
	inconclusive "memory of BPF counts as locked before Linux 5.11"
fi

# start_and_end SIGNAL: note in @objects what the recorder held
objects=()
start_and_end() {
	recorder_start -a --bpf-ring=yes -e "$enter/overwrite/" -o "$work/data"
	read -r -a held <<< "$("${tests_dir}/shell/lib/bpf_objects.py" held "$recorder")"
	[[ " ${held[*]}" == *" prog:"* ]] || error "the recorder holds no program"
	[[ " ${held[*]}" == *" link:"* ]] || error "the recorder holds no link"
	objects+=("${held[@]}")
	if [ "$1" = KILL ]; then
		kill -KILL "$recorder"
		wait "$recorder" 2> /dev/null
	else
		recorder_stop
	fi
}

all_objects_gone() {
	existing=$("${tests_dir}/shell/lib/bpf_objects.py" existing "${objects[@]}")
	[ -z "$existing" ]
}

# The kernel frees programs and maps after a grace period.
expect_all_gone() {
	wait_until 20 all_objects_gone || error "still there: $existing"
}

subtest "programs, links and maps end with a recorder that is killed"
start_and_end KILL
expect_all_gone

subtest "repeated starts leave nothing behind"
for ((i = 0; i < ${NIGHT:+100}0 + 5; i++)); do
	start_and_end INT
done
expect_all_gone
note "$i starts, ${#objects[@]} objects"

finish
