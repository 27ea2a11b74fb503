# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2120,SC2154 # used, and set, by those who source this
# Record the numbered workload, take snapshots of it, and check that no call is missing or repeated.
#
# The workload issues system calls that carry a number (helpers/numbered.c); numbered_check then
# finds each missing, repeated or misplaced record without trusting any count of the recorder.

[ -z "${numbered_sh-}" ] || return 0
numbered_sh=1
. "${BASH_SOURCE[0]%/*}/recorder.sh"

# The workload gets a name of its own, which tells it from that of another test in system-wide
# recordings.
comm=numb$$
ln -s "$(realpath -m "$BUILD/tests/numbered")" "$work/$comm"

# need_numbered [WORD...]: skip the test unless the numbered workload can be recorded and checked;
# the words are those of need
need_numbered() {
	need perf root numbered numbered_check raw_syscalls:sys_enter "$@"
}

# Start the workload in the background: $numbered is its process id, $work/issued its report.
numbered_start() {
	"$work/$comm" "$@" > "$work/issued" &
	numbered=$!
}

numbered_end() {
	wait "$numbered" || fatal "the numbered workload failed"
}

# numbered_event [TERMS]: set $event to the options that record the workload's calls and no others,
# in rings of perf
numbered_event() {
	event=(-e "raw_syscalls:sys_enter${1:+/$1/}"
		--filter "id == $("$work/$comm" --print-nr) && comm == \"$comm\"" --bpf-ring=no)
}

# numbered_calls TAG COUNT [OPTIONS]: issue calls from one thread; all have been issued on return
numbered_calls() {
	"$work/$comm" --threads 1 --tag "$1" --count "$2" "${@:3}" > "$work/issued" ||
		fatal "the numbered workload failed"
}

# lossless COMMAND...: run a command that records; again, at most twice, if the recorder reports
# lost events: on a busy machine, it may get no CPU in time. The command can issue calls at a lower
# rate in a later $attempt. The caller checks that all calls are there.
lossless() {
	local lost

	for attempt in 1 2 3; do
		"$@"
		lost=$(grep -oE -m 1 'Lost [1-9][0-9]* events?|"lost":[1-9][0-9]*' \
			"$work/record.err") || return 0
		note "attempt $attempt: $lost"
	done
}

trace_options=()			# of perf script
# numbered_trace FILE...: print what numbered_check reads; fail if a file cannot be read
numbered_trace() {
	local file

	for file; do
		echo "# file ${file##*/}"
		"$PERF" script "${no_symbols[@]}" "${trace_options[@]}" -f -i "$file" -F trace \
			2> "$work/script.err" && continue
		echo "# cannot read $file" >&2
		sed 's/^/#   | /' "$work/script.err" >&2
		return 1
	done
}

# numbered_check FILE... [-- options]: check that the files hold every call, once and in order
numbered_check() (
	files=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		files+=("$1")
		shift
	done
	[ $# -gt 0 ] && shift
	set -o pipefail
	numbered_trace "${files[@]}" | "$BUILD/tests/numbered_check" "$@"
)

# all_there FILE...: check that the files hold every call from the first on, once and in order
all_there() {
	numbered_check "$@" -- --quiet --from-start --expect "$work/issued" ||
		error "calls are missing or repeated"
}

# numbered_ranges FILE: print the tags found and the range of numbers of each, as "TAG:FIRST-LAST
# ..."
numbered_ranges() {
	numbered_check "$1" | awk '$1 == "thread" { print $2 $4 "-" $6 }' | tr -d , | xargs
}

# holds FILE RANGES: check which calls a file holds
holds() {
	local ranges

	ranges=$(numbered_ranges "$1")
	[ "$ranges" = "$2" ] || error "${1##*/} holds '$ranges', not '$2'"
}

# --- snapshots of the workload -------------------------------------------------------------

# overwritten_between: for each snapshot but the first, print the number of bytes overwritten before
# it was taken, as reported by record -v
overwritten_between() {
	grep -oE '[0-9]+ bytes overwritten before' "$work/record.err" | awk 'NR > 1 { print $1 }'
}

# snapshots_of_numbered signal|control SECONDS [record options]: take snapshots of the calls every
# $interval seconds, to $work/data*. On return the recorder has exited, $requested is the number of
# snapshots that were asked for, and $snapshots are the files.
interval=0.1
numbered_options=()			# more options of the workload
snapshots_of_numbered() {
	local how=$1 seconds=$2

	shift 2
	rm -f "$work"/data*
	numbered_event overwrite
	recorder_start -v -a -m 1024 "${event[@]}" -o "$work/data" "$@"
	numbered_start --rate "${RATE:-100000}" --duration "$seconds" "${numbered_options[@]}"
	requested=0
	until gone "$numbered"; do
		pause "$interval"
		if [ "$how" = signal ]; then
			kill -USR2 "$recorder" || fatal "the recorder has exited"
		else
			control snapshot || fatal "snapshot $requested is not acknowledged"
		fi
		requested=$((requested + 1))
	done
	numbered_end
	recorder_stop "$work/data"
}

# gapless_snapshots signal|control SECONDS [record options]: take snapshots and check that together
# they hold every call once. A ring holds 0.6 s of these calls. If the recorder got no CPU for that
# long, calls are overwritten, which proves nothing: the run is repeated, at most three times.
# Return 0 if all is well, 1 if there are faults, 2 if each run was inconclusive.
gapless_snapshots() {
	local attempt files

	for attempt in 1 2 3; do
		snapshots_of_numbered "$@"
		files=("${snapshots[@]}")
		[ -e "$work/data" ] && files+=("$work/data")
		note "$requested snapshots requested by $1, ${#files[@]} files"
		# The first snapshot is requested 0.1 s after the first call, so that the snapshots
		# together hold all calls from the first to the last.
		numbered_check "${files[@]}" -- --from-start --expect "$work/issued" && return
		overwritten_between | grep -qv '^0$' || return 1
		note "attempt $attempt is inconclusive: the recorder was late, and reported overwritten bytes"
	done
	return 2
}

# expect_gapless signal|control SECONDS [record options]: gapless_snapshots as part of a result
expect_gapless() {
	gapless_snapshots "$@"
	case $? in
	0) ;;
	2) inconclusive "the recorder got no CPU for longer than a ring lasts, in three runs" ;;
	*) error "calls are missing or repeated" ;;
	esac
}
