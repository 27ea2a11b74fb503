#!/bin/bash
# soft_pt: libipt and perf decode exactly the instructions that were executed
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
# tags: parallel long
# needs: kernel
#
# The expected instructions of programs without libc come from ptrace in the guest, or from the log
# of QEMU's user emulation, which does not depend on our kernel. Traced, in full and overwrite
# mode, the programs execute the same and exit with 0, which means that they saw no trap flag. What
# libipt and perf decode must equal that, instruction by instruction. KERNEL is another build of
# the kernel than build/kernel.

. "$(dirname "$(realpath "$0")")/../../vm/guest.sh"
bin=$BUILD/tests/soft_pt
pmu=/sys/bus/event_source/devices/intel_pt

# setarch -R: the same addresses in each run. Without SMAP: QEMU 7.2 treats the stack accesses of a
# far return in user space as accesses of the kernel.
if [ "${1-}" != --inside ]; then
	need_guest
	[ -x "$bin/pt_decode" ] || skip_all "no pt_decode (make test-programs)"
	export VM_TIMEOUT=${VM_TIMEOUT:-860} VM_QEMU='-cpu max,vendor=GenuineIntel,-smap'
	boot_guest setarch -R "$test_file" --inside
fi

. "$TOP/tools/perf/tests/shell/lib/recorder.sh"

trap 'print_check_output; cleanup' EXIT
# Debian's perf; PATH has ours before it.
perf() {
	/usr/bin/perf "$@"
}
cd "$work" || exit

declare -A argument images	# of a program: its argument, and code in addition to its file
argument[compat]=$bin/flow32_compat

is() {
	local value

	value=$(cat "$pmu/$1")
	echo "$1: $value"
	[ "$value" = "$2" ]
}

announced() {
	dmesg | grep 'soft_pt: emulating Intel PT by single-stepping'
}

# in_trace PROGRAM: of the addresses on stdin, print those that the trace contains (see flow.h).
# Addresses with eight digits are those of 32-bit code and its vdso.
in_trace() {
	grep -vxF -f <(nm "$bin/flow_$1" | sed -nE 's/^0*(.*) . (untraced|fault)_[0-9]+$/\1/p') |
		grep -vxE '[0-9a-f]{8}' | uniq
}

# ptrace itself makes the trap flag visible: hence exit status 1. Stepping on one CPU is several
# times faster.
stepped() {
	taskset -c 1 "$bin/pt_truth" "$bin/flow_$1" ${argument[$1]-} > stepped
	[ $? = 1 ] && in_trace "$1" < stepped > "$1.truth" && wc -l "$1.truth"
}

# On the host: an emulator in the emulated guest takes much longer. The first variable makes QEMU 7
# run one instruction at a time, the second QEMU 8.1 and later; each ignores the other.
emulated() {
	on_host env QEMU_SINGLESTEP=1 QEMU_ONE_INSN_PER_TB=1 setarch -R qemu-x86_64 \
		-U QEMU_SINGLESTEP,QEMU_ONE_INSN_PER_TB -d exec,nochain -D "$VM_OUT/log" \
		"$bin/flow_$1" ||
		return
	sed -nE 's,^Trace .*\[[^/]*/0*([0-9a-f]+)/.*,\1,p' "$VM_OUT/log" |
		in_trace "$1" > "$1.truth" &&
		wc -l "$1.truth"
}

# traced PROGRAM OPTION...
traced() {
	local program=$1

	shift
	"$bin/pt_record" "$@" "$program.pt" "$bin/flow_$program" ${argument[$program]-} \
		> heads || return
	echo "$(< heads)"
	[[ $(< heads) = *'truncated 0'* ]]
}

decoded() {
	"$bin/pt_decode" "$1.pt" "$bin/flow_$1" ${images[$1]-} > "$1.flow"
}

equal() {
	decoded "$1" || return
	cmp "$1.truth" "$1.flow" && return
	diff "$1.truth" "$1.flow" | head -20
	return 1
}

