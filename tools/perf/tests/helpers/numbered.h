/* SPDX-License-Identifier: GPL-2.0-only */
/* Define the calls of numbered: getppid(number, tag, NUMBERED_MAGIC, 0, 0, 0). */
#ifndef NUMBERED_H
#define NUMBERED_H

#define NUMBERED_MAGIC	0x6e756d62ul	/* "numb" */

#endif
