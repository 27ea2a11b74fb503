#!/bin/bash
# perf record --kcore: each file has the kernel's code with it, in the guest
# SPDX-License-Identifier: GPL-2.0-only
# needs: upstream-kernel
# timeout: 300
#
# On the unmodified kernel: util wants /proc/modules, and ours there takes no modules.

# shellcheck source=../guest.sh
. "$(dirname "$(realpath "$0")")/../guest.sh"

if [ "${1-}" != --inside ]; then
	export KERNEL=${KERNEL:-$BUILD/kernel-upstream}
	need_guest
	grep -q '^CONFIG_PROC_KCORE=y' "$KERNEL/.config" || no_tests "$KERNEL has no /proc/kcore"
	exec "$TOP/tools/testing/vm/run" "$(printf '%q ' "$(realpath "$0")" --inside)"
fi

# shellcheck source=../../../perf/tests/shell/lib/recording.sh
. "$BUILD/linux/tools/perf/tests/shell/lib/recording.sh"

trap 'tell; cleanup' EXIT
out=$work/data
recorded=(-a -c 200000 -e cpu-clock:k)

record() {
	"$PERF" record "${recorded[@]}" --kcore -o "$out" "$@" 2> "$work/record.err"
}

# The code is the kernel's own, and found by a reader that has no other: samples are annotated from it.
has_code() {
	local file name bytes

	for file in kcore kallsyms modules; do
		[ -e "$1/kcore_dir/$file" ] || { echo "$1: no $file"; return 1; }
	done
	# Programs come and go
	cmp <(grep -v '\[bpf\]$' "$1/kcore_dir/kallsyms") <(grep -v '\[bpf\]$' /proc/kallsyms) || return
	name=$("$PERF" report -i "$1" --stdio -s sym 2> /dev/null | sed -n 's/.*\[k\] //p' | grep -v ' ' | head -n 1)
	bytes=$("$PERF" annotate -i "$1" --stdio -s "$name" 2> "$work/annotate.err" | grep -c ':  *[a-z]')
	echo "$name: $bytes instructions"
	((bytes > 3))
}

one_file() {
	record -- find /usr/include -name 'e*.h' > "$work/found" && has_code "$out" &&
		[ "$("$PERF" script -i "$out" | wc -l)" -gt 10 ]
}

each_of_several() {
	# shellcheck disable=SC2016
	record --switch-output=signal --switch-max-files=2 -- sh -c 'for i in 1 2 3; do
		find /usr/include -name "e*.h"; kill -USR2 $PPID; sleep 1; done' > "$work/found" || return
	find_snapshots "$out"
	echo "${snapshots[@]}"
	[ "${#snapshots[@]}" = 2 ] && has_code "${snapshots[0]}" && has_code "${snapshots[1]}"
}

kept_as_old() {
	record -- true && record -- true && has_code "$out.old" && has_code "$out"
}

patched_code() {
	"$PERF" evlist -v -i "$out" | grep 'text_poke: 1'
}

nothing_left_of_no_command() {
	rm -rf "$out"*
	! record -- "$work/none" && grep "$work/none" "$work/record.err" && ! ls -d "$out"*
}

echo "TAP version 13"
check "a file with the kernel's code" one_file
check "what is patched is told" patched_code
check "the one before it is kept" kept_as_old
check "each of several files, of which two are kept" each_of_several
check "nothing is left when the command is not found" nothing_left_of_no_command
echo "1..$nr"
