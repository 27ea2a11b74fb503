#!/bin/bash
# perf record: build-ids are in the file, and binaries in the build-id cache
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel

# shellcheck source=lib/files.sh
. "$(dirname "$0")/lib/files.sh"

need_perf

binary=$(readlink -f "$(command -v sh)")
id=$("$PERF" buildid-list -i "$binary") || skip "$binary has no build-id"
export HOME=$work/home
mkdir "$HOME"

# record OPTION...: take samples of $binary
record() {
	subtest "perf record $*"
	rm -rf "$HOME/.debug" "$work/data"
	"$PERF" record -e cpu-clock:u -c 100000 -o "$work/data" "$@" -- \
		sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done' 2> "$work/record.err" ||
		error "perf record fails"
}

# expect WHAT...: check that $binary is just there: in a "table" of the header, in mmap "records", in the "cache"
expect() {
	local found=()

	"$PERF" buildid-list -i "$work/data" 2> "$work/script.err" | grep -q "^$id " || error "no build-id of $binary"
	"$PERF" report --header-only -I -i "$work/data" 2> "$work/script.err" |
		grep -q '^# missing features.* BUILD_ID' || found+=(table)
	"$PERF" script --show-mmap-events -i "$work/data" 2> "$work/script.err" |
		grep -q "MMAP2.*<$id>.*$binary" && found+=(records)
	[ -e "$HOME/.debug/.build-id/${id:0:2}/${id:2}" ] && found+=(cache)
	[ "${found[*]}" = "$*" ] || error "the build-id is in: ${found[*]}; expected: $*"
}

record
expect table cache

record -N
expect table

finish
