// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <linux/kernel.h>
#include "util/recover-elf.h"
#include "util/recover-places.h"

#define ELF_BYTE_ORDER	((__BYTE_ORDER == __LITTLE_ENDIAN) ? ELFDATA2LSB : ELFDATA2MSB)

bool recover_elf__is_core(const void *data, size_t size)
{
	const Elf64_Ehdr *header = data;

	return size >= sizeof(*header) && !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == ELF_BYTE_ORDER && header->e_type == ET_CORE;
}

static bool has(size_t size, u64 at, u64 len)
{
	return at <= size && len <= size - at;
}

/* A file with more segments than the field can count has their number in its first section. */
static u64 count_segments(const void *data, size_t size)
{
	const Elf64_Ehdr *header = data;
	Elf64_Shdr section;

	if (header->e_phnum != PN_XNUM || !has(size, header->e_shoff, sizeof(section)))
		return header->e_phnum;
	memcpy(&section, data + header->e_shoff, sizeof(section));
	return section.sh_info;
}

static int add_segment(const Elf64_Phdr *segment, size_t size, struct recover_places *places)
{
	if (segment->p_type != PT_LOAD || segment->p_paddr == UINT64_MAX ||
	    segment->p_offset >= size)
		return 0;
	return recover_places__add(places, segment->p_paddr,
				   min((u64)segment->p_filesz, (u64)size - segment->p_offset),
				   segment->p_offset);
}

int recover_elf__places(const void *data, size_t size, struct recover_places *places,
			u16 *machine)
{
	const Elf64_Ehdr *header = data;
	u64 i, nr = count_segments(data, size);
	Elf64_Phdr segment;
	int err = 0;

	*machine = header->e_machine;
	if (header->e_phentsize != sizeof(segment))
		return 0;
	for (i = 0; i < nr && !err; i++) {
		u64 at = header->e_phoff + i * sizeof(segment);

		if (header->e_phoff > size || !has(size, at, sizeof(segment)))
			break;
		memcpy(&segment, data + at, sizeof(segment));
		err = add_segment(&segment, size, places);
	}
	return err;
}
