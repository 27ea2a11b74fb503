# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Run stress.c, which prints the same line in each round, and check its output in $work/out. Source
# this after guest.sh and recorder.sh.
# shellcheck disable=SC2154		# $work, $stress

# Open the input of the program, which runs until it can read something.
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

# has_rounds NUMBER: return 0 if that many rounds were printed, or the program has exited
has_rounds() {
	local lines

	mapfile -t lines < "$work/out"
	((${#lines[@]} >= $1)) || gone "$program"
}

# rounds_done NUMBER: wait until that many more rounds were printed
rounds_done() {
	wait_until 300 has_rounds $(($(wc -l < "$work/out") + $1))
}

# Check that each round printed the same line as the untraced program.
unchanged() {
	echo "$(wc -l < "$work/out") rounds"
	[ "$(sort -u "$work/out")" = "$truth" ]
}

untraced() {
	truth=$("$stress" < /dev/null) && echo "$truth" && [ "$("$stress" < /dev/null)" = "$truth" ]
}

# Check that the program goes on, and exits with 0, when nobody traces it any more.
after_detach() {
	rounds_done 2 || return
	close_input
	wait_until 300 gone "$program" || return
	wait "$program" && unchanged
}
