# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What tests share whose program is stress: sourced behind guest.sh and recording.sh. It prints the same line,
# round by round, into $work/out.
# shellcheck disable=SC2154		# $work, $stress

# The program goes on until it is told to end.
open_input() {
	rm -f "$work/in"
	mkfifo "$work/in"
	exec {in}<> "$work/in"
	: > "$work/out"
}

close_input() {
	echo >&"$in"
	exec {in}>&-
}

# has_rounds NUMBER: or will have no more
has_rounds() {
	local lines

	mapfile -t lines < "$work/out"
	((${#lines[@]} >= $1)) || gone "$program"
}

# rounds_done NUMBER: more than there were
rounds_done() {
	wait_until 300 has_rounds $(($(wc -l < "$work/out") + $1))
}

# Whatever was done to the program, each of its rounds printed the same.
unchanged() {
	echo "$(wc -l < "$work/out") rounds"
	[ "$(sort -u "$work/out")" = "$truth" ]
}

untraced() {
	truth=$("$stress" < /dev/null) && echo "$truth" && [ "$("$stress" < /dev/null)" = "$truth" ]
}

on_its_own() {
	rounds_done 2 || return
	close_input
	wait_until 300 gone "$program" || return
	wait "$program" && unchanged
}
