// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run keep_test.c under the thread sanitizer, which reports data races.
 * timeout: 300
 * tags: parallel
 */
#include "keep_test.c"
