#!/bin/bash
# perf record --kcore: each file comes with a copy of the kernel's code
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# tags: parallel night
# needs: upstream-kernel
#
# On the unmodified kernel. perf's util/ needs /proc/modules, that is CONFIG_MODULES.

. "$(dirname "$(realpath "$0")")/../guest.sh"

if [ "${1-}" != --inside ]; then
	export KERNEL=${KERNEL:-$BUILD/kernel-upstream}
	need_guest
	grep -q '^CONFIG_PROC_KCORE=y' "$KERNEL/.config" || skip_all "no /proc/kcore in $KERNEL"
	perf_uses_llvm=1		# perf annotate
	boot_guest "$test_file" --inside
fi

. "$TOP/tools/perf/tests/shell/lib/files.sh"

trap 'print_check_output; cleanup' EXIT
out=$work/data
recorded=(-a -c 200000 -e cpu-clock:k)

record() {
	"$PERF" record "${recorded[@]}" --kcore -o "$out" "$@" 2> "$work/record.err"
}

# has_code FILE: kallsyms is the kernel's, and samples are annotated from the copy of its code.
has_code() {
	local file name instructions

	for file in kcore kallsyms modules; do
		[ -e "$1/kcore_dir/$file" ] || { echo "$1: no $file"; return 1; }
	done
	# BPF programs come and go.
	cmp <(grep -v '\[bpf\]$' "$1/kcore_dir/kallsyms") \
		<(grep -v '\[bpf\]$' /proc/kallsyms) || return
	name=$("$PERF" report -i "$1" --stdio -s sym 2> /dev/null |
		sed -n 's/.*\[k\] //p' | grep -v ' ' | head -n 1)
	instructions=$("$PERF" annotate -i "$1" --stdio -s "$name" 2> "$work/annotate.err" |
		grep -c ':  *[a-z]')
	echo "$name: $instructions instructions"
	((instructions > 3))
}

one_file() {
	record -- find /usr/include -name 'e*.h' > "$work/found" && has_code "$out" &&
		[ "$("$PERF" script -i "$out" | wc -l)" -gt 10 ]
}

each_of_several() {
	# shellcheck disable=SC2016
	record --switch-output=signal --switch-max-files=2 -- sh -c 'for i in 1 2 3; do
		find /usr/include -name "e*.h"; kill -USR2 $PPID; sleep 1; done' \
		> "$work/found" || return
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

# The next file cannot be begun. The one before is complete; nothing is written to a closed file.
fails_at_a_switch() {
	rm -rf "$out"*
	# shellcheck disable=SC2016
	record --switch-output=signal -- sh -c 'find /usr/include -name "e*.h"
		mount --bind /dev/null /proc/kcore; kill -USR2 $PPID; sleep 100' > "$work/found"
	[ $? = 255 ] && umount /proc/kcore && grep "^Cannot copy the kernel" "$work/record.err" &&
		! grep "Cannot write" "$work/record.err" && [ ! -e "$out" ] || return
	find_snapshots "$out"
	[ "${#snapshots[@]}" = 1 ] && has_code "${snapshots[0]}"
}

echo "TAP version 13"
check "one file, with the code of the kernel" one_file
check "text_poke records are enabled" patched_code
check "the previous file is kept with its code" kept_as_old
check "--switch-output: each of the two files kept has the code" each_of_several
check "the first file is whole if the code cannot be copied for the second" fails_at_a_switch
check "no file is left if the command is not found" nothing_left_of_no_command
echo "1..$nr"
