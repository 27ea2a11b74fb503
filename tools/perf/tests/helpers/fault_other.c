// SPDX-License-Identifier: GPL-2.0-only
/*
 * Touch memory in touch_other(), see fault.h. A container of the tests has no libraries.
 *
 * flags: -static
 */
#define TOUCH touch_other
#include "fault.h"
