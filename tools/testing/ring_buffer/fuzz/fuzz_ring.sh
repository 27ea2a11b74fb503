#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Fuzz the kernel's ring buffer with random operations, checked against a reference model.
# tags: fast parallel
#
# usage: fuzz_ring.sh [libFuzzer's arguments], see fuzz.sh
set -eu

here=$(dirname "$(readlink -f "$0")")
. "$here/../../../lib/perf/tests/fuzz.sh"

fuzz "$BUILD/tests/ring_buffer/fuzz_ring" "$here/corpus" "$@"
