#!/bin/bash
# Recorders that perf fleet starts go on after the login that started them has ended
# SPDX-License-Identifier: GPL-2.0-only
# tags: night
# timeout: 900
#
# logind ends all processes of a login, as an administrator may have configured it. sshd, logind and
# the recorders run in the container of lib/container.sh.

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
. "$top/packaging/tests/lib/container.sh"

mount_container
make -C "$top" deb > "$work/log" 2>&1 || fatal "make deb fails: $(tail -n 20 "$work/log")"
install_packages "$(echo "$BUILD"/deb/perf-recorder_*.deb)" openssh-server openssh-client \
	libpam-systemd libnss-systemd python3-clustershell

mkdir -p "$root/etc/systemd/logind.conf.d"
mkdir -p "$root/root/.ssh"
ssh-keygen -q -t ed25519 -N '' -f "$root/root/.ssh/id_ed25519"
cp "$root/root/.ssh/id_ed25519.pub" "$root/root/.ssh/authorized_keys"
echo 'StrictHostKeyChecking accept-new' > "$root/root/.ssh/config"
echo '127.0.0.1 node1' >> "$root/etc/hosts"
sed -i 's/^root:[^:]*:/root:*:/' "$root/etc/shadow"
printf '[Login]\nKillUserProcesses=yes\nKillExcludeUsers=nobody\nUserStopDelaySec=0\n' \
	> "$root/etc/systemd/logind.conf.d/test.conf"
sed -i 's/mmap-pages = .*/mmap-pages = 256K/' "$root/etc/perf-recorder/default.conf"
boot_container

# login COMMAND: as root, by ssh, and log out
login() {
	manager env HOME=/root ssh -q node1 "$1"
}

logged_out() {
	[ -z "$(manager loginctl list-sessions --no-legend)" ]
}

# fleet COMMAND...: its exit status is $status, its output in $work/fleet.out
fleet() {
	manager env HOME=/root perf-recorder fleet "$@" -w node1 > "$work/fleet.out" 2>&1
	status=$?
	sed 's/^/#   | /' "$work/fleet.out"
	wait_until 20 logged_out || error "logged in: $(manager loginctl list-sessions --no-legend)"
}

# expect ANSWER COMMAND...: what perf fleet prints about the machine
expect() {
	fleet "${@:2}"
	grep -qF "node1: $1" "$work/fleet.out" || error "no answer '$1'"
}

# expect_snapshot NAME
expect_snapshot() {
	fleet snapshot -o "/root/$1.tar"
	[ "$status" = 0 ] || error "exit status $status"
	tar -xOf "$root/root/$1.tar" "$1/node1.data" > "$work/$1.data"
	# shellcheck disable=SC2154 # set by harness.sh
	"$PERF" script "${no_symbols[@]}" -f -i "$work/$1.data" 2> "$work/log" |
		grep -q sched_switch ||
		error "no events: $(cat "$work/log")"
}

subtest "a login ends with all of its processes, and a recorder in it writes its last snapshot"
login 'cd /root; mkfifo control answers; exec 7<> control 8<> answers
	nohup perf-recorder record -a -e sched:sched_switch/overwrite/ --switch-output \
		--control=fifo:control,answers > log 2>&1 < /dev/null &
	echo ping >&7; read -rt 20 <&8' ||
		error "the recorder does not start: $(cat "$root/root/log")"
ended() {
	! pgrep -f -P "$init" 'perf-recorder/bin/perf' > /dev/null &&
		grep -q 'Lost .* events' "$root/root/log"
}
wait_until 20 ended || error "it goes on, or wrote no summary: $(cat "$root/root/log")"
grep -q 'Snapshot 1 (exit)' "$root/root/log" || error "no last snapshot: $(cat "$root/root/log")"

subtest "the service goes on, and perf fleet controls it"
expect "the service is inactive" status
expect started start
pid=$(manager systemctl show -P MainPID perf-recorder@default)
expect records status
expect "records already" start
expect_snapshot service
[ "$(manager systemctl show -P MainPID perf-recorder@default)" = "$pid" ] ||
	error "it was restarted"
expect stopped stop
expect "the service is inactive" status

subtest "so does a recorder in the background, although the service is installed"
expect started start --record "-a -e sched:sched_switch/overwrite/ --switch-output"
expect records status
expect "records already" start
manager systemctl is-active perf-recorder@default && error "the service was started"
expect_snapshot background
expect stopped stop
expect "the service is inactive" status

finish
