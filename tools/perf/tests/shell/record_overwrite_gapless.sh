#!/bin/bash
# perf record /overwrite/: snapshots at 10 Hz together hold every call once
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 400
# tags: parallel long

. "$(dirname "$0")/lib/numbered.sh"

need_numbered

seconds=${GAPLESS_SECONDS:-${NIGHT:+30}}
seconds=${seconds:-2}
short=${NIGHT:+3}
short=${short:-1}

subtest "snapshots by SIGUSR2, one file each"
expect_gapless signal "$seconds" --switch-output=signal
# Requests that arrive while a file is completed are merged: on a busy machine there are fewer
# files.
((${#snapshots[@]} >= 3)) || error "only ${#snapshots[@]} files in $seconds s"
reports -i lost

# Only the largest files: all of them would take minutes, and the last one may be empty.
mapfile -t large < <(find "$work" -name 'data.*' -printf '%s %p\n' | sort -rn | head -n 3 |
	cut -d' ' -f2)
oldest_first "${large[@]}" || error "records are not written oldest first"
readable "${large[@]}" || error "a file cannot be read"

subtest "snapshots by --control, one file each"
expect_gapless control $short --switch-output=signal
# One more at the end
((${#snapshots[@]} == requested + 1)) ||
	error "${#snapshots[@]} files for $requested acknowledged snapshots"

subtest "snapshots by --control in one file"
expect_gapless control $short
[ "${#snapshots[@]}" = 0 ] || error "there are other files: ${snapshots[*]##*/}"
oldest_first "$work/data" || error "records are not written oldest first"
readable "$work/data" || error "the file cannot be read"

finish
