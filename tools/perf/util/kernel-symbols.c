// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find the few symbols that kernel maps are created from, in one pass over
 * kallsyms. Each pass takes 40 to 100 ms: the kernel formats over 100,000 lines.
 */
#include "kernel-symbols.h"
#include <string.h>
#include <symbol/kallsyms.h>

struct search {
	u64	text, stext, edata, etext;
	bool	has_text, has_stext, has_edata, has_etext, has_trampoline;
};

static void note_first(const char *name, const char *wanted, u64 address, u64 *first, bool *found)
{
	if (*found || strcmp(name, wanted))
		return;
	*first = address;
	*found = true;
}

/* The symbols of the kernel itself come first. Stop at those of modules, BPF programs ... */
static int search_symbol(void *arg, const char *name, char type, u64 address)
{
	struct search *search = arg;

	if (name[0] != '_')
		return strchr(name, '\t') != NULL;

	if (kallsyms__is_function(type)) {
		note_first(name, "_text", address, &search->text, &search->has_text);
		note_first(name, "_stext", address, &search->stext, &search->has_stext);
	}
	note_first(name, "_edata", address, &search->edata, &search->has_edata);
	note_first(name, "_etext", address, &search->etext, &search->has_etext);
	if (!strcmp(name, "_entry_trampoline"))
		search->has_trampoline = true;
	return strchr(name, '\t') != NULL;
}

/**
 * kernel_symbols__read - find the symbols that kernel maps are created from
 * @symbols: filled in on success
 * @filename: /proc/kallsyms, or a copy of it
 *
 * Return: 0; -1 if the file cannot be read or has no symbol for the start.
 */
int kernel_symbols__read(struct kernel_symbols *symbols, const char *filename)
{
	struct search search = { 0 };

	if (kallsyms__parse(filename, &search, search_symbol) < 0)
		return -1;
	if (!search.has_text && !search.has_stext)
		return -1;

	symbols->start_name = search.has_text ? "_text" : "_stext";
	symbols->start = search.has_text ? search.text : search.stext;
	symbols->end = search.has_edata ? search.edata : search.has_etext ? search.etext : ~0ULL;
	symbols->entry_trampoline = search.has_trampoline;
	return 0;
}
