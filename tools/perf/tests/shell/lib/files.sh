# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2120,SC2154 # used, and set, by those who source this
# Find perf.data files, count their samples, and check that current and older perf read them.

[ -z "${files_sh-}" ] || return 0
files_sh=1
. "${BASH_SOURCE[0]%/*}/harness.sh"

# find_snapshots FILE: set $snapshots to FILE.<timestamp>..., oldest first
find_snapshots() {
	shopt -s nullglob
	snapshots=("$1".[0-9]*)
	shopt -u nullglob
}

# oldest_first FILE...: check that the samples of each CPU are written in order of time. For files
# with one overwritten event: several rings of a CPU may be written one after the other. The sample
# that describes a snapshot (its address is 0) may be newer than what the next one begins with.
oldest_first() {
	local file

	for file; do
		"$PERF" script -f -i "$file" --dump-unsorted-raw-trace 2> /dev/null |
			grep -a PERF_RECORD_SAMPLE |
			awk -v file="${file##*/}" '
				/: 0 period:/ { next }
				{ n++ }
				$2 + 0 < last[$1] { back++ }
				{ last[$1] = $2 + 0 }
				END {
					if (!n)
						print "# " file ": no sample"
					else if (back)
						print "# " file ": " back " of " n \
							" samples are older than the previous one"
					exit !n || back
				}' || return 1
	done
}

# samples FILE [script options]: print how many samples perf script finds, without those that
# describe snapshots
samples() {
	fields "$1" event "${@:2}" | grep -cv '^ *snapshot:'
}

# A perf older than the one under test, if there is one to read the files with
old_perf=${OLD_PERF:-/usr/bin/perf}
if [ ! -x "$old_perf" ] ||
	[ "$("$old_perf" --version)" = "$("$PERF" --version 2> /dev/null)" ]; then
	old_perf=
fi

# readable FILE...: check that $PERF and the older perf open each file and find the same number of
# samples; set $readable_samples to the number in the last file
readable() {
	local file perf counts

	for file; do
		counts=()
		for perf in "$PERF" ${old_perf:+"$old_perf"}; do
			if ! "$perf" report "${no_symbols[@]}" -f -i "$file" --stdio \
				> /dev/null 2> "$work/report.err" ||
			   ! "$perf" script "${no_symbols[@]}" -f -i "$file" \
				> "$work/readable.out" 2>> "$work/report.err"; then
				note "$("$perf" --version) cannot read ${file##*/} ($(stat -c %s "$file") bytes):"
				sed 's/^/#   | /' "$work/report.err"
				return 1
			fi
			# One line for each sample; the lines of call chains begin with a tab.
			counts+=("$(grep -acv -e $'^\t' -e '^$' "$work/readable.out")")
		done
		if [ "${counts[0]}" != "${counts[-1]}" ]; then
			note "${file##*/}: $PERF finds ${counts[0]} samples, the older perf ${counts[-1]}"
			return 1
		fi
		readable_samples=${counts[0]}
	done
}
