/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find out whether this recorder may have build-ids in mmap records without harm to others.
 *
 * Some kernels mark the records of all events once one event has asked for build-ids
 * (state/fixup.h). Files of other recorders would then have wrong build-ids, or be unreadable.
 */
#ifndef PERF_RECORDING_BUILD_ID_PROBE_H
#define PERF_RECORDING_BUILD_ID_PROBE_H

#include <stdbool.h>

/**
 * build_ids_are_harmless - does the kernel put build-ids into the mmap records of just those events
 *			    that ask for them?
 *
 * Maps this program once more, for events on this thread. Other threads must not map code
 * meanwhile.
 *
 * Return: false also if the kernel has no build-ids, or refuses the events.
 */
bool build_ids_are_harmless(void);

#endif
