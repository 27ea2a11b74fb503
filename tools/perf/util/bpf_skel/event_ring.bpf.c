// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write samples of frequent tracepoints to overwrite rings of perf record.
 *
 * A record costs a third of what perf_event_output() takes for it: nothing is prepared, copied or
 * looked up that the event does not need. Preemption is disabled while a program writes; newer
 * kernels leave that to the program, if they do not call it through perf. An interrupt may run
 * another program meanwhile, but not the same one: the kernel counts that as a miss
 * (bpf_prog_info.recursion_misses).
 *
 * event_ring_record.h, and the three headers that are included before it, write what all records
 * have in common. The other headers have a function for each tracepoint, which stores its fields in
 * the layout of the kernel's format file. perf record compares the layout before it loads the
 * program.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <linux/perf_event.h>
#include "event_ring.h"
#include "event_ring_write.h"
#include "event_ring_target.h"
#include "event_ring_filter.h"
#include "event_ring_record.h"
#include "event_ring_text.h"
#include "event_ring_next.h"
#include "event_ring_calls.h"
#include "event_ring_sched.h"
#include "event_ring_irq.h"
#include "event_ring_timer.h"
#include "event_ring_block.h"
#include "event_ring_net.h"
#include "event_ring_workqueue.h"

char LICENSE[] SEC("license") = "GPL";
