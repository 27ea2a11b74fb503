#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Fuzz the reader of kdump-compressed files: nothing in the file is trusted
# tags: fast parallel
#
# usage: fuzz_kdump.sh [libFuzzer's arguments], see fuzz.sh
set -eu

tests=$(dirname "$(readlink -f "$0")")/../..
# shellcheck source=../../../lib/perf/tests/fuzz.sh
. "$tests/../lib/perf/tests/fuzz.sh"

fuzz "$BUILD/tests/fuzz_kdump" "$tests/recording/tests/recover/corpus-kdump" "$@"
