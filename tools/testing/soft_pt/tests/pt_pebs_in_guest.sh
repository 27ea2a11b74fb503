#!/bin/bash
# PEBS via PT by single-stepping: samples are of the instructions that they should be of, in the guest
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
#
# What a program without libc executes is written down by ptrace, each instruction as often as it is executed.
# With a period of p, sample i is of the instruction i * p in that list. Of programs with threads and children
# the list is what the decoder finds in the trace; pt_flow_in_guest.sh says that it is right. All runs on one
# CPU: there is an event for each.
# KERNEL is another build of the kernel than build/kernel.

# shellcheck source=../../vm/guest.sh
. "$(dirname "$(realpath "$0")")/../../vm/guest.sh"
bin=$BUILD/tests/soft_pt

# Addresses that are the same each time, and without SMAP: see pt_flow_in_guest.sh.
if [ "${1-}" != --inside ]; then
	need_guest
	[ -x "$bin/pebs_open" ] || no_tests "there is no pebs_open (make test-programs)"
	export VM_TIMEOUT=${VM_TIMEOUT:-860} VM_QEMU='-cpu max,vendor=GenuineIntel,-smap'
	exec "$TOP/tools/testing/vm/run" "$(printf '%q ' setarch -R taskset -c 1 "$(realpath "$0")" --inside)"
fi

# shellcheck source=../../../perf/tests/shell/lib/recording.sh
. "$BUILD/linux/tools/perf/tests/shell/lib/recording.sh"

trap 'tell; cleanup' EXIT
cd "$work" || exit

declare -A argument
argument[compat]=$bin/flow32_compat

# term PERIOD [MORE]
term() {
	echo "soft_pebs/inst_retired,aux-output,period=$1${2-}/u"
}

# Those that are in the trace, as in pt_flow_in_guest.sh. What ptrace sees of itself is the trap flag: hence 1.
stepped() {
	"$bin/pt_truth" -e "$bin/flow_$1" ${argument[$1]-} > stepped
	[ $? = 1 ] && grep -vxF -f <(nm "$bin/flow_$1" | sed -nE 's/^0*(.*) . (untraced|fault)_[0-9]+$/\1/p') stepped |
		grep -vxE '[0-9a-f]{8}' > "$1.truth" && wc -l "$1.truth"
}

each() {
	awk -v period="$2" 'NR % period == 0' "$1.truth"
}

# samples EVENT: addresses
samples() {
	"$decoder" script -i data --itrace=o -F event,ip 2> errors | awk -v event="$1" '$1 ~ event { print $2 }'
}

# sampled PROGRAM PERIOD
sampled() {
	"$recorder" record -q -e "{intel_pt//u,$(term "$2")}" -m ,8M -o data -- "$bin/flow_$1" ${argument[$1]-} || return
	samples soft_pebs > ips
	cat errors
	each "$1" "$2" > expected
	wc -l expected
	[ -s expected ] && cmp expected ips
}

sampled_with_periods() {
	local period recorder=$PERF decoder=$PERF

	for period in 1 7 100 997; do
		[ $period -gt "$(wc -l < "$1.truth")" ] || sampled "$1" $period || return
	done
}

# The flow is what it was: blocks of packets are in nobody's way.
same_flow() {
	"$PERF" record -q -e "{intel_pt//u,$(term 3)}" -m ,8M -o data -- "$bin/flow_$1" ${argument[$1]-} &&
		"$PERF" script -i data --itrace=i0nse -F ip 2> errors | awk '{ print $1 }' > ips
	cat errors
	! grep -q 'instruction trace error' errors && cmp "$1.truth" ips
}

# What was counted is what was executed.
counted() {
	local n

	n=$("$bin/pebs_open" "$bin/flow_$1") || return
	echo "$n of $(wc -l < "$1.truth")"
	[ "$n" = "$(wc -l < "$1.truth")" ]
}

# Whoever has no trace counts nothing, nor does he come back to life.
orphan() {
	local n

	n=$("$bin/pebs_open" -o "$bin/flow_branches") && echo "$n" && [ "$n" = 0 ]
}

# There is a shell before and behind it.
disabled() {
	local n

	n=$("$bin/pebs_open" -d sh -c "kill -STOP \$\$; kill -STOP \$\$; exec $bin/flow_branches") && echo "$n" &&
		((n > $(wc -l < branches.truth)))
}

refused() {
	"$bin/pebs_open"
}

# Both kinds of a block's end: into the kernel without a FUP
ends() {
	local recorder=$PERF decoder=$PERF

	sampled syscalls 1 && "$PERF" script -i data -D 2> errors | grep -o ' BEP IP:[01]' | sort | uniq -c > kinds
	cat kinds
	[ "$(wc -l < kinds)" = 2 ]
}

