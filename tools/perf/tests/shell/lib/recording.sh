# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Source every part of the library for tests of perf record.

# shellcheck source=numbered.sh
. "${BASH_SOURCE[0]%/*}/numbered.sh"
