#!/bin/bash
# soft_pt: load the module into an unmodified kernel, trace, and unload it at any time
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
# tags: parallel night
# needs: upstream-kernel
#
# The module stays as long as a program is traced. After the last recorder was killed it can be
# unloaded, and the program goes on: SIGTRAP would kill a task that is still single-stepped, and
# stress.c checks the trap flag. Threads and children of the program start and exit all the time.
# KERNEL is another build of a kernel, with CONFIG_MODULES and without soft_pt built in.

. "$(dirname "$(realpath "$0")")/../../vm/guest.sh"
bin=$BUILD/tests/soft_pt stress=$BUILD/tests/soft_pt/stress
# Not the default folder: pt_module_build.sh may run at the same time.
export MODULE_DIR=$BUILD/vm/soft_pt-module
module=$MODULE_DIR/soft_pt.ko
pmu=/sys/bus/event_source/devices/intel_pt

if [ "${1-}" != --inside ]; then
	export KERNEL=${KERNEL:-$BUILD/kernel-upstream} VM_TIMEOUT=${VM_TIMEOUT:-860}
	[ -e "$KERNEL/vmlinux" ] || skip_all "no $KERNEL (make upstream-kernel)"
	need_guest
	[ -x "$stress" ] || skip_all "no stress (make test-programs)"
	grep -q '^CONFIG_MODULES=y' "$KERNEL/.config" || skip_all "$KERNEL has no CONFIG_MODULES"
	if ! log=$(HEADERS=$KERNEL "$TOP/tools/testing/soft_pt/tests/pt_module_build.sh" 2>&1); then
		sed 's/^/# /' <<< "$log"
		echo "Bail out! Cannot build the module"
		exit 1
	fi
	boot_guest setarch -R "$test_file" --inside
fi

. "$TOP/tools/perf/tests/shell/lib/recorder.sh"
. "$TOP/tools/testing/soft_pt/rounds.sh"
trap 'print_check_output; cleanup' EXIT

# By system calls, without kmod: finit_module(), and delete_module() with O_NONBLOCK
load() {
	perl -e 'my $none = ""; syscall(313, fileno(STDIN), $none, 0) == 0 or die "insmod: $!\n"' \
		< "$module" && [ -d $pmu ]
}

# unload SECONDS: try to unload until that succeeds or the time is over; print the number of
# failures
unload() {
	perl -e '
		my ($name, $seconds) = ("soft_pt", @ARGV);
		my ($refused, $until) = (0, time + $seconds);
		while (syscall(176, $name, 2048) != 0) {
			die "rmmod: $!\n" if ! $!{EAGAIN};
			$refused++;
			print("refused $refused times\n") && exit 1 if time >= $until;
			select undef, undef, undef, 0.001;
		}
		print "unloaded, refused $refused times\n"' "$1" && [ ! -d $pmu ]
}

announced() {
	dmesg | grep 'soft_pt: emulating Intel PT by single-stepping'
}

loaded() {
	[ ! -d $pmu ] && load && announced
}

# ptrace itself makes the trap flag visible: hence exit status 1.
flow() {
	"$PERF" record -q -e intel_pt//u -m ,4M -o "$work/flow" -- "$bin/flow_branches" || return
	"$PERF" script -i "$work/flow" --itrace=i0nse -F ip | awk '{ print $1 }' | uniq \
		> "$work/ips"
	taskset -c 1 "$bin/pt_truth" "$bin/flow_branches" > "$work/truth"
	[ $? = 1 ] && uniq "$work/truth" | cmp - "$work/ips" && wc -l < "$work/ips"
}

# Samples in the trace, one for each instruction
samples() {
	"$PERF" record -q -e '{intel_pt//u,soft_pebs/inst_retired,aux-output,period=1/u}' -m ,8M \
		-o "$work/flow" -- taskset -c 1 "$bin/flow_branches" || return
	"$PERF" script -i "$work/flow" --itrace=o -F ip | awk '{ print $1 }' |
		tail -n "$(wc -l < "$work/each")" > "$work/ips"
	cmp "$work/each" "$work/ips" && wc -l < "$work/ips"
}

# ptrace itself makes the trap flag visible: hence exit status 1.
stepped() {
	taskset -c 1 "$bin/pt_truth" -e "$bin/flow_branches" > "$work/each"
	[ $? = 1 ]
}

# With low priority, so that recorders can start.
start_stress() {
	open_input
	nice -n 19 "$stress" < "$work/in" > "$work/out" &
	program=$!
	rounds_done 1
}

more_data() {
	(($(stat -c %s "$work/data") > $1)) || gone "$recorder"
}

responds() {
	control ping || control ping || control ping
}

# Start a recorder, and return when the program is being traced: the recorder has drained the area.
traced() {
	recorder_launch -e intel_pt//u -m ,16K -o "$work/data" -p "$program"
	responds && wait_until 300 more_data $(($(stat -c %s "$work/data") + 16384)) &&
		! gone "$recorder" && return
	echo "nothing is traced: $(stat -c %s "$work/data") bytes, $(wc -l < "$work/out") rounds"
	return 1
}

recorder_killed() {
	kill -KILL "$recorder"
	recorder_end 300
}

stays() {
	traced && ! unload 1 > "$work/refused" && grep 'refused .* times' "$work/refused" &&
		[ -d $pmu ]
}

goes() {
	recorder_killed
	unload 300 && rounds_done 2
}

# Load, trace, and try to unload all the time, until the recorder is killed.
rounds() {
	local i unloader

	for i in {1..10}; do
		load && traced || return
		unload 300 &
		unloader=$!
		pause 0.1
		recorder_killed
		wait "$unloader" && rounds_done 1 || return
	done
}

flow_again() {
	load && flow && stepped && samples && unload 300
}

echo "TAP version 13"
check "stress, untraced: two runs print the same" untraced
check "module loaded" loaded
check "program started" start_stress
check "not unloaded while the program is traced" stays
check "unloaded after the recorder was killed" goes
check "ten times more, with a loop that unloads it" rounds
check "no task is single-stepped afterwards" after_detach
check "loaded again: trace and samples equal what was executed" flow_again
echo "1..$nr"
