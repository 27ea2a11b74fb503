#!/bin/bash
# perf test and upstream's perf_events selftests: our kernel gives the same results as upstream's
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 5400
# tags: night
# needs: kernel upstream-kernel
#
# Both kernels are booted at the same time, so that both see the same load of the host, and run the
# same programs: build/perf, and upstream's selftests. Each line of TAP has the name of a result,
# and the result on either kernel.
#
# Tests whose results differ are run ten times more. A test that gives different results on the
# same kernel depends on timing, and says nothing about the other kernel: it is skipped. ("Number
# of exit events" is one: it polls at most a thousand times while the child frees its memory.) All
# other results must be equal, even if a test fails on both kernels.
#
# Arguments are tests to run, instead of all.

# Tests that read a ring, a counter or a breakpoint, and run on an emulated PC
tests=(
	'perf test: Detect openat syscall event'
	'perf test: Detect openat syscall event on all cpus'
	'perf test: mmap interface tests'
	'perf test: PERF_RECORD_* events & perf_sample fields'
	'perf test: syscalls:sys_enter_openat event fields'
	'perf test: Breakpoint overflow signal handler'
	'perf test: Breakpoint overflow sampling'
	'perf test: Breakpoint accounting'
	'perf test: Watchpoint'
	'perf test: x86 bp modify'
	'perf test: Number of exit events of a simple workload'
	'perf test: Software clock events period values'
	'perf test: Use a dummy software event to keep tracking'
	'perf test: Track with sched_switch'
	'perf test: Convert perf time to TSC'
	'perf test: Read backward ring buffer'
	'perf test: Event times'
	'perf test: Sigtrap'
	'selftest: mmap'
	'selftest: watermark_signal'
	'selftest: sigtrap_threads'
	'selftest: remove_on_exec'
)
test_seconds=200
guest_seconds=2400

# --- in the guest ------------------------------------------------------------------------------

# run_test TEST: print its results as lines NAME, tab, RESULT
run_test() {
	local name=${1#*: } number

	case $1 in
	perf*)
		number=$(awk -v name="$name" \
			'substr($0, index($0, ": ") + 2) == name { print $1 + 0 }' list)
		timeout -k 5 $test_seconds "$PERF" test -v -S "${number:-none}" >output 2>&1
		sed -nE 's/^ *[0-9.]+: (.*[^ ]) *: (Ok|Skip|FAILED!).*/\1\t\2/p' output
		;;
	selftest*)
		timeout -k 5 $test_seconds "$BUILD/selftests/perf_events/$name" >output 2>&1
		sed -nE -e 's/^ok [0-9]+ (.*[^ ]) *# SKIP.*/\1\tSkip/p; t' \
			-e 's/^ok [0-9]+ (.*)/\1\tOk/p; s/^not ok [0-9]+ (.*)/\1\tFAILED!/p' output
		;;
	esac
}

# run_inside TIMES TEST...: write lines TEST, NAME, RESULT. One more, "all of it", shows whether
# the test printed any result.
run_inside() {
	local times=$1 test start i

	shift
	cd /tmp || exit
	"$PERF" test list >list 2>&1
	for test; do
		start=$SECONDS
		for ((i = 0; i < times; i++)); do
			run_test "$test" >results
			printf 'all of it\t%s\n' "$([ -s results ] && echo Ok || echo 'no result')"
			cat results
		done | while IFS= read -r line; do
			printf '%s\t%s\n' "$test" "$line"
		done >>"$VM_OUT/results"
		echo "$test: $((SECONDS - start)) s"
		sed 's/^/| /' output
	done
}

if [ "$1" = --inside ]; then
	shift
	run_inside "$@"
	exit
fi

# --- outside -----------------------------------------------------------------------------------

