#!/bin/sh
# Mutants of the ring buffer: a barrier, a bounds check or a WRITE_ONCE() is missing, and a test fails
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 7200
# tags: night
# needs: herd7
exec "$(dirname "$(readlink -f "$0")")/mutate.py" "$@"
