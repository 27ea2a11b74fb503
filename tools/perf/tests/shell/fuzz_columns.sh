#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Fuzz the columns of kept records: any columns do no harm, any records come back as they were
# tags: fast parallel
#
# usage: fuzz_columns.sh [libFuzzer's arguments], see fuzz.sh
set -eu

tests=$(dirname "$(readlink -f "$0")")/../..
# shellcheck source=../../../lib/perf/tests/fuzz.sh
. "$tests/../lib/perf/tests/fuzz.sh"

fuzz "$BUILD/tests/fuzz_columns" "$tests/recording/tests/keep/corpus-columns" "$@"
