/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_SMP_H
#define SHIM_LINUX_SMP_H

#include <linux/hardirq.h>

#define raw_smp_processor_id()	smp_processor_id()

#endif