# Behind an instruction the register has the address of the next one, and other registers what it left there:
# "mov $90, %ebp" is the second of all; and a system call leaves its number in eax, and its address behind it in rcx.
registers() {
	"$PERF" record -q --intr-regs=ip,ax,bp,cx -e "{intel_pt//u,$(term 1)}" -m ,16M -o data -- "$bin/flow_branches" &&
		"$PERF" script -i data --itrace=o -F ip,iregs 2> errors > regs || return
	head -n 3 regs
	tail -n 1 regs
	[ "$(wc -l < regs)" = "$(wc -l < branches.truth)" ] &&
		[[ $(sed -n 2p regs) = *BP:0x5a* && $(tail -n 1 regs) = *AX:0xe7* ]] &&
		awk 'function reg(name, a) {
			match($0, name ":0x[0-9a-f]+")
			return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
		}
		known && $1 != next_ip { print NR ": not at " next_ip ": " $0; bad = 1; exit }
		{ known = $0 ~ / IP:/; next_ip = reg("IP"); n += known }
		END { print n " with registers"; exit bad || n < NR / 2 }' regs
}

# Two events in a group: where both are full, a block says so of both. Which is which the records tell.
two() {
	"$recorder" record -q -e "{intel_pt//u,$(term 6 ,name=six),$(term 10 ,name=ten)}" -m ,8M -o data -- "$bin/flow_branches" ||
		return
	"$decoder" script -i data -D 2> errors | grep -A 4 'AUX_OUTPUT_HW_ID'
	samples six > six
	cat errors
	samples ten > ten
	wc -l six ten
	each branches 6 | cmp - six && each branches 10 | cmp - ten
}

# spaced PERIOD [from]: of each thread there are so many instructions between two samples, and the sample is of
# the last; "from": before the first, too
spaced() {
	"$PERF" script -i data --itrace=i0nsoe -F tid,event,ip 2> errors > all
	! grep -h 'instruction trace error' all errors || [ -n "${lost-}" ] || return
	awk -v period="$1" -v from="${2-}" '
		$2 ~ /soft_pebs/ {
			samples++; of[$1]++
			if ((from != "" || of[$1] > 1) && n[$1] != period || last[$1] != $3) {
				print "sample " of[$1] " of " $1 " at " $3 " is " n[$1] " behind, last " last[$1]
				bad = 1; exit
			}
			n[$1] = 0
			next
		}
		{ instructions++; n[$1]++; last[$1] = $3 }
		END {
			for (tid in of) threads++
			print samples " samples of " threads " threads, " instructions " instructions"
			exit bad || !samples
		}' all
}

# Threads and children. Their contexts are swapped rather than scheduled: a count stays with its task.
tasks() {
	"$PERF" record -q -e "{intel_pt//u,$(term 97)}" -m ,8M -o data -- "$bin/flow_tasks" &&
		spaced 97 from && [ "$(awk '/soft_pebs/ { print $1 }' all | sort -u | wc -l)" -ge 4 ]
}

# A recorder that is stopped until the area is full: what is not traced is not counted.
full() {
	"$PERF" record -e "{intel_pt//u,$(term 101)}" -m ,16K -o data -- sh -c "kill -STOP \$PPID; \"$bin/flow_branches\"; kill -CONT \$PPID; \"$bin/flow_branches\"" 2> said
	cat said
	grep -q 'AUX data was lost' said && lost=1 spaced 101 from
}

echo "TAP version 13"
check "caps/software" grep 1 /sys/bus/event_source/devices/soft_pebs/caps/software
check "what can be opened, and what not" refused
for program in branches syscalls signals modes exec compat; do
	check "$program: stepped by ptrace" stepped $program
	check "$program: samples, with some periods" sampled_with_periods $program
	check "$program: flow" same_flow $program
done
check "branches: counted" counted branches
check "syscalls: counted" counted syscalls
check "the leader is closed" orphan
check "disabled and enabled" disabled
check "ends of blocks" ends
check "registers" registers
recorder=$PERF decoder=$PERF
check "two events" two
check "tasks" tasks
check "full" full
if /usr/bin/perf --version; then
	recorder=/usr/bin/perf
	check "two events, recorded by perf 6.1" two
	check "branches: recorded by perf 6.1" sampled branches 7
	decoder=/usr/bin/perf
	check "two events, recorded and decoded by perf 6.1" two
	check "branches: recorded and decoded by perf 6.1" sampled branches 7
fi
echo "1..$nr"
