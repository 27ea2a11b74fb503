// SPDX-License-Identifier: GPL-2.0-only
/*
 * Build a library with the function of parity.c
 *
 * flags: -shared -fPIC -fno-omit-frame-pointer
 */
#define WORK work_library
#define ONLY_WORK
#include "parity.c"
