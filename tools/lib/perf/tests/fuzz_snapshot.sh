#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Snapshots of rings with anything in them give records, and account for the rest
# tags: fast
#
# Arguments: see fuzz.sh. Findings go to build/tests/fuzz_snapshot-corpus.
set -eu

here=$(dirname "$(readlink -f "$0")")
# shellcheck source=fuzz.sh
. "$here/fuzz.sh"

fuzz "$BUILD/tests/fuzz_snapshot" "$here/corpus" "$BUILD/tests/fuzz_snapshot-corpus" "$@"
