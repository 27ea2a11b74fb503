#!/bin/bash
# perf test: upstream's own tests of Intel PT, as far as single-stepping goes, in the guest
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
#
# test_intel_pt.sh of perf test, one function at a time. The guest has no hardware counters: where it asks
# for one, to have a sample of, it gets the clock of the CPU.

# shellcheck source=../../vm/guest.sh
. "$(dirname "$(realpath "$0")")/../../vm/guest.sh"
suite=$BUILD/linux/tools/perf/tests/shell/test_intel_pt.sh

if [ "${1-}" != --inside ]; then
	need_guest
	export VM_TIMEOUT=${VM_TIMEOUT:-860}
	exec "$TOP/tools/testing/vm/run" "$(printf '%q ' "$(realpath "$0")" --inside)"
fi

# shellcheck source=../../../perf/tests/shell/lib/recording.sh
. "$BUILD/linux/tools/perf/tests/shell/lib/recording.sh"
trap 'tell; cleanup' EXIT

# Each function of the suite by name; so that one that is new there is not left out in silence
declare -A without=(
	[test_system_wide_side_band]='it traces a CPU, and here only tasks can be traced'
	[test_per_thread]='it wants one ring for each thread, and this perf has two: side-band has its own'
	[test_packet_filter]='there is no MTC, and no trace without TSC'
	[test_disable_branch]='there is no trace without branches'
	[test_time_cyc]='there is no CYC'
	[test_kernel_trace]='the kernel is not traced'
	[test_power_event]='there are no power events'
	[test_no_tnt]='there is no trace without TNT'
	[test_event_trace]='there is no event trace'
)

sed -e '/^ret=0$/,$d' -e 's/branch-misses:u/cpu-clock:u/' -e 's/{intel_pt\/\/,cycles}:u/{intel_pt\/\/,cpu-clock}:u/' \
	"$suite" > "$work/functions"
cat > "$work/one" <<- 'END'
	. "$1"
	status=0
	"$2" || status=$?
	cleanup
	exit $status
END

# $0 is where the suite looks for its own files
one() {
	timeout 250 bash -c ". $work/one" "$suite" "$work/functions" "$1"
}

packet_decoder() {
	"$PERF" test list > "$work/list" 2>&1
	"$PERF" test -v "$(awk '/: Intel PT$/ { print $1 + 0 }' "$work/list")" 2>&1 | tee "$work/decoder"
	grep -q ': Ok' "$work/decoder" && ! grep -q 'FAILED' "$work/decoder"
}

echo "TAP version 13"
check "packet decoder" packet_decoder
for function in $(sed -n 's/^\(test_[a-z_]*\)()$/\1/p' "$suite"); do
	if [ -n "${without[$function]-}" ]; then
		nr=$((nr + 1))
		echo "ok $nr - $function # SKIP ${without[$function]}"
	else
		check "$function" one "$function"
	fi
done
echo "1..$nr"
