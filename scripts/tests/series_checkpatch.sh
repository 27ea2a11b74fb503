#!/bin/bash
# make series: checkpatch --strict finds nothing in the patches
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel night
# timeout: 900

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
cd "$top" && make -s series && exec scripts/lint-series "$BUILD/linux" "$BUILD/series"
