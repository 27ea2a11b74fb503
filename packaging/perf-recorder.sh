#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
exec @PRIVATE@/bin/perf "$@"