# same_output PROGRAM: what it prints to stderr is the same with and without a trace
same_output() {
	"$bin/flow_$1" "${argument[$1]}" 2> alone &&
		"$bin/pt_record" "$1.pt" "$bin/flow_$1" "${argument[$1]}" 2> traced &&
		cat alone && [ "$(wc -l < alone)" = 2 ] && cmp alone traced
}

# Find the address and the code of the vdso, and the offset of the function to call.
vdso() {
	local at

	"$bin/flow_vdso" > vdso.out || return
	at=0x$(od -An -t x8 -N 8 vdso.out | tr -d ' ')
	tail -c +9 vdso.out > vdso.image
	images[vdso]=vdso.image@$at
	argument[vdso]=$((0x$(nm -D vdso.image | sed -n 's/ . __vdso_getcpu.*//p')))
	echo "${images[vdso]} ${argument[vdso]}"
	((argument[vdso] > 0))
}

# The trace must show that sequences are aborted and restarted. They may be restarted more often
# than necessary. Linux 7.3 does not abort the second sequence unless an interrupt hits it: the task
# sleeps three times then.
restarted() {
	decoded rseq || return
	nm "$bin/flow_rseq" | sed -E 's/^0*//' |
		awk 'NR == FNR { name[$1] = $3 }
			NR != FNR && $1 in name { print name[$1] }' - rseq.flow |
		grep -xE 'inside|look_handler|aborted|asleep|woken' | tr '\n' ' ' > names
	cat names
	local abort='((inside )?aborted )*inside look_handler aborted' second='(asleep )*woken '

	[[ $(uname -r) = 6.12.* ]] || second="($second|(asleep ){3})"
	[[ $(< names) =~ ^($abort $second)+$ ]] && [[ $(< names) = *asleep* ]]
}

# A wrapped area contains the end of the flow. Decoders begin at a PSB, of which there is one every
# 2 kB. So the decoded share of the flow is that of the bytes in the area, except for the first
# ones.
ends_equal() {
	local lines all held written

	decoded "$1" || return
	lines=$(wc -l < "$1.flow") all=$(wc -l < "$1.truth") held=$(stat -c %s "$1.pt")
	written=$(sed 's/.* written \([0-9]*\) .*/\1/' heads)
	echo "$lines of $all"
	((held < written && lines > 100 && lines < all && lines * written > all * (held - 4096))) &&
		tail -n "$lines" "$1.truth" | cmp - "$1.flow"
}

address() {
	nm "$bin/flow_syscalls" | sed -n "s/^0*\(.*\) . $1\$/\1/p"
}

# The kernel takes seconds to list its symbols here.
kernel_address() {
	[ -e kallsyms ] || grep -E ' (__x64_sys|soft_pt)_' /proc/kallsyms > kallsyms
	awk -v name="$1" '$3 == name { print $1 }' kallsyms
}

# before LABEL BYTES: print the address that many bytes before LABEL
before() {
	printf %x $((0x$(address "$1") - $2))
}

# paused PAUSE RESUME BREAKPOINT RESUMER: trace flow_syscalls, a loop, with breakpoints that pause
# and resume the trace. It must not contain what is executed after the instruction at PAUSE, up to
# the one at RESUME.
paused() {
	traced syscalls -a "$3" -r "$4" && decoded syscalls &&
		awk -v pause="$1" -v resume="$2" '
			!paused { print }
			$1 == pause { paused = 1 }
			$1 == resume { paused = 0 }' syscalls.truth > expected && wc -l expected &&
		cmp expected syscalls.flow
}

# "or" has 3 bytes and "syscall" 2. Breakpoints in the kernel interrupt it as NMIs do.
paused_by_system_call() {
	paused "$(before closed 5)" "$(before yielded 5)" "$(kernel_address __x64_sys_close)" \
		"$(kernel_address __x64_sys_sched_yield)"
}

paused_by_program() {
	paused "$(before closed 3)" "$(before yielded 5)" "$(address closed)" \
		"$(kernel_address __x64_sys_sched_yield)"
}

