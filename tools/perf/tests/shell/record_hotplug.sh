#!/bin/bash
# perf record: CPUs that come online or go offline during the recording are reported
# SPDX-License-Identifier: GPL-2.0-only
# tags: fast parallel
# timeout: 60

. "$(dirname "$0")/lib/recorder.sh"

need perf root
unshare -m true 2> "$work/unshare.err" || skip "no mount namespaces: $(cat "$work/unshare.err")"

online=/sys/devices/system/cpu/online
max=$(getconf _NPROCESSORS_CONF)

# hotplug ONLINE [record options]: while perf records, replace the list of CPUs that are online
hotplug() {
	echo "$1" > "$work/online"
	wrapper=(unshare -m)
	recorder_start -e dummy -o "$work/data" "${@:2}"
	nsenter -t "$recorder" -r -m mount --bind "$work/online" $online ||
		fatal "cannot replace $online"
	recorder_stop
}

subtest "a CPU comes online"
hotplug "0-$max" -a
reports "CPUs came online.*: \\(.*,\\)\\?$max\$"

subtest "a CPU comes online, and -C selects others"
hotplug "0-$max" -C 0
grep -q 'CPUs came' "$work/record.err" && error "a message"

subtest "a CPU goes offline"
hotplug "$max" -C 0
reports 'CPUs went offline.*: 0$'

subtest "nothing changes"
hotplug "$(cat $online)" -a
grep -qE 'CPUs (came|went)' "$work/record.err" && error "a message"

finish
