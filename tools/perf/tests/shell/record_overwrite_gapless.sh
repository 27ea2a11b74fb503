#!/bin/bash
# perf record overwrite: snapshots at 10 Hz miss and repeat nothing
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 240

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered

seconds=${GAPLESS_SECONDS:-30}

gapless_snapshots signal "$seconds" --switch-output=signal || wrong "by signal: the snapshots have faults"
# Requests that come while a file is completed become one snapshot: on a busy machine there are fewer files
((${#snapshots[@]} >= 5)) || wrong "only ${#snapshots[@]} files in $seconds s"
grep -qi lost "$work/record.err" || wrong "the recorder says nothing about lost records"

# Not all of the files, for that would take minutes: the largest. The last may be empty.
mapfile -t large < <(find "$work" -name 'data.*' -printf '%s %p\n' | sort -rn | head -n 3 | cut -d' ' -f2)
oldest_first "${large[@]}" || wrong "records are not written oldest first"
readable "${large[@]}" || wrong "a file cannot be read"

gapless_snapshots control 3 --switch-output=signal || wrong "by control: the snapshots have faults"
# One more at the end
((${#snapshots[@]} == requested + 1)) || wrong "${#snapshots[@]} files for $requested acknowledged snapshots"

# Without --switch-output the snapshots follow each other in one file
gapless_snapshots control 3 || wrong "in one file: the snapshots have faults"
[ "${#snapshots[@]}" = 0 ] || wrong "there are other files than the one: ${snapshots[*]##*/}"
oldest_first "$work/data" || wrong "in one file: records are not written oldest first"
readable "$work/data" || wrong "the file cannot be read"

finish
