/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read which memory an ELF file of a machine has: /proc/vmcore, dump-guest-memory of QEMU.
 */
#ifndef __PERF_RECOVER_ELF_H
#define __PERF_RECOVER_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct recover_places;

/** recover_elf__is_core - is this a 64-bit core file with the byte order of this machine? */
bool recover_elf__is_core(const void *data, size_t size);

/**
 * recover_elf__places - add the places of a core file; nothing in it is trusted
 * @machine:	receives e_machine
 *
 * The core file of a process has no physical addresses, and gives places without meaning.
 *
 * Return: 0, or -ENOMEM.
 */
int recover_elf__places(const void *data, size_t size, struct recover_places *places,
			u16 *machine);

#endif /* __PERF_RECOVER_ELF_H */
