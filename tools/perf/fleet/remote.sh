#!/bin/bash
# Control the recorder of this machine for perf fleet, which sends this text over ssh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2154 # assignments and control.sh in front of this text: action seconds ...
#
# Standard output has one line for each fact, a keyword and its value. An error ends the script:
#
#	perf-fleet		what the login shell prints before this line is ignored
#	error REASON
#
# "snapshot" requests the snapshot first. Then it prints kernel, perf, chrony, peer... and "ready",
# and obeys commands on standard input:
#
#	clock	-> time SECONDS		the time of day
#	answer	-> cause TEXT			only if something took too long: who, and for how long
#		   size BYTES SPAN LIMIT FILE	when the snapshot is written
#	send	-> the bytes of the file, and the end
#
# The recorder has less privilege than the user who logs in, and must not make that user read or
# write a file. So the script becomes the user of the recorder, in the directory of its files,
# before it opens any file of the recorder. The service's directory is below one that only root may
# enter: the other user gets it as an open file.

[ -n "$in_state" ] || echo perf-fleet
export LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
path=/run/perf-recorder/$instance
run=$path
[ -z "$in_state" ] || run=/proc/self/fd/5
state=/var/lib/perf-recorder/$instance
unit=perf-recorder@$instance

fail() {
	echo "error $*"
	exit 1
}

perf() {
	command -v perf-recorder || command -v perf || fail "perf-recorder is not installed"
}

has_unit() {
	systemctl cat "$unit" > /dev/null 2>&1
}

# Is the recorder that of the service? It may be starting, or waiting for a restart.
service_runs() {
	has_unit || return
	case $(systemctl show -P ActiveState "$unit") in
	inactive | failed) return 1 ;;
	esac
}

# Did a recorder in the background end, and leave its directory? In a directory of another user, the
# lock may be anything: become_recorder() asks again as that user.
was_killed() {
	[ -O "$run" ] && [ -e "$run/lock" ] && flock -n "$run/lock" true
}

# Restart this text as the user who owns the recorder's FIFOs.
become_recorder() {
	local user group

	if [ ! -p "$run/control" ] || was_killed; then
		fail "no recorder runs as '$instance'"
	fi
	read -r user group < <(stat -L -c '%u %g' "$run")
	if [ -z "$in_state" ]; then
		cd -P "$state" || fail "no directory $state"
	fi
	[ "$user" = "$(id -u)" ] && return
	[ -z "$in_state" ] || fail "cannot become the user of the recorder, $user"
	setpriv --reuid="$user" --regid="$group" --clear-groups --bounding-set=-all \
		bash -c "in_state=1; text=\$0; eval \"\$text\"" "$text" 5< "$run"
	exit
}

# ask COMMAND: send a command to the recorder
ask() {
	request "$run" "$1" "$seconds" || fail "${reason//"$run"/"$path"}"
}

# Wait for the answer to ask().
receive() {
	await_answer "$seconds" || fail "$reason"
}

# Print the peers of this machine's TCP connections.
print_peers() {
	ss -Htn state established 2> /dev/null | head -n 100000 |
		awk '{ sub(/:[0-9]+$/, "", $3); own[$3]; sub(/:[0-9]+$/, "", $4); peers[$4] }
			END { for (i in peers) if (!(i in own)) print "peer " i }' | head -n 9000
}

describe_machine() {
	local chrony

	echo "kernel $(uname -r)"
	echo "perf $("$(perf)" --version 2> /dev/null)"
	chrony=$(timeout 2 chronyc -c tracking 2> /dev/null) && echo "chrony $chrony"
	[ -z "$list_peers" ] || print_peers
	echo ready
}

