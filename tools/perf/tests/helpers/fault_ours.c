// SPDX-License-Identifier: GPL-2.0-only
/*
 * Touch memory in touch_ours(), see fault.h. A container of the tests has no libraries.
 *
 * flags: -static
 */
#define TOUCH touch_ours
#include "fault.h"
