# Send commands to a recorder by the FIFOs of perf record --control, and wait for the answers
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # $reason is for the caller
#
# perf fleet sends this text in front of remote.sh, and the service's snapshot script sources it.
# Both functions return 1 and set $reason if there is no answer, or if the command has failed.
#
# Clients lock the FIFO of the answers until they have theirs. An answer repeats the id of its
# command: answers to clients that have stopped waiting are skipped.

# request DIR COMMAND SECONDS: write a command to DIR/control
request() {
	reason="cannot open $1/control and $1/answers"
	exec 8<> "$1/control" 7<> "$1/answers" || return
	reason="the recorder has not answered another client within $3 s"
	flock -w "$3" 7 || return
	id=$$-$(date +%s%N)
	echo "$2 id=$id" >&8
}

# await_answer SECONDS: wait for the answer to request(); set $answer to what follows "ack"
await_answer() {
	local deadline=$((SECONDS + $1)) line

	reason="the recorder has not answered within $1 s"
	while ((SECONDS < deadline)) && IFS= read -rt $((deadline - SECONDS)) -u 7 line; do
		case "$line " in
		"ack id=$id "*)
			answer=${line#"ack id=$id"} answer=${answer# }
			flock -u 7
			return ;;
		# The latter if the recorder knows no ids
		"error: id=$id "* | "error: "*" id=$id'"*)
			line=${line#error: }
			reason="the recorder answers: ${line#"id=$id "}"
			flock -u 7
			return 1 ;;
		esac
	done
	return 1
}
