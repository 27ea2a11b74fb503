#!/bin/bash
# A recorder that is killed, by whatever: systemd restarts it, and all that it had kept is in a file
# SPDX-License-Identifier: GPL-2.0-only
# tags: night
# timeout: 600
#
# systemd runs in a container whose root is that of this machine, below an overlay in memory.

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
. "$top/packaging/tests/lib/container.sh"
. "$top/tools/perf/tests/shell/lib/numbered.sh"

need_numbered
command -v systemd-nspawn > /dev/null ||
	skip "systemd-nspawn is not installed (scripts/install-deps deb)"
numbered_event
mkdir -p "$root" "$work/memory"
mount -t tmpfs tmpfs "$work/memory" || skip "cannot mount a tmpfs"
mounted=("$work/memory")
mkdir "$upper" "$work/memory/work"
mount -t overlay overlay "$root" -o "lowerdir=/,upperdir=$upper,workdir=$work/memory/work" ||
	skip "cannot mount an overlay over /"
mounted=("$root" "${mounted[@]}")

export PREFIX=/usr SYSCONFDIR=/etc UNITDIR=/etc/systemd/system LIBDIR=/usr/lib LINUX=$BUILD/linux
"$top/packaging/install" --stage "$work/stage" service || fatal "cannot install the service"
"$top/packaging/install" --copy "$work/stage" "$root" || fatal "cannot install the service"
install -D "$(command -v "$PERF")" "$root/usr/lib/perf-recorder/bin/perf"
rm -f "$root"/etc/systemd/system/*.wants/* "$root"/etc/fstab
# Events are not pinned in a container, which is a PID namespace: service_pins.sh does that. The
# service must be able to write where it would pin them.
cat > "$work/dropin" << 'END'
[Service]
RestartSec=100ms
ExecStartPre=ln -sfn written /sys/fs/bpf/perf-record/%i/link
[Unit]
StartLimitIntervalSec=0
END
install -D "$work/dropin" "$root/etc/systemd/system/perf-recorder@.service.d/test.conf"
cat > "$root/etc/perf-recorder/crash.conf" << END
[record]
	event = raw_syscalls:sys_enter
	filter = ${event[3]//\"/\\\"}
	keep-events = true
	keep = 60s,32M
	keep-file = kept
	switch-output = signal
	switch-max-files = 4
END

unit='perf-recorder@crash'
state=/var/lib/private/perf-recorder/crash
journal() {
	manager journalctl --no-pager -o cat -u $unit
}
log() {
	note "journal: $(journal | tail -n 15)"
}
main() {
	manager systemctl show -P MainPID $unit
}
active() {
	[ "$(manager systemctl show -P ActiveState $unit)" = active ]
}

# The names of the files that the journal has named so far
recovered() {
	journal | sed -n 's/.*had kept: \(perf.data.2.*\)/\1/p'
}
has_recovered() {
	[ "$(recovered | wc -l)" = "$1" ]
}

boot_container
manager mount -t bpf -o mode=700 bpf /sys/fs/bpf || fatal "cannot mount a BPF file system"
manager systemctl start $unit || { log; fatal "the service does not start"; }

nr=0
# crash COMMAND...: let it end the recorder, which has just recorded numbered calls
crash() {
	local before file

	wait_until 30 active || { log; fatal "the service is not active"; }
	before=$(main)
	nr=$((nr + 1))
	numbered_calls $nr 997
	"$@" || { inconclusive "cannot do that: $*"; nr=$((nr - 1)); return; }
	wait_until 60 has_recovered $nr || { log; error "the journal names no file"; return; }
	file=$(recovered | tail -n 1)
	readable "/proc/$init/root$state/$file" || error "it cannot be read"
	# Tasks outside the container have no names there.
	holds "/proc/$init/root$state/$file" $nr:1-997
	wait_until 30 active || { log; error "it is not restarted"; }
	[ "$(main)" != "$before" ] || error "it is the same process"
	[ -z "$(compgen -G "/proc/$init/root/run/private/perf-recorder/crash/kept*.unsaved")" ] ||
		error "something is left"
}

signal() {
	manager systemctl kill --signal="$1" --kill-whom=main $unit
}

subtest "SIGKILL"
crash signal KILL

subtest "a segmentation fault"
crash signal SEGV

# Give the recorder and its guard less memory than a snapshot takes: in the cgroup of the service,
# or, with cgroups of version 1, which systemd leaves to this machine, in one of their own.
out_of_memory() {
	local cgroup recorder guard

	recorder=$(pgrep -P "$init" -f perf-recorder/bin/perf) &&
		guard=$(pgrep -P "$recorder" -x perf-guard) ||
		return
	cgroup=/sys/fs/cgroup$(manager systemctl show -P ControlGroup $unit)
	if manager test -w "$cgroup/memory.max"; then
		manager sh -c "echo 16M > $cgroup/memory.max"
	else
		cgroup=/sys/fs/cgroup/memory/$comm
		mkdir "$cgroup" && cgroups+=("$cgroup") &&
			echo 1M > "$cgroup/memory.limit_in_bytes" &&
			echo "$recorder" > "$cgroup/cgroup.procs" &&
			echo "$guard" > "$cgroup/cgroup.procs" || return
	fi 2> "$work/log"
	manager systemctl reload $unit 2> "$work/log"
	wait_until 30 gone "$recorder"
}
cgroups=()

subtest "the OOM killer"
crash out_of_memory

subtest "the disk budget counts what was recovered"
for ((i = 0; i < 4; i++)); do
	manager systemctl reload $unit || { log; error "a snapshot fails"; }
done
count=$(compgen -G "/proc/$init/root$state/perf.data.2*" | wc -l)
[ "$count" = 4 ] || error "$count files"
recovered | while read -r file; do
	[ ! -e "/proc/$init/root$state/$file" ] || error "$file is left"
done

subtest "stopping does not wait for a guard"
begin=$SECONDS
manager systemctl stop $unit
note "$((SECONDS - begin)) s"
[ "$(manager systemctl show -P Result $unit)" = success ] || error "it fails"
has_recovered $nr || error "something was recovered"
[ -z "$(compgen -G "/proc/$init/root/run/private/perf-recorder/crash/kept*")" ] ||
	error "something is left"
rmdir "${cgroups[@]}" 2> /dev/null
kill $nspawn
wait $nspawn 2> /dev/null

finish
