#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Images of memory with anything in them give records, whole ones where there are rings
# tags: fast
#
# Arguments: see fuzz.sh. Findings go to build/tests/fuzz_recover-corpus.
set -eu

here=$(dirname "$(readlink -f "$0")")
# shellcheck source=fuzz.sh
. "$here/fuzz.sh"

fuzz "$BUILD/tests/fuzz_recover" "$here/corpus-recover" "$BUILD/tests/fuzz_recover-corpus" "$@"
