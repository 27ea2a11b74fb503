# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the record_overwrite tests share. Sourced first; makes $work, removed at the end together
# with every process the test started.

set -u
export LC_ALL=C

PERF=${PERF:-perf}
tests_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${BUILD:-$tests_dir/../../../build}

started=()		# process ids to end
mounted=()		# directories to unmount
failures=0

skip() {
	echo "skip: $*"
	exit 2
}

# The end of the test; wrong() lets it go on with what else there is to check.
fail() {
	echo "FAIL: $*"
	recorder_said
	exit 1
}

wrong() {
	echo "FAIL: $*"
	recorder_said
	failures=$((failures + 1))
}

ok() {
	echo "ok: $*"
}

# finish: the exit status of a test that used wrong()
finish() {
	((failures == 0)) || echo "$failures checks failed"
	exit $((failures != 0))
}

# Once for each recorder is enough
recorder_said() {
	[ -s "$work/record.err" ] && [ ! -e "$work/said" ] || return 0
	echo "  the recorder said:"
	tail -n 20 "$work/record.err" | sed 's/^/  | /'
	touch "$work/said"
}

all_gone() {
	local i

	for i in "${started[@]}"; do
		gone "$i" || return 1
	done
}

cleanup() {
	local i

	# Asked first: the recorder ends its workload then
	kill -TERM "${started[@]}" 2> /dev/null
	wait_until 5 all_gone || kill -KILL "${started[@]}" 2> /dev/null
	wait 2> /dev/null
	for i in "${mounted[@]}"; do
		umount "$i"
	done
	rm -rf "$work"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/record_overwrite.XXXXXX") || exit 1
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

# Nothing ever comes out of this one: pause() waits on it without starting a process.
mkfifo "$work/never"
exec {never}<> "$work/never"

pause() {
	read -rt "$1" -u "$never" || true
}

# wait_until SECONDS COMMAND...: true as soon as the command is, false at the deadline
wait_until() {
	local deadline=$((SECONDS + $1 + 1))

	shift
	until "$@"; do
		((SECONDS < deadline)) || return 1
		pause 0.02
	done
}

gone() {
	! kill -0 "$1" 2> /dev/null
}

# --- what the machine must have ------------------------------------------------------------

need_perf() {
	command -v "$PERF" > /dev/null || skip "no $PERF; say which with PERF=..."
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

# need_helpers NAME...: programs of tests/helpers, built
need_helpers() {
	local name

	for name; do
		[ -x "$BUILD/tests/$name" ] || skip "$BUILD/tests/$name is not built"
	done
	ln -sf "$(realpath "$BUILD/tests/numbered")" "$work/$comm"
}

need_tracepoint() {
	local dir

	for dir in /sys/kernel/tracing /sys/kernel/debug/tracing; do
		[ -d "$dir/events/${1/://}" ] && return
	done
	skip "no tracepoint $1 here (no tracefs, or a kernel without it)"
}

# need_numbered [HELPER...]: what it takes to record and check the numbered workload; and those helpers
need_numbered() {
	need_perf
	need_root
	need_helpers numbered numbered_check "$@"
	need_tracepoint raw_syscalls:sys_enter
}

# --- the recorder --------------------------------------------------------------------------

wrapper=()		# a command to run the recorder under
recorder_out=$work/record.out

# recorder_start [record options]: returns when the recorder answers on its control fifo
recorder_start() {
	recorder_launch "$@"
	control ping && return
	gone "$recorder" || fail "the recorder does not answer: record $*"
	wait "$recorder"
	fail "the recorder ends with status $? before it records: record $*"
}

recorder_launch() {
	[ -p "$work/ctl" ] || mkfifo "$work/ctl" "$work/ack"
	exec {ctl}<> "$work/ctl" {ack}<> "$work/ack"
	rm -f "$work/said"
	"${wrapper[@]}" "$PERF" record --control "fifo:$work/ctl,$work/ack" "$@" \
		> "$recorder_out" 2> "$work/record.err" &
	recorder=$!
	started+=("$recorder")
}

# control COMMAND...: true if acknowledged; false at once if the recorder is gone
control() {
	local part answer='' deadline=$((SECONDS + 20))

	echo "$*" >&"$ctl"
	while ((SECONDS < deadline)); do
		if read -rt 0.2 -u "$ack" part; then
			[ "$answer$part" = ack ]
			return
		fi
		answer+=$part		# the time may be up in the middle of a line
		gone "$recorder" && return 1
	done
	return 1
}

# recorder_idle: true if it takes no CPU time for a second
recorder_idle() {
	local before

	before=$(cut -d ' ' -f 14,15 "/proc/$recorder/stat")
	pause 1
	[ "$before" = "$(cut -d ' ' -f 14,15 "/proc/$recorder/stat")" ]
}

# recorder_end [SECONDS]: wait for its end; its exit status is in $status
recorder_end() {
	wait_until "${1:-30}" gone "$recorder" || fail "the recorder does not end"
	wait "$recorder"
	status=$?
	exec {ctl}>&- {ack}>&-
}

recorder_stop() {
	control stop || fail "the recorder does not acknowledge 'stop'"
	recorder_end
	[ "$status" = 0 ] || fail "the recorder ended with status $status, not 0"
}

# --- the numbered workload -----------------------------------------------------------------

# The workload under a name of its own, so that system-wide recordings can tell it from another
# test's on the same machine
comm=numb$$

# Start the numbered workload; it is over when gone "$numbered", and $work/issued says what it did.
numbered_start() {
	"$work/$comm" "$@" > "$work/issued" &
	numbered=$!
	started+=("$numbered")
}

numbered_end() {
	wait "$numbered" || fail "the numbered workload failed"
}

# numbered_event [TERMS]: the options to record exactly its calls, system-wide or not, in $event
numbered_event() {
	event=(-e "raw_syscalls:sys_enter${1:+/$1/}"
		--filter "id == $("$work/$comm" --print-nr) && comm == \"$comm\"")
}

# numbered_trace FILE...: the text numbered_check reads; false if a file cannot be read
numbered_trace() {
	local file

	for file; do
		echo "# file ${file##*/}"
		"$PERF" script -f -i "$file" -F trace 2> "$work/script.err" && continue
		echo "unreadable: $file" >&2
		sed 's/^/  | /' "$work/script.err" >&2
		return 1
	done
}

# numbered_check FILE... [-- options]: is every call in the files, once and in order?
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

# --- an ordinary user ----------------------------------------------------------------------

# Make $public, a directory of that user's, and the command "${as_nobody[@]}" to run another with no
# capability and 8 MB of locked memory; see that it can run $PERF and the helpers, or copy them
as_nobody_ready() {
	local paranoid

	command -v setpriv prlimit > /dev/null || skip "no setpriv and prlimit to become an ordinary user with"
	paranoid=$(cat /proc/sys/kernel/perf_event_paranoid 2> /dev/null)
	[ "$paranoid" = 2 ] || skip "kernel.perf_event_paranoid is ${paranoid:-unknown} here, this is about 2"
	public=$work/public
	chmod 711 "$work"
	mkdir -p "$public"
	helpers=$work/helpers
	install -D -t "$helpers" "$BUILD"/tests/numbered || fail "cannot copy the helpers"
	as_nobody=(prlimit --memlock=8388608 setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs
		env "HOME=$public")
	PERF=$(command -v "$PERF")
	"${as_nobody[@]}" test -x "$PERF" 2> /dev/null || {
		install "$PERF" "$work/perf" || fail "cannot copy $PERF"
		PERF=$work/perf
	}
	chown -R 65534:65534 "$public"
	"${as_nobody[@]}" "$PERF" --version > /dev/null || skip "an ordinary user cannot run $PERF"
}

# --- the files -----------------------------------------------------------------------------

# FILE.<timestamp>..., oldest first, in the array $snapshots
find_snapshots() {
	shopt -s nullglob
	snapshots=("$1".[0-9]*)
	shopt -u nullglob
}

# oldest_first FILE...: within each CPU the samples of the file, as they lie in it, go up in time.
# For files with one overwritten event: several rings of a CPU may be written one after the other.
oldest_first() {
	local file

	for file; do
		"$PERF" script -f -i "$file" --dump-unsorted-raw-trace 2> /dev/null |
			grep -a PERF_RECORD_SAMPLE |
			awk -v file="${file##*/}" '
				$2 + 0 < last[$1] { back++ }
				{ last[$1] = $2 + 0 }
				END {
					if (!NR)
						print file ": no sample"
					else if (back)
						print file ": " back " of " NR " samples are older than the one before"
					exit !NR || back
				}' || return 1
	done
}

# samples FILE [script options]: how many, as perf script sees them
samples() {
	local file=$1

	shift
	"$PERF" script -f -i "$file" -F event "$@" 2> /dev/null | wc -l
}

# A perf older than the one under test, if there is one to read the files with
old_perf=${OLD_PERF:-/usr/bin/perf}
if [ ! -x "$old_perf" ] || [ "$("$old_perf" --version)" = "$("$PERF" --version 2> /dev/null)" ]; then
	old_perf=
fi

# readable FILE...: do $PERF and the older perf open it, and see the same number of samples?
readable() {
	local file perf count counts

	for file; do
		counts=()
		for perf in "$PERF" ${old_perf:+"$old_perf"}; do
			if ! "$perf" report -f -i "$file" --stdio > /dev/null 2> "$work/report.err" ||
			   ! "$perf" script -f -i "$file" > "$work/readable.out" 2>> "$work/report.err"; then
				echo "$("$perf" --version) does not read ${file##*/} ($(stat -c %s "$file") bytes):"
				sed 's/^/  | /' "$work/report.err"
				return 1
			fi
			"$perf" script -f -i "$file" -F event > "$work/readable.out" 2> /dev/null
			count=$(wc -l < "$work/readable.out")
			counts+=("$count")
		done
		if [ "${counts[0]}" != "${counts[-1]}" ]; then
			echo "${file##*/} has ${counts[0]} samples for the new perf, ${counts[-1]} for the old"
			return 1
		fi
	done
}

# --- the run behind several tests ----------------------------------------------------------

# Of each snapshot but the first, the bytes that were overwritten before it could have them, as the
# recorder's -v tells
overwritten_between() {
	grep -oE '[0-9]+ bytes overwritten before' "$work/record.err" | awk 'NR > 1 { print $1 }'
}

# snapshots_of_numbered signal|control SECONDS [record options]: snapshots of the numbered calls,
# $interval seconds apart, to $work/data*; returns with the recorder ended and $taken, the snapshots
# asked for
interval=0.1
snapshots_of_numbered() {
	local how=$1 seconds=$2

	shift 2
	rm -f "$work"/data*
	numbered_event overwrite
	recorder_start -v -a -m 1024 "${event[@]}" -o "$work/data" "$@"
	numbered_start --rate "${RATE:-100000}" --duration "$seconds"
	taken=0
	until gone "$numbered"; do
		pause "$interval"
		if [ "$how" = signal ]; then
			kill -USR2 "$recorder" || fail "the recorder is gone"
		else
			control snapshot || fail "snapshot $taken is not acknowledged"
		fi
		taken=$((taken + 1))
	done
	numbered_end
	recorder_stop
	find_snapshots "$work/data"
}

# gapless_snapshots signal|control SECONDS [record options]: the same, and nothing may be missing or
# repeated. A ring holds 0.6 s of these calls: if the recorder got no CPU for so long, the run shows
# nothing, and is repeated. Returns whether all is well; $snapshots are the files.
gapless_snapshots() {
	local attempt files

	for attempt in 1 2 3; do
		snapshots_of_numbered "$@"
		files=("${snapshots[@]}")
		[ -e "$work/data" ] && files+=("$work/data")
		echo "$taken snapshots asked for by $1, ${#files[@]} files"
		# The first snapshot is asked for 0.1 s after the first call, so the snapshots
		# together hold the calls from the first to the last.
		numbered_check "${files[@]}" -- --from-start --expect "$work/issued" && return
		overwritten_between | grep -qv '^0$' || return 1
		echo "the recorder was late, and says that it was: attempt $attempt shows nothing"
	done
	return 1
}
