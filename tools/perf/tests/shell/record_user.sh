#!/bin/bash
# perf record -u: samples of the tasks of a user, and of no others
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 180
#
# The perf of Linux 6.12 attaches to the tasks that it finds; mainline's lets BPF filter the samples
# of all tasks, a program that the kernel takes 10 s or more to verify.

. "$(dirname "$0")/lib/harness.sh"

need perf root
command -v setpriv > /dev/null || skip "no setpriv to become another user with"

# One that exists, and has no other tasks
user="uucp"	# record_inherit has tasks of another one
id -u $user > /dev/null 2>&1 || skip "no user $user"
! pgrep -u $user > "$work/tasks" || skip "$user has tasks already"
spin='while :; do :; done'
setpriv --reuid "$(id -u $user)" --clear-groups sh -c "$spin" &
his=$!
sh -c "$spin" &
other=$!
wait_until 20 pgrep -u $user -f "$spin" > "$work/tasks" || fatal "no task of $user"

subtest "-u $user"
# The workload ends the recording; it is not recorded.
"$PERF" record -B -c 1000000 -e cpu-clock -u $user -o "$work/data" -- sleep 0.5 \
	2> "$work/record.err" || {
	grep -qiE 'bpf|filter' "$work/record.err" &&
		skip "no BPF filters: $(tail -n 1 "$work/record.err")"
	error "perf record exits with status $?"
}
fields "$work/data" pid | sort -n | uniq -c | sed 's/^/# /; s/ *$//' | tee "$work/pids"
grep -q " $his\$" "$work/pids" || error "no sample of the user's task $his"
grep -q " $other\$" "$work/pids" && error "samples of another user's task, $other"
(($(wc -l < "$work/pids") == 1)) || error "samples of several tasks"

subtest "a user who does not exist"
"$PERF" record -u no-such-user -o "$work/none" -- true 2> "$work/record.err" &&
	error "it is accepted"
reports -i 'user.*no-such-user\|no-such-user.*user'

finish
