#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Fuzz snapshots of rings: no crash, and all bytes accounted for, whatever the ring contains
# tags: fast parallel
#
# usage: fuzz_snapshot.sh [libFuzzer's arguments], see fuzz.sh
set -eu

here=$(dirname "$(readlink -f "$0")")
. "$here/fuzz.sh"

fuzz "$BUILD/tests/fuzz_snapshot" "$here/corpus" "$@"
