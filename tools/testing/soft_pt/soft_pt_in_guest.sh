#!/bin/bash
# Intel PT by single-stepping: libipt and perf find in a trace what was executed, in the guest
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
#
# Programs without libc are stepped by ptrace here; traced there, in full and overwrite mode, they do
# the same and exit with 0, which says that they saw no trap flag; and what libipt decodes equals what
# ptrace saw, instruction by instruction. KERNEL is another build of the kernel than build/kernel.

top=$(realpath "$(dirname "$(realpath "$0")")/../../..")
export TOP=${TOP:-$top} BUILD=${BUILD:-$top/build}
bin=$BUILD/tests/soft_pt
pmu=/sys/bus/event_source/devices/intel_pt

if [ "${1-}" != --inside ]; then
	skip() {
		echo "1..0 # SKIP $1"
		exit 4
	}
	[ -e "${KERNEL:-$BUILD/kernel}/arch/x86/boot/bzImage" ] || skip "there is no guest kernel (make kernel)"
	command -v qemu-system-x86_64 > /dev/null || skip "there is no qemu-system-x86_64 (make deps)"
	[ -x "$bin/pt_decode" ] || skip "there is no pt_decode (make test-programs)"
	export VM_TIMEOUT=${VM_TIMEOUT:-860}
	exec "$TOP/tools/testing/vm/run" "$(printf '%q ' "$(realpath "$0")" --inside)"
fi

work=$(mktemp -d)
# Not ours, which is in PATH before it.
perf() {
	/usr/bin/perf "$@"
}
cd "$work" || exit

nr=0
check() {
	local what=$1 not=

	shift
	nr=$((nr + 1))
	"$@" > said 2>&1 || not='not '
	echo "${not}ok $nr - $what"
	sed 's/^/# /' said
}

is() {
	local value

	value=$(cat "$pmu/$1")
	echo "$1: $value"
	[ "$value" = "$2" ]
}

announced() {
	dmesg | grep 'soft_pt: single-stepping stands in for Intel PT'
}

# What ptrace sees of itself is the trap flag: hence 1.
truth() {
	"$bin/pt_truth" "$bin/flow_$1" > "$1.truth"
	[ $? = 1 ] && wc -l "$1.truth"
}

# traced PROGRAM OPTION...
traced() {
	local program=$1

	shift
	"$bin/pt_record" "$@" "$program.pt" "$bin/flow_$program" > heads || return
	cat heads
	ls -l "$program.pt"
	grep -q 'truncated 0' heads
}

decoded() {
	"$bin/pt_decode" "$1.pt" "$bin/flow_$1" > "$1.flow"
}

equal() {
	decoded "$1" || return
	diff "$1.truth" "$1.flow" | head -20
	cmp "$1.truth" "$1.flow"
}

# What an area holds that was gone round in is the end of the flow.
ends_equal() {
	local lines

	decoded "$1" || return
	lines=$(wc -l < "$1.flow")
	echo "$lines of $(wc -l < "$1.truth")"
	[ "$lines" -gt 100 ] && [ "$lines" -lt "$(wc -l < "$1.truth")" ] &&
		tail -n "$lines" "$1.truth" | cmp - "$1.flow"
}

# perf 6.1 records; both that and ours decode it.
perf_records() {
	perf record -q -e intel_pt//u -m 64,1024 -o data -- "$bin/flow_branches"
}

perf_decodes() {
	"$1" script -i data --itrace=i0nse -F ip 2> errors | awk '{ print $1 }' | uniq > ips
	cat errors
	! grep -q 'instruction trace error' errors && cmp branches.truth ips
}

# Of programs with threads and children: nothing that cannot be decoded.
perf_without_errors() {
	"$PERF" script -i data --itrace=i1000nse 2>&1 > /dev/null | tee errors
	"$PERF" script -i data --itrace=i1000ns -F comm,ip,sym 2> /dev/null | wc -l
	"$PERF" script -i data --itrace=e 2>&1 | grep 'instruction trace error' && return 1
	! grep -i 'error' errors
}

perf_traces() {
	perf record -q -e intel_pt//u -m 64,4096 -o data -- "$@" && perf_without_errors
}

# Who is stepped by a debugger is not traced meanwhile, and the debugger sees what it saw before.
debugger() {
	perf record -q -e intel_pt//u -m 64,1024 -o data -- "$bin/pt_truth" "$bin/flow_signals" > stepped
	[ $? = 1 ] && cmp signals.truth stepped
}

# On a branch, on what pushes, and on what is executed elsewhere.
uprobes() {
	local events=/sys/kernel/tracing symbol offset

	mount -t tracefs none $events 2> /dev/null
	for symbol in fibonacci one four; do
		offset=$(nm "$bin/flow_branches" | awk -v s=$symbol '$3 == s { print $1 }')
		echo "p:soft_pt/$symbol $bin/flow_branches:0x$(printf %x $((0x$offset - 0x400000)))"
	done > $events/uprobe_events
	echo 1 > $events/events/soft_pt/enable
	traced branches
	local status=$?
	grep -c 'fibonacci\|one\|four' $events/trace
	echo 0 > $events/events/soft_pt/enable
	echo > $events/uprobe_events
	[ $status = 0 ] && decoded branches && [ "$(wc -l < branches.flow)" -gt 10000 ]
}

# The program of synth.c; prints what pt_decode says.
synthetic() {
	printf '\203\351\001\165\373\271\006\000\000\000\377\340' > image
	"$bin/pt_record" "$@" synth.pt && "$bin/pt_decode" synth.pt image 0x400000 > /dev/null
}

synthetic_whole() {
	synthetic -c 50000 -n 3 | grep 'truncated 0'
}

synthetic_wrapped() {
	synthetic -c 3000 -n 7 -s -p 1
}

# Without a reader: full, and not overflowed, as nothing comes behind.
synthetic_full() {
	synthetic -c 3000 -n 7 -p 1 | grep 'truncated [1-9]'
}

refused() {
	! perf record -q -e intel_pt// -o data -- true && dmesg | grep 'soft_pt: cannot trace the kernel'
}

echo "TAP version 13"
check "announced in the log" announced
check "caps/software" is caps/software 1
for program in branches syscalls signals; do
	check "$program: stepped by ptrace" truth $program
	check "$program: traced" traced $program
	check "$program: flow" equal $program
done
check "tasks: traced" traced tasks
check "tasks: flow" decoded tasks
check "branches: traced, one page gone round in" traced branches -s -p 1
check "branches: the end of the flow" ends_equal branches
check "synthetic: whole" synthetic_whole
check "synthetic: gone round" synthetic_wrapped
check "synthetic: full" synthetic_full
check "branches: with uprobes" uprobes
if perf --version > said 2>&1; then
	check "branches: perf 6.1 records" perf_records
	check "branches: perf 6.1 decodes" perf_decodes /usr/bin/perf
	check "branches: our perf decodes" perf_decodes "$PERF"
	check "the kernel is not traced" refused
	check "tasks: traced with all that inherit" perf_traces "$bin/flow_tasks"
	check "a shell and its children" perf_traces sh -c '/bin/true; (exit 0); /bin/echo done'
	check "signals: stepped by ptrace while traced" debugger
else
	for what in records decodes inherits debugger 'kernel is not traced'; do
		nr=$((nr + 1))
		echo "ok $nr - perf 6.1: $what # SKIP there is no perf 6.1 (linux-perf)"
	done
fi
echo "1..$nr"
rm -r "$work"
[ "$nr" -gt 0 ]
