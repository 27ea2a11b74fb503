#!/bin/sh
# Mutants of the ring buffer: a test fails without each barrier, bounds check and WRITE_ONCE()
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 7200
# tags: night
# needs: herd7
exec "$(dirname "$(readlink -f "$0")")/mutate.py" "$@"
