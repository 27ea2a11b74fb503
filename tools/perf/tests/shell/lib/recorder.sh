# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2120,SC2154 # used, and set, by those who source this
# Start, control and stop perf record, as root or as an ordinary user.

[ -z "${recorder_sh-}" ] || return 0
recorder_sh=1
. "${BASH_SOURCE[0]%/*}/files.sh"

wrapper=()		# a command to run the recorder under
recorder_out=$work/record.out

# recorder_start [record options]: return when the recorder acknowledges a ping on its control fifo
recorder_start() {
	recorder_launch "$@"
	control ping && return
	gone "$recorder" || fatal "no answer on the control fifo: record $*"
	wait "$recorder"
	fatal "exit status $? before recording started: record $*"
}

recorder_launch() {
	[ -p "$work/ctl" ] || mkfifo "$work/ctl" "$work/ack"
	exec {ctl}<> "$work/ctl" {ack}<> "$work/ack"
	"${wrapper[@]}" "$PERF" record --control "fifo:$work/ctl,$work/ack" "$@" \
		> "$recorder_out" 2> "$work/record.err" &
	recorder=$!
}

# control COMMAND...: return 0 if the command is acknowledged; fail at once if the recorder has
# exited. Set $answer to the answer.
control() {
	local part deadline=$((SECONDS + 20 * patience))

	answer=
	echo "$*" >&"$ctl"
	while ((SECONDS < deadline)); do
		if read -rt 0.2 -u "$ack" part; then
			answer+=$part
			[[ $answer = ack || $answer = "ack "* ]]
			return
		fi
		answer+=$part		# the timeout may expire in the middle of a line
		gone "$recorder" && return 1
	done
	return 1
}

# signal_taken: wait until the copies for a SIGUSR2 that was sent are taken. The thread that takes
# them answers pings as well: the first answer may precede the signal, and the second one the
# copies.
signal_taken() {
	control ping && control ping && control ping || fatal "no answer to 'ping': $answer"
}

# waits_for_disk: return 0 if the main thread waits for the end of a write. It also waits for
# readers that empty the rings, but one of these can run then. The first and the last look see the
# same wait.
waits_for_disk() {
	local main=/proc/$recorder/task/$recorder switches

	grep -q futex "$main/wchan" || return
	switches=$(grep ctxt "$main/status")
	! grep -qE '^State:.[RD]' "/proc/$recorder/task"/*/status || return
	grep -q futex "$main/wchan" && [ "$switches" = "$(grep ctxt "$main/status")" ]
}

# printed PATTERN N: has the recorder printed N lines that match?
printed() {
	[ "$(grep -cE -- "$1" "$work/record.err")" = "$2" ]
}

# request N PATTERN: request a snapshot, wait until a message about it is printed for the Nth time
request() {
	kill -USR2 "$recorder" || fatal "the recorder has exited"
	wait_until 20 printed "$2" "$1" || error "not $1 messages '$2'"
}

# recorder_suspend: stop all threads of the recorder. SIGCONT lets them go on.
recorder_suspend() {
	kill -STOP "$recorder"
	wait_until 20 recorder_suspended || fatal "the recorder does not stop"
}

recorder_suspended() {
	! grep -h '^State:' "/proc/$recorder"/task/*/status | grep -qv 'State:.T'
}

# recorder_idle: return 0 if the recorder uses no CPU time for a second
recorder_idle() {
	local before

	before=$(cut -d ' ' -f 14,15 "/proc/$recorder/stat")
	pause 1
	[ "$before" = "$(cut -d ' ' -f 14,15 "/proc/$recorder/stat")" ]
}

# recorder_end [SECONDS]: wait for the recorder to exit; set $status to its exit status
recorder_end() {
	wait_until "${1:-30}" gone "$recorder" || fatal "the recorder does not exit"
	wait "$recorder"
	status=$?
	exec {ctl}>&- {ack}>&-
}

# recorder_stop [FILE]: stop the recorder; set $snapshots to those of FILE
recorder_stop() {
	control stop || fatal "the recorder does not acknowledge 'stop'"
	recorder_end
	[ "$status" = 0 ] || fatal "perf record exits with status $status, not 0"
	[ $# = 0 ] || find_snapshots "$1"
}

# --- an ordinary user ----------------------------------------------------------------------

# Set up an ordinary user: $public, a directory which that user owns, and the command
# "${as_nobody[@]}", which runs another one with no capability and 8 MB of locked memory. Copy $PERF
# and the helpers if that user cannot run them in place. Return 1 and set $reason if this machine
# does not allow it.
as_nobody_ready() {
	local paranoid

	reason="no setpriv and prlimit to become an ordinary user with"
	command -v setpriv prlimit > /dev/null || return
	paranoid=$(cat /proc/sys/kernel/perf_event_paranoid 2> /dev/null)
	reason="kernel.perf_event_paranoid is ${paranoid:-unknown}, not 2"
	[ "$paranoid" = 2 ] || return
	public=$work/public
	chmod 711 "$work"
	mkdir -p "$public"
	helpers=$work/helpers
	install -D -t "$helpers" "$BUILD"/tests/numbered || fatal "cannot copy the helpers"
	as_nobody=(prlimit --memlock=8388608 setpriv --reuid 65534 --regid 65534 --clear-groups
		--no-new-privs
		env "HOME=$public")
	PERF=$(command -v "$PERF")
	"${as_nobody[@]}" test -x "$PERF" 2> /dev/null || {
		install "$PERF" "$work/perf" || fatal "cannot copy $PERF"
		PERF=$work/perf
	}
	chown -R 65534:65534 "$public"
	reason="an ordinary user cannot run $PERF"
	"${as_nobody[@]}" "$PERF" --version > /dev/null
}

# --- what it says and takes -----------------------------------------------------------------

# in_json TYPE FIELD: print a field of the last object of this type in the summary (--summary=json)
in_json() {
	grep "\"type\":\"$1\"" "$work/record.err" | tail -n 1 |
		python3 -c "import json; print(json.loads(input())$2)"
}

# recorder_memory VmRSS|VmHWM: print the memory of the recorder [kB]
recorder_memory() {
	awk -v key="$1:" '$1 == key { print $2 }' "/proc/$recorder/status" 2> /dev/null
}

# recorder_anonymous: print the largest amount of memory without files that the recorder had [kB]
recorder_anonymous() {
	awk '
		$1 == "VmHWM:" { peak = $2 }
		$1 == "RssFile:" { file = $2 }
		END { print peak - file }' "/proc/$recorder/status"
}

# from_idle FILE: print the CPUs whose idle task has samples in a file, and how many
from_idle() {
	fields "$1" comm,cpu |
		awk '$1 == "swapper" { n[$2]++ } END { for (cpu in n) print cpu, n[cpu] }'
}

# need_idle_events: skip the test if perf gets no events of the idle task of a CPU, although BPF
# does. A virtual machine's kernel was seen in this state.
need_idle_events() {
	local cpu nr

	"$PERF" record -q -a -B -N --bpf-ring=yes -e sched:sched_switch -o "$work/by_bpf" \
		-- sleep 0.5 2> /dev/null &
	"$PERF" record -q -a -B -N --bpf-ring=no -e sched:sched_switch -o "$work/by_perf" \
		-- sleep 0.5 2> /dev/null
	wait "$!" || return 0		# BPF cannot tell
	from_idle "$work/by_perf" > "$work/idle"
	while read -r cpu nr; do
		((nr < 5)) || grep -qF "$cpu" "$work/idle" ||
			skip "this kernel gives perf no events of the idle task of CPU $cpu"
	done < <(from_idle "$work/by_bpf")
}
