#!/bin/bash
# make series BASE=mainline: git am turns the newest linux-source into what make tree prepares
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 900
#
# The first run downloads Linux, as make BASE=mainline does, and unpacks the files concerned.
set -eu

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")

skip() {
	echo "1..0 # SKIP $*"
	exit 2
}

[ "${BASE:-6.12}" = 6.12 ] || skip "the test series has tested BASE=$BASE"
unset LINUX_SOURCE
export BASE=mainline BUILD=$top/build/mainline
status=0
"$top/scripts/prepare-tree" --touched 2> prepare.log || status=$?
cat prepare.log >&2
[ $status != 2 ] || skip "no sources of BASE=mainline: $(grep -m 1 . prepare.log)"
[ $status = 0 ]
BUILD=$BUILD/touched exec "$top/scripts/tests/series.sh"
