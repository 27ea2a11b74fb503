#!/bin/bash
# perf inject: reads compressed records in all modes, and writes them uncompressed
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

. "$(dirname "$0")/lib/files.sh"

need perf sched:sched_switch

compressed() {
	[ "$("$PERF" report -i "$1" --stats 2> /dev/null |
		grep -c ' COMPRESSED events: *[1-9]')" = 1 ]
}

# same_events IN OUT: check that OUT has the samples of IN, and nothing that is compressed
same_events() {
	local file

	for file; do
		fields "$file" comm,tid,time,event | sort > "$file.samples"
	done
	[ -s "$1.samples" ] || error "${1##*/} has no samples"
	cmp -s "$1.samples" "$2.samples" || error "${2##*/} has other samples than ${1##*/}"
	compressed "$1" || error "${1##*/} has no compressed records"
	! compressed "$2" || error "${2##*/} has compressed records"
	"$PERF" report --header-only -i "$2" 2> /dev/null | grep -q '^# compressed' &&
		error "${2##*/} has the feature COMPRESSED"
}

# Does the header have the build-id of ls?
has_id_of_ls() {
	python3 - "$1" <<-'END' || error "${1##*/} has no build-id of ls"
		import sys
		import perf_data

		BUILD_ID = 2
		image = perf_data.load(sys.argv[1])
		at, size = perf_data.feature(image, BUILD_ID)
		sys.exit(b'/ls\0' not in image[at:at + size])
	END
}

# inject IN OUT [options]
inject() {
	local in=$1 out=$2

	shift 2
	rm -f "$out"
	"$PERF" inject -i "$in" -o "$out" "$@" 2> "$work/inject.err" ||
		error "perf inject $* fails: $(< "$work/inject.err")"
}

subtest "No option: records are copied"
perf_record -z -B --no-buildid-mmap -e page-faults -c 1 -o "$work/plain" -- ls /
inject "$work/plain" "$work/copy"
same_events "$work/plain" "$work/copy"

subtest "Without -b: the build-ids of the header are kept"
perf_record -z --no-buildid-mmap -e page-faults -c 1 -o "$work/table" -- ls /
has_id_of_ls "$work/table"
inject "$work/table" "$work/copy"
has_id_of_ls "$work/copy"

subtest "Output to a pipe"
"$PERF" inject -i "$work/plain" -o - 2> "$work/inject.err" | cat > "$work/piped" ||
	error "perf inject fails: $(< "$work/inject.err")"
same_events "$work/plain" "$work/piped"

subtest "-b: build-ids of what samples hit"
inject "$work/plain" "$work/ids" -b
same_events "$work/plain" "$work/ids"
has_id_of_ls "$work/ids"

subtest "--mmap2-buildid-all: build-ids in the records of maps"
inject "$work/plain" "$work/mmap2" --mmap2-buildid-all
"$PERF" script "${no_symbols[@]}" -i "$work/mmap2" --show-mmap-events 2> /dev/null |
	grep -q 'PERF_RECORD_MMAP2.*<[0-9a-f]\{40\}>.*/ls$' ||
	error "no record with the build-id of ls"

subtest "Closed standard streams: no message gets into the output"
for format in json chrome; do
	"$PERF" data convert -i "$work/plain" --to-$format="$work/open.$format" 2> /dev/null
done
for closed in '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
	rm -f "$work/closed".*
	eval "\"\$PERF\" inject -v -b -i '$work/plain' -o '$work/closed.data' $closed" ||
		error "perf inject fails with $closed"
	same_events "$work/plain" "$work/closed.data"
	for format in json chrome; do
		to="--to-$format=$work/closed.$format"
		eval "\"\$PERF\" data convert -v -i '$work/plain' '$to' $closed"
		cmp -s "$work/open.$format" "$work/closed.$format" ||
			error "--to-$format writes something else with $closed"
	done
done

finish
