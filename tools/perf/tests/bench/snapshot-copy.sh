#!/bin/bash
# Benchmark: a snapshot beside a bare memcpy of the same ring, and the walk over its records
# SPDX-License-Identifier: GPL-2.0-only

exec "${BUILD:-build}/tests/snapshot_copy" --rounds 101
