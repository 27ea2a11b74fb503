# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2120,SC2154 # used, and set, by those who source this
# Report results in KTAP, check the requirements of a test, and clean up after it.
#
# Creates $work, a directory that is removed at the end together with every child of the shell,
# every process in $started and every mount in $mounted.
#
# A test is a sequence of results:
#
#	subtest TITLE		begin the next result
#	error MESSAGE		the current result has failed; go on
#	fatal MESSAGE		the current result has failed; end the test
#	inconclusive REASON	the current result is SKIP, unless it has failed
#	skip REASON		skip the whole test: exit status 2, as perf test expects
#	note TEXT		print a diagnostic line
#	finish			print the last result and the plan, and exit
#
# A test without subtest() has one result, whose title is that of the test. CONTRIBUTING.md
# describes the format and the exit status.

[ -z "${harness_sh-}" ] || return 0
harness_sh=1

set -u
export LC_ALL=C

PERF=${PERF:-perf}
# Options of perf script and perf report. Without the kernel's symbols they take a fifth of the
# time.
no_symbols=(--kallsyms /dev/null)
tests_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${BUILD:-$tests_dir/../../../build}
export PYTHONPATH=$tests_dir/shell/lib PYTHONDONTWRITEBYTECODE=1

started=()		# ids of processes to end that are no children
mounted=()		# directories to unmount

# --- results -------------------------------------------------------------------------------

results=0		# printed so far
failures=0
result_title=
result_errors=0
result_skip=		# why the current result proves nothing

note() {
	echo "# $*"
}

subtest() {
	result_end
	result_title=$*
	note "$*"
}

result_end() {
	local line

	[ -n "$result_title" ] || ((result_errors)) || [ -n "$result_skip" ] || return 0
	((results++)) || echo "KTAP version 1"
	line="ok $results ${result_title:-setup}"
	if ((result_errors)); then
		line="not $line"
		failures=$((failures + 1))
	elif [ -n "$result_skip" ]; then
		line+=" # SKIP $result_skip"
	fi
	echo "$line"
	result_title='' result_errors=0 result_skip=''
}

error() {
	note "ERROR: $*"
	show_recorder_log
	result_errors=$((result_errors + 1))
}

fatal() {
	error "$@"
	((BASH_SUBSHELL == 0)) || exit 1
	finish
}

inconclusive() {
	note "inconclusive: $*"
	result_skip=$*
}

skip() {
	echo "KTAP version 1"
	echo "1..0 # SKIP $*"
	exit 2
}

finish() {
	[ -n "$result_title" ] || ((results)) || result_title=$(test_title)
	result_end
	echo "1..$results"
	exit $((failures != 0))
}

# The title of this test: the comment below "#!", where perf test looks for it as well
test_title() {
	sed -n '2s/^# *//p' "$0"
}

# Show what the recorder printed, unless that has been shown already.
log_shown=
show_recorder_log() {
	local log

	[ -s "$work/record.err" ] || return 0
	log=$(cksum < "$work/record.err")
	[ "$log" != "$log_shown" ] || return 0
	log_shown=$log
	note "perf record printed:"
	tail -n 20 "$work/record.err" | sed 's/^/#   | /'
}

# --- cleanup -------------------------------------------------------------------------------

all_gone() {
	local i

	for i in "${started[@]}"; do
		gone "$i" || return 1
	done
}

cleanup() {
	local i

	# Not by ids that were noted: that of a process that has ended may be another's by now.
	# SIGTERM first: the recorder then ends its workload.
	patience=1
	mapfile -t -O "${#started[@]}" started < <(pgrep -P $$)
	kill -TERM "${started[@]}" 2> /dev/null
	wait_until 10 all_gone || kill -KILL "${started[@]}" 2> /dev/null
	wait 2> /dev/null
	for i in "${mounted[@]}"; do
		umount "$i"
	done
	rm -rf "$work"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/perf_record_test.XXXXXX") || exit 1
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

# mount_small DIR SIZE: create DIR, and mount a file system of this size there. If that is not
# allowed, the current result is inconclusive: return 1.
mount_small() {
	mkdir -p "$1"
	if mount -t tmpfs -o "size=$2" tmpfs "$1" 2> "$work/mount.err"; then
		mounted+=("$1")
	else
		inconclusive "cannot mount a small tmpfs: $(cat "$work/mount.err")"
		return 1
	fi
}

# --- waiting -------------------------------------------------------------------------------

# This fifo has no writer: a read from it with a timeout sleeps without starting a process.
mkfifo "$work/never"
exec {never}<> "$work/never"

pause() {
	read -rt "$1" -u "$never" || true
}

# wait_until SECONDS COMMAND...: return 0 as soon as the command does, 1 at the deadline. SECONDS is
# enough on an idle machine. The deadline is there for what never happens: wait longer, since a busy
# machine may give a task a small part of a CPU.
patience=10
wait_until() {
	local deadline=$((SECONDS + $1 * patience + 1))

	shift
	until "$@"; do
		((SECONDS < deadline)) || return 1
		pause 0.02
	done
}

gone() {
	! kill -0 "$1" 2> /dev/null
}

# perf_record [record options]: record, or end the test; what the command prints is in $work/issued
perf_record() {
	"$PERF" record "$@" > "$work/issued" 2> "$work/record.err" ||
		fatal "perf record exits with status $?"
}

# reports [grep options] PATTERN: check that perf record has printed this
reports() {
	grep -q "$@" "$work/record.err" || error "perf record does not print: ${*: -1}"
}

# fields FILE FIELDS [script options]: print these fields of the samples; $work/script.err has the
# messages of perf script
fields() {
	"$PERF" script "${no_symbols[@]}" -f -i "$1" -F "$2" "${@:3}" 2> "$work/script.err"
}

# --- requirements --------------------------------------------------------------------------

# need WORD...: skip the test unless it can run here. A word is one of these:
#
#	perf		$PERF is there
#	root		the user is root
#	SYSTEM:NAME	the kernel has this tracepoint
#	NAME		this program of tests/helpers is built
need() {
	local word

	for word; do
		case $word in
		perf)	command -v "$PERF" > /dev/null || skip "no $PERF; set PERF" ;;
		root)	[ "$(id -u)" = 0 ] || skip "needs root" ;;
		*:*)	has_tracepoint "$word" ||
				skip "no tracepoint $word (tracefs is not mounted, or the kernel lacks the event)" ;;
		*)	[ -x "$BUILD/tests/$word" ] || skip "$BUILD/tests/$word is not built" ;;
		esac
	done
}

has_tracepoint() {
	local dir

	for dir in /sys/kernel/tracing /sys/kernel/debug/tracing; do
		[ -d "$dir/events/${1/://}" ] && return
	done
	return 1
}

# bpf_ring_works [record options]: can BPF programs write these events? $no_bpf_ring says why not.
bpf_ring_works() {
	"$PERF" record --bpf-ring=yes -o "$work/data" "$@" -- true 2> "$work/record.err" && return
	no_bpf_ring=$(grep -m 1 -o 'no event can be written by BPF: .*' "$work/record.err" ||
		tail -n 1 "$work/record.err")
	return 1
}

# need_bpf_ring [record options]: skip the test unless they can
need_bpf_ring() {
	bpf_ring_works "$@" || skip "$no_bpf_ring"
}
