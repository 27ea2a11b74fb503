#!/bin/bash
# tools/perf/recording/lib/compat.h: each function hides a difference between Linux 6.12 and mainline
# SPDX-License-Identifier: GPL-2.0-only
# tags: night
# timeout: 900
#
# The first run downloads Linux, as make BASE=mainline does, and unpacks it.
set -eu

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
unset LINUX_SOURCE
for base in 6.12 mainline; do
	build=$top/build/$base
	status=0
	BASE=$base BUILD=${build%/6.12} "$top/scripts/prepare-tree" 2> prepare.log || status=$?
	cat prepare.log >&2
	if [ $status = 2 ]; then
		echo "1..0 # SKIP no sources of BASE=$base: $(grep -m 1 . prepare.log)"
		exit 2
	fi
	[ $status = 0 ]
done
exec "$top/scripts/check-compat" "$top/build/linux" "$top/build/mainline/linux"
