#!/bin/bash
# soft_pebs: each sample in the trace is of exactly the instruction that the period selects
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
# tags: parallel night
# needs: kernel
#
# ptrace writes the list of instructions that a program without libc executes. With a period of p,
# sample i is of instruction i * p in that list. For programs with threads and children the list is
# what the decoder finds in the trace, which pt_flow_in_guest.sh verifies. Everything runs on one
# CPU, because there is an event for each CPU. KERNEL is another build of the kernel than
# build/kernel.

. "$(dirname "$(realpath "$0")")/../../vm/guest.sh"
bin=$BUILD/tests/soft_pt

# setarch -R and -smap: see pt_flow_in_guest.sh.
if [ "${1-}" != --inside ]; then
	need_guest
	[ -x "$bin/pebs_open" ] || skip_all "no pebs_open (make test-programs)"
	export VM_TIMEOUT=${VM_TIMEOUT:-860} VM_QEMU='-cpu max,vendor=GenuineIntel,-smap'
	boot_guest setarch -R taskset -c 1 "$test_file" --inside
fi

. "$TOP/tools/perf/tests/shell/lib/recorder.sh"

trap 'print_check_output; cleanup' EXIT
cd "$work" || exit

declare -A argument
argument[compat]=$bin/flow32_compat

# term PERIOD [TERMS]: print the event
term() {
	echo "soft_pebs/inst_retired,aux-output,period=$1${2-}/u"
}

# Write the instructions that the trace contains to PROGRAM.truth, as in pt_flow_in_guest.sh.
# ptrace itself makes the trap flag visible: hence exit status 1.
stepped() {
	"$bin/pt_truth" -e "$bin/flow_$1" ${argument[$1]-} > stepped
	[ $? = 1 ] || return
	nm "$bin/flow_$1" | sed -nE 's/^0*(.*) . (untraced|fault)_[0-9]+$/\1/p' > not_traced
	grep -vxF -f not_traced stepped | grep -vxE '[0-9a-f]{8}' > "$1.truth" &&
		wc -l "$1.truth"
}

# each PROGRAM PERIOD: print the instructions of which there must be a sample
each() {
	awk -v period="$2" 'NR % period == 0' "$1.truth"
}

# samples EVENT: print the addresses of its samples in $PWD/data
samples() {
	perf_script "$decoder" data --itrace=o -F event,ip 2> errors |
		awk -v event="$1" '$1 ~ event { print $2 }'
}