paused_while_written() {
	paused "$(address again)" "$(before closed 5)" "$(kernel_address soft_pt_tnt)" \
		"$(kernel_address __x64_sys_close)"
}

# Pause in each function of the driver: what the trace contains, which is not all, can be decoded
# and was executed in that order.
paused_anywhere() {
	local name

	for name in insn_read area_has_space area_write psb_is_due tsc tnt pge pgd fup_pgd; do
		traced syscalls -a "$(kernel_address soft_pt_$name)" \
			-r "$(kernel_address __x64_sys_close)" &&
			decoded syscalls && wc -l syscalls.flow && awk '
				NR == FNR { truth[NR] = $1; nr = NR; next }
				{ do at++; while (at <= nr && truth[at] != $1) }
				END { exit at > nr || FNR >= nr }' \
				syscalls.truth syscalls.flow || return
	done
}

# perf 6.1 records; perf 6.1 and ours decode.
perf_records() {
	perf record -q -e intel_pt//u -m 64,1024 -o data -- "$bin/flow_$1" ${argument[$1]-}
}

perf_decodes() {
	"$2" script -i data --itrace=i0nse -F ip 2> errors | awk '{ print $1 }' | uniq > ips
	cat errors
	! grep -q 'instruction trace error' errors && cmp "$1.truth" ips
}

# For programs with threads and children: everything can be decoded.
perf_without_errors() {
	"$PERF" script -i data --itrace=i1000nse 2>&1 > /dev/null | tee errors
	"$PERF" script -i data --itrace=i1000ns -F comm,ip,sym 2> /dev/null | wc -l
	"$PERF" script -i data --itrace=e 2>&1 | grep 'instruction trace error' && return 1
	! grep -i 'error' errors
}

perf_traces() {
	perf record -q -e intel_pt//u -m 64,4096 -o data -- "$@" && perf_without_errors
}

# A task that a debugger steps is not traced meanwhile, and the debugger sees the same as without a
# trace.
debugger() {
	perf record -q -e intel_pt//u -m 64,1024 -o data -- \
		"$bin/pt_truth" "$bin/flow_signals" > stepped
	[ $? = 1 ] && cmp signals.truth stepped
}

# A breakpoint stops a traced program as often as an untraced one. Watchpoints are not tested: QEMU
# 7.2 hangs when a single step hits one.
stops() {
	local address

	address=$(nm "$bin/flow_branches" | sed -n 's/ . one$//p')
	"$bin/pt_truth" -b "$address" "$bin/flow_branches" > alone && wc -l alone &&
		[ -s alone ] && perf record -q -e intel_pt//u -m 64,4096 -o data -- \
			"$bin/pt_truth" -b "$address" "$bin/flow_branches" > stopped &&
		cmp alone stopped && perf_without_errors
}

# Take the lock of the memory of flow_branches again and again, until a file is there: the kernel
# resets the peak of its memory. The task then sleeps before its uprobes are handled.
lock_memory() {
	local process

	until [ -e "$1" ]; do
		process=$(pgrep -x flow_branches) || continue
		until [ -e "$1" ] || ! echo 5 > "/proc/$process/clear_refs"; do
			:
		done
	done 2> /dev/null
}