# Find the file that the recorder has named. perf adds a time stamp to the name of a completed file.
print_file() {
	local span='' limit='' cause=''

	if [[ $answer = *'; '* ]]; then		# no file of the service has such a name
		cause=${answer#*; } answer=${answer%%; *}
	fi
	if [[ $answer =~ ^(.*)\ ([0-9.]+)\ ([a-z]+)$ ]]; then
		answer=${BASH_REMATCH[1]} span=${BASH_REMATCH[2]} limit=${BASH_REMATCH[3]}
	fi
	file=${answer##*/}
	[[ $file =~ \.[0-9]{16}(-[0-9]+)?$ ]] ||
		fail "the recorder has not completed a file: it needs --switch-output"
	if [ ! -e "$file" ] && [ -n "$(compgen -G "$file.*")" ]; then
		fail "--exec-snapshot has replaced $file by $(compgen -G "$file.*" | head -n 1)"
	fi
	if [ ! -f "$file" ] || [ -L "$file" ]; then
		fail "the recorder names a file that is not in $state"
	fi
	size=$(stat -c %s "./$file") || fail "the file has disappeared"
	[ -z "$cause" ] || echo "cause $cause"
	echo "size $size ${span:--} ${limit:--} $file"
}

snapshot() {
	local line

	become_recorder
	ask snapshot
	describe_machine
	while read -r line; do
		case $line in
		clock)	echo "time ${EPOCHREALTIME:-$(date +%s.%N)}" ;;
		answer)	receive && print_file ;;
		send)	exec dd if="./$file" iflag=nofollow bs=256K status=none ;;
		esac
	done
}

# Remove the directory that the service has left, unless it has what a killed recorder had kept.
# Where the service has a dynamic user, $run is a symbolic link.
remove_empty() {
	[ -e "$run" ] || return 0
	rmdir "$(realpath "$run")" && { [ ! -L "$run" ] || rm "$run"; }
}

# Start perf record in the background, with the directories of the service. A scope of its own takes
# it out of the login session, whose processes logind may end at log-out (KillUserProcesses=yes).
start_in_background() {
	local config=/etc/perf-recorder/$instance.conf program scope=''

	program=$(perf)
	! was_killed || rm -r "$run"
	remove_empty || fail "cannot remove $run, which may have what a killed recorder had kept"
	if ! mkdir -p "${run%/*}" "${state%/*}" || ! mkdir -m 700 "$run" ||
		! mkfifo -m 600 "$run/control" "$run/answers"; then
		fail "cannot make $run"
	fi
	[ -d "$state" ] || mkdir -m 700 "$state"
	cd "$state" || fail "cannot make $state"
	if [ -z "$record" ] && [ -e "$config" ]; then
		export PERF_CONFIG=$config
	else
		record=${record:--a -e sched:sched_switch,sched:sched_wakeup --keep --switch-output
			--switch-max-size=2G}
	fi
	[ ! -d /run/systemd/system ] || scope="systemd-run --quiet --scope --collect"
	# shellcheck disable=SC2016,SC2086 # for the other shell; lists of words
	setsid $scope bash -c 'run=$1; shift; flock 3; "$@"; rm -r "$run"' - "$run" \
		"$program" record --control="fifo:$run/control,$run/answers" $record \
		> "$state/log" 2>&1 < /dev/null 3> "$run/lock" &
	ask ping
	until await_answer 1; do
		[ -e "$run" ] || fail "the recorder has ended: $(tail -n 1 "$state/log")"
		((SECONDS < seconds)) || fail "the recorder has not started within $seconds s"
	done
}

start_service() {
	local output

	output=$(systemctl start "$unit" 2>&1) || fail "systemctl: ${output%%$'\n'*}"
}

start() {
	if service_runs; then
		start_service	# waits if it is starting
		echo "state records already"
	elif ! was_killed && [ -p "$run/control" ]; then
		echo "state records already"
	else
		if [ -z "$record" ] && has_unit; then
			start_service
		else
			start_in_background
		fi
		echo "state started"
	fi
}

status() {
	if [ ! -p "$run/control" ] && has_unit; then
		fail "the service is $(systemctl show -P ActiveState "$unit")"
	fi
	become_recorder
	ask ping
	receive
	echo "state records"
}

# Does the directory still have files? An open directory exists on after it was removed.
is_left() {
	compgen -G "$run/*" > /dev/null
}

stop() {
	if service_runs; then
		systemctl stop "$unit" || fail "the service does not stop"
	else
		become_recorder
		ask stop
		receive
		while is_left && ((SECONDS < seconds)); do sleep 0.1; done
		! is_left || fail "the recorder has not ended within $seconds s"
	fi
	echo "state stopped"
}

"$action"
