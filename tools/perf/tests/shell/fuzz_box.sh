#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Fuzz the reader of the file of --keep-file: nothing in the file is trusted
# tags: fast parallel
#
# usage: fuzz_box.sh [libFuzzer's arguments], see fuzz.sh
set -eu

tests=$(dirname "$(readlink -f "$0")")/../..
# shellcheck source=../../../lib/perf/tests/fuzz.sh
. "$tests/../lib/perf/tests/fuzz.sh"

max_len=4096
fuzz "$BUILD/tests/fuzz_box" "$tests/recording/tests/keep/corpus-box" "$@"