# Uprobes on a branch, on an instruction that pushes, and on one that is executed out of line.
# uprobes [lock]: lock the memory of the program meanwhile
uprobes() {
	local events=/sys/kernel/tracing symbol offset status

	mount -t tracefs none $events 2> /dev/null
	for symbol in fibonacci one four; do
		offset=$(nm "$bin/flow_branches" | awk -v s=$symbol '$3 == s { print $1 }')
		echo "p:soft_pt/$symbol $bin/flow_branches:0x$(printf %x $((0x$offset - 0x400000)))"
	done > $events/uprobe_events
	echo 1 > $events/events/soft_pt/enable
	rm -f ended
	[ $# = 0 ] || lock_memory ended &
	traced branches
	status=$?
	touch ended
	wait $!
	grep -c 'fibonacci\|one\|four' $events/trace
	echo 0 > $events/events/soft_pt/enable
	echo > $events/uprobe_events
	[ $status = 0 ] && decoded branches && [ "$(wc -l < branches.flow)" -gt 10000 ]
}

# Disable the event while the program is in user space: the trace contains what was executed until
# then, and ends with a TIP.PGD.
disabled_while_it_runs() {
	"$bin/pt_record" -s -i 50 spin.pt "$bin/flow_spin" > heads
	[ $? = 137 ] && cat heads && decoded spin && wc -l spin.flow
}

# The built-in loop of synth.c; print what pt_record prints.
synthetic() {
	printf '\203\351\001\165\373\271\006\000\000\000\377\340' > image
	"$bin/pt_record" "$@" synth.pt && "$bin/pt_decode" synth.pt image@0x400000 > /dev/null
}

synthetic_whole() {
	synthetic -c 50000 -n 3 | grep 'truncated 0'
}

synthetic_wrapped() {
	synthetic -c 3000 -n 7 -s "$@"
}

# Without a reader the area becomes full. There is no OVF packet, because no trace follows.
synthetic_full() {
	synthetic -c 3000 -n 7 -p 1 | grep 'truncated [1-9]'
}

refused() {
	! perf record -q -e intel_pt// -o data -- true &&
		dmesg | grep 'soft_pt: cannot trace the kernel'
}

echo "TAP version 13"
check "message in the kernel log" announced
check "caps/software" is caps/software 1
check "image of the vdso" vdso
# Stepping the many instructions of "branches" takes long; QEMU executes it as well.
for program in branches syscalls signals modes exec compat vdso; do
	[ $program = branches ] && check=check_long || check=check
	$check "$program: stepped by ptrace" stepped $program
	$check "$program: traced" traced $program
	$check "$program: flow" equal $program
done
for program in branches syscalls signals flags; do
	check "$program: executed by QEMU" emulated $program
	check "$program: traced" traced $program
	check "$program: flow" equal $program
done
check "rseq: traced" traced rseq
check "rseq: flow" restarted
check "tasks: traced" traced tasks
check "tasks: flow" decoded tasks
for pages in 1 3; do
	check "branches: traced, wrapped area, pages: $pages" traced branches -s -p $pages
	check "branches: the end of the flow" ends_equal branches
done
check "branches: traced, 1000 pages" traced branches -p 1000
check "branches: flow" equal branches
check "spin: event disabled while it runs" disabled_while_it_runs
check "synthetic: whole" synthetic_whole
check "synthetic: wrapped" synthetic_wrapped -p 1
check "synthetic: wrapped, 3 pages" synthetic_wrapped -p 3
check "synthetic: full" synthetic_full
check "branches: with uprobes" uprobes
check "branches: with uprobes, and a lock that they wait for" uprobes lock
check "compat: the output equals that of the untraced program" same_output compat
check "syscalls: paused and resumed by system calls" paused_by_system_call
check "syscalls: paused by a breakpoint in the program" paused_by_program
check "syscalls: paused in the middle of a step" paused_while_written
check_long "syscalls: paused anywhere" paused_anywhere
if perf --version > version 2>&1; then
	for program in branches signals flags modes exec compat vdso; do
		[ $program != branches ] && check=check_long || check=check
		$check "$program: perf 6.1 records" perf_records $program
		$check "$program: perf 6.1 decodes" perf_decodes $program /usr/bin/perf
		$check "$program: our perf decodes" perf_decodes $program "$PERF"
	done
	check "the kernel is not traced" refused
	check "tasks: inherited events" perf_traces "$bin/flow_tasks"
	check_long "a shell and its children" perf_traces sh \
		-c '/bin/true; (exit 0); /bin/echo done'
	check_long "signals: stepped by ptrace while traced" debugger
	check_long "branches: a debugger's breakpoint while traced" stops
else
	for what in records decodes inherits debugger 'kernel is not traced'; do
		nr=$((nr + 1))
		echo "ok $nr - perf 6.1: $what # SKIP no perf 6.1 (linux-perf)"
	done
fi
echo "1..$nr"
