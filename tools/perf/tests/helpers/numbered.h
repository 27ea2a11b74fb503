/* SPDX-License-Identifier: GPL-2.0-only */
/* What numbered and numbered_check agree on: getppid(number, tag, NUMBERED_MAGIC, 0, 0, 0). */
#ifndef NUMBERED_H
#define NUMBERED_H

#define NUMBERED_MAGIC	0x6e756d62ul	/* "numb" */

#endif
