#!/bin/bash
# checkpatch: our C files in tools/ have the kernel's style
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel night
# timeout: 600

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
cd "$top" && exec scripts/lint-tools "${BUILD:-build}/linux"