here=$(dirname "$(realpath "$0")")
top=${here%/tools/testing/vm/tests}
export BUILD=${BUILD:-$top/build}
work=$BUILD/vm/same
[ $# = 0 ] || tests=("$@")

skip() {
	echo "1..0 # SKIP $1"
	exit 2
}

# boot KERNEL WHICH TIMES TEST...
boot() {
	local dir=$work/$2

	KERNEL=$1 VM_DIR=$dir VM_TIMEOUT=$guest_seconds \
		"$here/../run" \
		"$(printf '%q ' "$here/compare_with_upstream.sh" --inside "${@:3}")" \
		>>"$dir/output" 2>&1 && return
	echo "# $2: the guest exited with status $?; its output is in $dir/output"
	grep '^vm:' "$dir/output" | sed 's/^/# | /'
	return 1
}

# boot_both TIMES TEST...: return 1 if our guest fails. Results that upstream's lacks are found by
# compare().
boot_both() {
	local status

	boot "$BUILD/kernel-upstream" upstream "$@" &
	boot "$BUILD/kernel" ours "$@"
	status=$?
	wait
	return $status
}

# Print a line for each result: same, differs, varies or new; then test, name, and the result on
# each kernel. A new one needs what only our kernel has: a test of AUX areas needs the software
# Intel PT.
compare() {
	awk -F'\t' -v OFS='\t' '
	{
		key = $1 FS $2
		if (!(key in seen)) {
			seen[key] = 1
			order[++nr] = key
		}
		if (!((kernel, key, $3) in all)) {
			all[kernel, key, $3] = 1
			before = result[kernel, key]
			result[kernel, key] = before (before ? ", " : "") $3
		}
	}
	END {
		for (i = 1; i <= nr; i++) {
			there = result["upstream", order[i]]
			here = result["ours", order[i]]
			if (order[i] ~ /\tall of it$/ && there == "Ok" && here == "Ok")
				continue
			verdict = there == here ? "same" : "differs"
			if (there == "Skip" && here == "Ok")
				verdict = "new"
			if ((there here) ~ /,/)
				verdict = "varies"
			print verdict, order[i], there ? there : "-", here ? here : "-"
		}
	}' kernel=upstream "$work/upstream/out/results" kernel=ours "$work/ours/out/results"
}

for kernel in kernel-upstream kernel; do
	[ -e "$BUILD/$kernel/vmlinux" ] ||
		skip "no $BUILD/$kernel (make ${kernel/kernel-upstream/upstream-kernel})"
done
type qemu-system-x86_64 >/dev/null 2>&1 || skip "no qemu-system-x86_64 (make deps)"
[ -x "$BUILD/perf/perf" ] || skip "no perf (make perf)"

echo "TAP version 13"
if ! log=$("$top/tools/testing/selftests/perf_events/run_in_guest.sh" --build 2>&1); then
	sed 's/^/# /' <<< "$log"
	echo "Bail out! Cannot build the selftests"
	exit 1
fi
for which in upstream ours; do
	mkdir -p "$work/$which/out"
	: >"$work/$which/out/results"
	rm -f "$work/$which/output"
done

bad=0
boot_both 1 "${tests[@]}" || bad=1
mapfile -t again < <(compare | awk -F'\t' '$1 ~ /differs|varies/ && !seen[$2]++ { print $2 }')
if [ ${#again[@]} -gt 0 ]; then
	printf '# run again: %s\n' "${again[@]}"
	boot_both 10 "${again[@]}" || bad=1
fi

compare | awk -F'\t' '
BEGIN {
	why["varies"] = " # SKIP the result varies on the same kernel"
	why["new"] = " # SKIP the unmodified kernel lacks the PMU"
	printf "#%-74s %-12s %s\n", "", "upstream", "ours"
}
{
	test = substr($2, index($2, ": ") + 2)
	printf "%-75s %-12s %s%s\n",
	       ($1 == "differs" ? "not ok " : "ok ") NR " - " (test == $3 ? "" : test ": ") $3,
	       $4, $5, why[$1]
	differs += $1 == "differs"
}
END {
	print "1.." NR
	exit differs > 0
}' && exit $bad
