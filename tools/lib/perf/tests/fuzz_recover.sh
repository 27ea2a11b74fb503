#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Fuzz recovery from memory images: no crash, and intact records where the image has rings
# tags: fast parallel
#
# usage: fuzz_recover.sh [libFuzzer's arguments], see fuzz.sh
set -eu

here=$(dirname "$(readlink -f "$0")")
. "$here/fuzz.sh"

fuzz "$BUILD/tests/fuzz_recover" "$here/corpus-recover" "$@"
