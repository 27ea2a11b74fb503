// SPDX-License-Identifier: GPL-2.0-only
/*
 * Build parity.c for a container: with another name of the function, and without libraries
 *
 * flags: -static -fno-omit-frame-pointer
 */
#define WORK work_inside
#include "parity.c"
