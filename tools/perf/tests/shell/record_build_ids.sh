#!/bin/bash
# perf record: build-ids are in the file, and binaries in the build-id cache
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel

. "$(dirname "$0")/lib/files.sh"

need perf

binary=$(readlink -f "$(command -v sh)")
id=$("$PERF" buildid-list -i "$binary") || skip "$binary has no build-id"
export HOME=$work/home
mkdir "$HOME"

# record OPTION...: take samples of $binary
record() {
	subtest "perf record $*"
	rm -rf "$HOME/.debug" "$work/data"
	perf_record -e cpu-clock:u -c 100000 -o "$work/data" "$@" -- \
		sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'
}

# expect WHAT...: check that $binary is just there: in a "table" of the header, in mmap "records",
# in the "cache"
expect() {
	local found=()

	"$PERF" buildid-list -i "$work/data" 2> "$work/script.err" | grep -q "^$id " ||
		error "no build-id of $binary"
	"$PERF" report --header-only -I -i "$work/data" 2> "$work/script.err" |
		grep -q '^# missing features.* BUILD_ID' || found+=(table)
	"$PERF" script --show-mmap-events -i "$work/data" 2> "$work/script.err" |
		grep -q "MMAP2.*<$id>.*$binary" && found+=(records)
	[ -e "$HOME/.debug/.build-id/${id:0:2}/${id:2}" ] && found+=(cache)
	[ "${found[*]}" = "$*" ] || error "the build-id is in: ${found[*]}; expected: $*"
}

record --no-buildid-mmap
expect table cache

record --no-buildid-mmap -N
expect table

subtest "perf record --no-buildid-mmap -B"
perf_record -B --no-buildid-mmap -e cpu-clock:u -o "$work/data" true
"$PERF" script --show-mmap-events -i "$work/data" 2> "$work/script.err" |
	grep -q 'MMAP2.*<[0-9a-f]' &&
	error "there are build-ids"

if grep -q 'does not put build-ids' \
	< <("$PERF" record --buildid-mmap -o /dev/null -e dummy true 2>&1); then
	subtest "--buildid-mmap"
	inconclusive "the kernel does not put build-ids into mmap records"
	finish
fi

record --buildid-mmap
expect records cache

for option in -N -B; do
	record --buildid-mmap $option
	expect records
done

# launch NAME PERF OPTION...: record the target; return when the events are enabled
launch() {
	local name=$1 perf=$2

	shift 2
	"$perf" record -vvv -e dummy -p "$target" -o "$work/$name" "$@" > "$work/$name.err" 2>&1 &
	recorders+=($!)
	wait_until 20 grep -qs 'perf record has started' "$work/$name.err" ||
		fatal "$name: $(tail -n 3 "$work/$name.err")"
}

# If the kernel marks the records of all events, the default must not ask for build-ids: neither
# order may give them to a recorder that does not ask.
subtest "the default does no harm to another recorder"
other=${old_perf:-${NEWEST_PERF:-}}
[ "$other" ] || inconclusive "there is no other perf"
for order in ${other:+"ours theirs" "theirs ours"}; do
	rm -f "$work"/{go,ours,theirs}*
	mkfifo "$work/go"
	bash -c 'read -r; exec true' <> "$work/go" &
	target=$!
	recorders=()
	for name in $order; do
		[ $name = theirs ] || launch ours "$PERF"
		[ $name = ours ] || launch theirs "$other" --no-buildid-mmap
	done
	echo > "$work/go"
	wait "$target" "${recorders[@]}"
	"$PERF" script --show-mmap-events -i "$work/theirs" > "$work/maps" 2> "$work/script.err"
	grep -q 'MMAP2.*bin/true' "$work/maps" ||
		error "$order: the other recorder has no map of true"
	grep 'MMAP2.*<[0-9a-f]' "$work/maps" && error "$order: the other recorder has build-ids"
done
"$PERF" evlist -v -i "$work/ours" 2> /dev/null | grep -q 'build_id: 1' && by_default=yes
note "build-ids by default: ${by_default:-no}"

finish
