#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Fuzz the search for the file of --keep-file in images of memory: nothing in them is trusted
# tags: fast parallel
#
# usage: fuzz_image.sh [libFuzzer's arguments], see fuzz.sh
set -eu

tests=$(dirname "$(readlink -f "$0")")/../..
# shellcheck source=../../../lib/perf/tests/fuzz.sh
. "$tests/../lib/perf/tests/fuzz.sh"

fuzz "$BUILD/tests/fuzz_image" "$tests/recording/tests/recover/corpus-image" "$@"
