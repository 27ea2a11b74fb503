#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The kernel's ring agrees with a model of it, whatever operations libFuzzer invents.
# tags: fast
#
# Arguments: see fuzz.sh. Findings go to build/tests/ring_buffer/fuzz-corpus.
set -eu

here=$(dirname "$(readlink -f "$0")")
# shellcheck source=../../../lib/perf/tests/fuzz.sh
. "$here/../../../lib/perf/tests/fuzz.sh"

fuzz "$BUILD/tests/ring_buffer/fuzz_ring" "$here/corpus" "$BUILD/tests/ring_buffer/fuzz-corpus" "$@"
