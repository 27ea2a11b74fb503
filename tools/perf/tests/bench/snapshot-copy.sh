#!/bin/bash
# Benchmark: the time of a snapshot, compared to memcpy() of the same ring, and of reading its records
# SPDX-License-Identifier: GPL-2.0-only

exec "${BUILD:-build}/tests/snapshot_copy" --rounds 101
