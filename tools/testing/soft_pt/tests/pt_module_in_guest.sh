#!/bin/bash
# Intel PT by single-stepping, as a module of the unmodified kernel: loaded, traced with, unloaded, in the guest
# SPDX-License-Identifier: GPL-2.0-only
# needs: upstream-kernel
# timeout: 900
#
# As long as a program is traced the module stays. When the last recorder is gone, without a word, it can be
# unloaded, and the program goes on: whoever were still stepped would be ended by SIGTRAP, and stress looks for
# the trap flag. Its threads and children begin and end all the time.
# KERNEL is another build of a kernel, one that takes modules and has no soft_pt built in.

# shellcheck source=../../vm/guest.sh
. "$(dirname "$(realpath "$0")")/../../vm/guest.sh"
bin=$BUILD/tests/soft_pt stress=$BUILD/tests/soft_pt/stress
module=$BUILD/soft_pt-module/soft_pt.ko
pmu=/sys/bus/event_source/devices/intel_pt

if [ "${1-}" != --inside ]; then
	export KERNEL=${KERNEL:-$BUILD/kernel-upstream} VM_TIMEOUT=${VM_TIMEOUT:-860}
	[ -e "$KERNEL/arch/x86/boot/bzImage" ] || no_tests "there is no $KERNEL (make upstream-kernel)"
	need_guest
	[ -x "$stress" ] || no_tests "there is no stress (make test-programs)"
	grep -q '^CONFIG_MODULES=y' "$KERNEL/.config" || no_tests "$KERNEL takes no modules"
	if ! said=$(HEADERS=$KERNEL "$TOP/tools/testing/soft_pt/tests/pt_module_build.sh" 2>&1); then
		echo "$said"
		echo "Bail out! The module cannot be built"
		exit 1
	fi
	exec "$TOP/tools/testing/vm/run" "$(printf '%q ' setarch -R "$(realpath "$0")" --inside)"
fi

# shellcheck source=../../../perf/tests/shell/lib/recording.sh
. "$BUILD/linux/tools/perf/tests/shell/lib/recording.sh"
# shellcheck source=../rounds.sh
. "$TOP/tools/testing/soft_pt/rounds.sh"
trap 'tell; cleanup' EXIT

# By system calls: there need not be kmod. finit_module(), delete_module() with O_NONBLOCK
load() {
	perl -e 'my $none = ""; syscall(313, fileno(STDIN), $none, 0) == 0 or die "insmod: $!\n"' < "$module" &&
		[ -d $pmu ]
}

# Says how often it was refused, as long as somebody uses it.
unload() {
	perl -e '
		my ($name, $seconds) = ("soft_pt", @ARGV);
		my ($refused, $until) = (0, time + $seconds);
		while (syscall(176, $name, 2048) != 0) {
			die "rmmod: $!\n" if ! $!{EAGAIN};
			$refused++;
			print("$refused times refused\n") && exit 1 if time >= $until;
			select undef, undef, undef, 0.001;
		}
		print "unloaded, $refused times refused\n"' "$1" && [ ! -d $pmu ]
}

announced() {
	dmesg | grep 'soft_pt: emulating Intel PT by single-stepping'
}

loaded() {
	[ ! -d $pmu ] && load && announced
}

# What ptrace sees of itself is the trap flag: hence 1.
flow() {
	"$PERF" record -q -e intel_pt//u -m ,4M -o "$work/flow" -- "$bin/flow_branches" || return
	"$PERF" script -i "$work/flow" --itrace=i0nse -F ip | awk '{ print $1 }' | uniq > "$work/ips"
	"$bin/pt_truth" "$bin/flow_branches" > "$work/truth"
	[ $? = 1 ] && uniq "$work/truth" | cmp - "$work/ips" && wc -l < "$work/ips"
}

# With samples in the trace, one of each instruction
samples() {
	"$PERF" record -q -e '{intel_pt//u,soft_pebs/inst_retired,aux-output,period=1/u}' -m ,8M -o "$work/flow" -- \
		taskset -c 1 "$bin/flow_branches" || return
	"$PERF" script -i "$work/flow" --itrace=o -F ip | awk '{ print $1 }' | tail -n "$(wc -l < "$work/each")" > "$work/ips"
	cmp "$work/each" "$work/ips" && wc -l < "$work/ips"
}

# What ptrace sees of itself is the trap flag: hence 1.
stepped() {
	"$bin/pt_truth" -e "$bin/flow_branches" > "$work/each"
	[ $? = 1 ]
}

# It gives way to recorders that begin.
stress_begins() {
	open_input
	nice -n 19 "$stress" < "$work/in" > "$work/out" &
	program=$!
	started+=("$program")
	rounds_done 1
}

more_data() {
	(($(stat -c %s "$work/data") > $1)) || gone "$recorder"
}

answers() {
	control ping || control ping || control ping
}

# Returns when the program is in the middle of it: the area was emptied.
traced() {
	recorder_launch -e intel_pt//u -m ,16K -o "$work/data" -p "$program"
	answers && wait_until 300 more_data $(($(stat -c %s "$work/data") + 16384)) && ! gone "$recorder" && return
	echo "nobody is traced: $(stat -c %s "$work/data") bytes, $(wc -l < "$work/out") rounds"
	return 1
}

recorder_killed() {
	kill -KILL "$recorder"
	recorder_end 300
}

stays() {
	traced && ! unload 1 > "$work/refused" && grep 'times refused' "$work/refused" && [ -d $pmu ]
}

goes() {
	recorder_killed
	unload 300 && rounds_done 2
}

# Somebody wants it to be unloaded all the time, as soon as it is traced with.
rounds() {
	local i unloader

	for i in {1..10}; do
		load && traced || return
		unload 300 &
		unloader=$!
		started+=("$unloader")
		pause 0.1
		recorder_killed
		wait "$unloader" && rounds_done 1 || return
	done
}

flow_again() {
	load && flow && stepped && samples && unload 300
}

echo "TAP version 13"
check "stress, untraced: the same twice" untraced
check "loaded" loaded
check "a program is begun" stress_begins
check "stays while that is traced" stays
check "unloaded when the recorder is killed" goes
check "ten times more, while somebody tries to unload it" rounds
check "nobody is stepped any more" on_its_own
check "loaded again: its trace is what was executed, and the samples in it are" flow_again
echo "1..$nr"
