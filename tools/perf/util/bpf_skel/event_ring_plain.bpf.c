// SPDX-License-Identifier: GPL-2.0-only
/*
 * Build the programs of event_ring.bpf.c for kernels without CONFIG_KALLSYMS_ALL. Programs cannot
 * read preempt_count() there, and common_flags do not tell that an event is from an interrupt.
 */
#define NO_PREEMPT_COUNT
#include "event_ring.bpf.c"
