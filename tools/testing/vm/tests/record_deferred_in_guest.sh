#!/bin/bash
# perf record --call-graph fp,defer: stacks are in the rings and snapshots of their samples
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# tags: parallel
# needs: kernel

. "$(dirname "$(realpath "$0")")/../guest.sh"

if [ "${1-}" != --inside ]; then
	need_guest
	answer=$("${PERF:-$BUILD/perf/perf}" record --dry-run --call-graph fp,defer -e cpu-clock \
		-o "$(mktemp -u)" -- true 2>&1)
	[[ $answer != *"cannot read deferred user stacks"* ]] || skip_all "${answer%%$'\n'*}"
	boot_guest "$test_file" --inside
fi

. "$TOP/tools/perf/tests/shell/lib/recorder.sh"

trap 'print_check_output; cleanup' EXIT

deferring=(--call-graph 'fp,defer')
"$PERF" record -q "${deferring[@]}" -e cpu-clock -o "$work/probe" -- true 2> "$work/record.err" ||
	skip_all "$(tail -n 1 "$work/record.err")"
! grep -q 'cannot defer' "$work/record.err" || skip_all "this kernel cannot defer user stacks"

# The recorded program makes some 3,000 system calls. Each stack has at least the address in user
# space that made the call, which has 12 digits, in code with frame pointers or without.
calls=(dd if=/dev/zero of=/dev/null bs=1 count=1500)

# count FILE: set $samples to the number of samples, and $lacking to those for which perf script
# prints the cookie of the stack instead of a stack
count() {
	local stacks

	read -r samples lacking stacks \
		< <(perf_script "$PERF" "$1" -F comm,ip,sym 2> "$work/script.err" | awk '
		/^[^ \t]/ { samples++ }
		/\(cookie\)/ { lacking++; next }
		length($1) == 12 && !in_user { stacks++ }
		{ in_user = length($1) == 12 }
		END { print samples + 0, lacking + 0, stacks + 0 }')
	echo "${1##*/}: $samples samples, $lacking of them without a user stack, $stacks with one"
	((stacks == samples - lacking))
}

# reported LACKING SAMPLES: does the summary of a snapshot count so many?
reported() {
	grep ' samples lack' "$work/record.err"
	grep -q " $1 of $2 samples lack their user stack" "$work/record.err"
}

# kinds FILE: print the events whose rings get stacks
kinds() {
	"$PERF" evlist -v -i "$1" | grep 'defer_output: 1' | sed 's/: .*//'
}

streamed() {
	"$PERF" record "$@" "${deferring[@]}" -e raw_syscalls:sys_enter -o "$work/streamed" \
		-- "${calls[@]}" 2> "$work/record.err" && count "$work/streamed" || return
	[ "$(kinds "$work/streamed")" = raw_syscalls:sys_enter ] &&
		((samples > 3000 && lacking <= 1))
}

# The rings keep the last calls, and their stacks, except for calls during which a task ends, and
# where the task was moved.
overwritten() {
	"$PERF" record "$@" "${deferring[@]}" -m 64K -e raw_syscalls:sys_enter/overwrite/ \
		-o "$work/kept" -- \
		"${calls[@]}" 2> "$work/record.err" && count "$work/kept" || return
	[ "$(kinds "$work/kept")" = raw_syscalls:sys_enter ] && ((samples > 50 && lacking <= 5)) &&
		reported "$lacking" "$samples"
}

# A call that moves its task returns on the other CPU, whose ring overwrites the stack. The ring of
# the first CPU keeps the sample. The task writes more stacks: perf script must not take the cookie
# of the call for an address.
moved() {
	calls=(taskset -c 0 taskset -c 1 "${calls[@]}")
	overwritten -a && ((lacking > 0))
}

# The task waits for input: the stack of this call is still to come.
one_sleeps() {
	mkfifo "$work/fifo" "$work/ctl" "$work/ack"
	# shellcheck disable=SC2034 # it is open for dd to wait
	exec {fifo}<> "$work/fifo"
	"$PERF" record "${deferring[@]}" -e raw_syscalls:sys_enter/overwrite/ \
		--control "fifo:$work/ctl,$work/ack" -o "$work/sleeping" -- \
		dd if="$work/fifo" of=/dev/null 2> "$work/record.err" &
	exec {ctl}> "$work/ctl" {ack}< "$work/ack"
	wait_until 60 asleep || return
	echo snapshot >&"$ctl"
	read -rt 60 -u "$ack" || return
	reported 1 '[0-9]*' && grep -q 'stack: 1 of tasks' "$work/record.err" || return
	echo stop >&"$ctl"
	wait $!
	count "$work/sleeping"
	((samples > 10 && lacking <= 1))
}

# Interrupts between the stack and the return to user space make samples that share the stack.
shared() {
	local cookies later

	"$PERF" record "${deferring[@]}" -m 1M -F 20000 -e cpu-clock/overwrite/ -o "$work/shared" \
		-- dd if=/dev/zero of=/dev/null bs=1 count=60000 2> "$work/record.err" || return
	cookies=$(perf_script "$PERF" "$work/shared" -F comm,ip,sym 2> "$work/script.err" |
		grep -c '(cookie)')
	later=$(perf_script "$PERF" "$work/shared" --no-merge-callchains -F comm,event,ip,sym \
		2> "$work/script.err" | awk '
		/DEFERRED CALLCHAIN/ { sub(/.*cookie: /, ""); sub(/].*/, ""); written[$0] = 1 }
		/\(cookie\)/ { later += $1 in written }
		END { print later + 0 }')
	echo "$cookies samples without a user stack, $later after it"
	reported "$cookies" '[0-9]*' || return
	((later > 0)) || inconclusive "no sample came after its stack"
}

asleep() {
	local dd

	dd=$(pgrep -x dd) && grep -q '^0 ' "/proc/$dd/syscall"
}

echo "TAP version 13"
check "all streamed samples have their stack" streamed
check "those of all CPUs, too" streamed -a
check "overwritten samples have their stack" overwritten
check "those of all CPUs, too" overwritten -a
check "a sample without its stack shows the cookie" moved
check "samples after a stack share it" shared
check "the stack of a call in which the task sleeps is still to come" one_sleeps
echo "1..$nr"
