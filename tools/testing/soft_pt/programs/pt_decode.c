// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode a trace with libipt and print the address of each executed instruction.
 * flags: -lipt
 *
 * usage: pt_decode FILE IMAGE...
 *	IMAGE	a static 64-bit program that was executed, or BYTES@ADDRESS: a file with the code
 *		that was at ADDRESS
 * An address that equals the one before it is not printed. Prints to stderr the numbers of
 * instructions, errors and overflows; exits with 1 if there was an error.
 */
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <intel-pt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned long instructions, errors, overflows;

static void *map(const char *name, size_t *size)
{
	int fd = open(name, O_RDONLY);
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st))
		err(2, "%s", name);
	*size = st.st_size;
	data = mmap(NULL, st.st_size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		err(2, "%s", name);
	close(fd);
	return data;
}

static void add_program(struct pt_image *image, const char *name)
{
	size_t size;
	const char *elf = map(name, &size);
	const Elf64_Ehdr *header = (const void *)elf;
	const Elf64_Phdr *segments = (const void *)(elf + header->e_phoff);

	for (int i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_X))
			continue;
		if (pt_image_add_file(image, name, segments[i].p_offset, segments[i].p_filesz,
				      NULL, segments[i].p_vaddr))
			errx(2, "Cannot add %s to the image", name);
	}
}

static void add_image(struct pt_image *image, char *name)
{
	char *at = strchr(name, '@');

	if (!at) {
		add_program(image, name);
		return;
	}
	*at = '\0';
	if (pt_image_add_file(image, name, 0, ~0ull, NULL, strtoull(at + 1, NULL, 0)))
		errx(2, "Cannot add %s to the image", name);
}

static void print_error(struct pt_insn_decoder *decoder, int status, uint64_t ip)
{
	uint64_t offset = 0;

	pt_insn_get_offset(decoder, &offset);
	fprintf(stderr, "%s at offset %#lx, address %#lx\n", pt_errstr(pt_errcode(status)), offset,
		ip);
	errors++;
}

static int take_events(struct pt_insn_decoder *decoder, int status)
{
	struct pt_event event;

	while (status >= 0 && (status & pts_event_pending)) {
		status = pt_insn_event(decoder, &event, sizeof(event));
		overflows += status >= 0 && event.type == ptev_overflow;
	}
	return status;
}

/* Decode from the synchronization point to an error or the end of the trace. */
static int decode(struct pt_insn_decoder *decoder, int status)
{
	static uint64_t last;
	struct pt_insn insn = {};

	for (;;) {
		status = take_events(decoder, status);
		if (status < 0 || (status & pts_eos))
			break;
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (insn.iclass != ptic_error && status != -pte_eos) {
			if (insn.ip != last)
				printf("%lx\n", insn.ip);
			last = insn.ip;
			instructions++;
		}
		if (status < 0)
			break;
	}
	if (status < 0 && status != -pte_eos)
		print_error(decoder, status, insn.ip);
	return status;
}

int main(int argc, char **argv)
{
	struct pt_insn_decoder *decoder;
	struct pt_config config;
	size_t size;
	int status, i;

	if (argc < 3)
		return 2;
	pt_config_init(&config);
	config.begin = map(argv[1], &size);
	config.end = config.begin + size;
	decoder = pt_insn_alloc_decoder(&config);
	if (!decoder)
		errx(2, "Cannot allocate a decoder");
	for (i = 2; i < argc; i++)
		add_image(pt_insn_get_image(decoder), argv[i]);

	for (;;) {
		status = pt_insn_sync_forward(decoder);
		if (status < 0)
			break;
		decode(decoder, status);
	}
	fprintf(stderr, "instructions %lu errors %lu overflows %lu\n", instructions, errors,
		overflows);
	return errors != 0;
}