# sampled PROGRAM PERIOD
sampled() {
	"$recorder" record -q -e "{intel_pt//u,$(term "$2")}" -m ,8M -o data -- \
		"$bin/flow_$1" ${argument[$1]-} || return
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

# The blocks of packets do not change the decoded flow.
same_flow() {
	"$PERF" record -q -e "{intel_pt//u,$(term 3)}" -m ,8M -o data -- \
		"$bin/flow_$1" ${argument[$1]-} &&
		perf_script "$PERF" data --itrace=i0nse -F ip 2> errors | awk '{ print $1 }' > ips
	cat errors
	! grep -q 'instruction trace error' errors && cmp "$1.truth" ips
}

# The count equals the number of executed instructions.
counted() {
	local n

	n=$("$bin/pebs_open" "$bin/flow_$1") || return
	echo "$n of $(wc -l < "$1.truth")"
	[ "$n" = "$(wc -l < "$1.truth")" ]
}

# An event whose leader was closed counts nothing, and cannot be enabled again.
orphan() {
	local n

	n=$("$bin/pebs_open" -o "$bin/flow_branches") && echo "$n" && [ "$n" = 0 ]
}

# The count includes the instructions of the shell.
disabled() {
	local n

	n=$("$bin/pebs_open" -d sh -c \
		"kill -STOP \$\$; kill -STOP \$\$; exec $bin/flow_branches") && echo "$n" &&
		((n > $(wc -l < branches.truth)))
}

attributes() {
	"$bin/pebs_open"
}

# Both kinds of BEP: without a FUP if the instruction enters the kernel
ends() {
	local recorder=$PERF decoder=$PERF

	sampled syscalls 1 || return
	perf_script "$PERF" data -D 2> errors | grep -o ' BEP IP:[01]' | sort | uniq -c > kinds
	cat kinds
	[ "$(wc -l < kinds)" = 2 ]
}

# The registers of a sample are those after its instruction: IP is the address of the next one. The
# second instruction is "mov $90, %ebp". The last one is a system call, with its number in eax and
# its return address in rcx.
registers() {
	"$PERF" record -q --intr-regs=ip,ax,bp,cx -e "{intel_pt//u,$(term 1)}" -m ,16M -o data -- \
		"$bin/flow_branches" &&
		perf_script "$PERF" data --itrace=o -F ip,iregs 2> errors > regs || return
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

# Two events in a group: when both overflow at once, one block is for both.
# PERF_RECORD_AUX_OUTPUT_HW_ID tells which counter belongs to which event.
two() {
	"$recorder" record -q -e "{intel_pt//u,$(term 6 ,name=six),$(term 10 ,name=ten)}" \
		-m ,8M -o data -- "$bin/flow_branches" || return
	perf_script "$decoder" data -D 2> errors | grep -A 4 'AUX_OUTPUT_HW_ID'
	samples six > six
	cat errors
	samples ten > ten
	wc -l six ten
	each branches 6 | cmp - six && each branches 10 | cmp - ten
}

# spaced PERIOD [from]: for each thread there are that many instructions between two samples, and
# the sample is of the last one; with "from", also before the first sample
spaced() {
	perf_script "$PERF" data --itrace=i0nsoe -F tid,event,ip 2> errors > all
	! grep -h 'instruction trace error' all errors || [ -n "${lost-}" ] || return
	awk -v period="$1" -v from="${2-}" '
		$2 ~ /soft_pebs/ {
			samples++; of[$1]++
			if ((from != "" || of[$1] > 1) && n[$1] != period || last[$1] != $3) {
				print "sample " of[$1] " of " $1 " at " $3 ": distance " n[$1] \
					", last instruction " last[$1]
				bad = 1; exit
			}
			n[$1] = 0
			next
		}
		{ instructions++; n[$1]++; last[$1] = $3 }
		END {
			for (tid in of) threads++
			print samples " samples of " threads " threads, " \
				instructions " instructions"
			exit bad || !samples
		}' all
}

# Threads and children: the rest of a period stays with its task.
tasks() {
	"$PERF" record -q -e "{intel_pt//u,$(term 97)}" -m ,8M -o data -- "$bin/flow_tasks" &&
		spaced 97 from &&
		[ "$(awk '/soft_pebs/ { print $1 }' all | sort -u | wc -l)" -ge 4 ]
}

# Stop the recorder until the area is full: instructions that are not traced are not counted.
full() {
	"$PERF" record -e "{intel_pt//u,$(term 101)}" -m ,16K -o data -- sh -c "kill -STOP \$PPID
		\"$bin/flow_branches\"; kill -CONT \$PPID; \"$bin/flow_branches\"" 2> record.err
	cat record.err
	grep -q 'AUX data was lost' record.err && lost=1 spaced 101 from
}

echo "TAP version 13"
check "caps/software" grep 1 /sys/bus/event_source/devices/soft_pebs/caps/software
check "valid and invalid attributes and groups" attributes
for program in branches syscalls signals modes exec compat; do
	check "$program: stepped by ptrace" stepped $program
	check "$program: samples with several periods" sampled_with_periods $program
	check "$program: flow" same_flow $program
done
check "branches: counted" counted branches
check "syscalls: counted" counted syscalls
check "group leader closed" orphan
check "event disabled and enabled" disabled
check "ends of blocks (BEP)" ends
check "registers" registers
recorder=$PERF decoder=$PERF
check "two events" two
check "threads and children" tasks
check "full area" full
if /usr/bin/perf --version; then
	recorder=/usr/bin/perf
	check "two events, recorded by perf 6.1" two
	check "branches: recorded by perf 6.1" sampled branches 7
	decoder=/usr/bin/perf
	check "two events, recorded and decoded by perf 6.1" two
	check "branches: recorded and decoded by perf 6.1" sampled branches 7
fi
echo "1..$nr"
