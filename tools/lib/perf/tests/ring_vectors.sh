#!/bin/bash
# The test vectors for readers of overwrite rings do not change, and a short reader in Python agrees
# SPDX-License-Identifier: GPL-2.0-only
# tags: fast parallel
#
# The test vectors_test compares them with libperf's reader. If a change of the vectors is intended,
# increment the format in write_vectors.c if existing readers would fail, and update the checksum.

checksum=c0dbd8d33c56f1938775ee933a701466aa0c9a761a71d216a541f2f7645df2b1

here=$(dirname "$(realpath "$0")")
BUILD=${BUILD:-$here/../../../../build}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

"$BUILD/tests/write_vectors" "$work" || exit 1
sum=$(cd "$work" && cat -- * | sha256sum)
[ "${sum%% *}" = $checksum ] || {
	echo "FAIL: the checksum is ${sum%% *}, not $checksum"
	exit 1
}
python3 "$here/../Documentation/examples/read_vectors.py" "$work"
