#!/bin/bash
# perf test: upstream's tests of Intel PT, as far as soft_pt supports them
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
# tags: parallel night
# needs: kernel
#
# Run the functions of test_intel_pt.sh one at a time. The guest has no hardware counters: where a
# function uses one to get samples of it, replace it with cpu-clock.

. "$(dirname "$(realpath "$0")")/../../vm/guest.sh"
suite=$BUILD/linux/tools/perf/tests/shell/test_intel_pt.sh

if [ "${1-}" != --inside ]; then
	need_guest
	export VM_TIMEOUT=${VM_TIMEOUT:-860}
	boot_guest "$test_file" --inside
fi

. "$TOP/tools/perf/tests/shell/lib/recorder.sh"
trap 'print_check_output; cleanup' EXIT

# Functions that need what soft_pt lacks. By name, so that a new function is not left out silently.
declare -A without=(
	[test_system_wide_side_band]='soft_pt traces tasks only, not CPUs'
	[test_per_thread]='expects one ring for each thread; this perf has another for side-band'
	[test_packet_filter]='soft_pt has no MTC, and no trace without TSC'
	[test_disable_branch]='soft_pt has no trace without branches'
	[test_time_cyc]='soft_pt has no CYC'
	[test_kernel_trace]='soft_pt does not trace the kernel'
	[test_power_event]='soft_pt has no power events'
	[test_no_tnt]='soft_pt has no trace without TNT'
	[test_event_trace]='soft_pt has no event trace'
)

sed -e '/^ret=0$/,$d' -e 's/branch-misses:u/cpu-clock:u/' \
	-e 's/{intel_pt\/\/,cycles}:u/{intel_pt\/\/,cpu-clock}:u/' "$suite" > "$work/functions"
cat > "$work/one" <<- 'END'
	. "$1"
	status=0
	"$2" || status=$?
	cleanup
	exit $status
END

# The suite looks for its files relative to $0.
run_function() {
	timeout 250 bash -c ". $work/one" "$suite" "$work/functions" "$1"
}

packet_decoder() {
	"$PERF" test list > "$work/list" 2>&1
	"$PERF" test -v "$(awk '/: Intel PT$/ { print $1 + 0 }' "$work/list")" 2>&1 |
		tee "$work/decoder"
	grep -q ': Ok' "$work/decoder" && ! grep -q 'FAILED' "$work/decoder"
}

echo "TAP version 13"
check "packet decoder" packet_decoder
for function in $(sed -n 's/^\(test_[a-z_]*\)()$/\1/p' "$suite"); do
	if [ -n "${without[$function]-}" ]; then
		nr=$((nr + 1))
		echo "ok $nr - $function # SKIP ${without[$function]}"
	else
		check "$function" run_function "$function"
	fi
done
echo "1..$nr"
