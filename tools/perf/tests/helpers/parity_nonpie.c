// SPDX-License-Identifier: GPL-2.0-only
/*
 * Build parity.c for a fixed address
 *
 * flags: -no-pie -fno-pie -fno-omit-frame-pointer
 */
#define WORK work_fixed
#include "parity.c"
