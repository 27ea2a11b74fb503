// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "util/dso.h"
#include "util/machine.h"
#include "util/map.h"
#include "util/maps.h"
#include "util/symbol.h"
#include "kallsyms.h"

static int write_map(struct map *map, void *data)
{
	struct dso *dso = map__dso(map);
	struct rb_node *pos;
	struct symbol *sym;
	FILE *file = data;

	dso__for_each_symbol(dso, sym, pos) {
		u64 address = map__unmap_ip(map, sym->start);

		/* With /proc/kcore, maps share their symbols. */
		if (address < map__start(map) || address >= map__end(map))
			continue;
		fprintf(file, "%016" PRIx64 " T %s", address, sym->name);
		if (dso__is_kmod(dso))
			fprintf(file, "\t%s", dso__short_name(dso));
		putc('\n', file);
	}
	return 0;
}

char *kallsyms__text(struct machine *machine, size_t *size)
{
	struct map *kernel = machine__kernel_map(machine);
	char *text = NULL;
	FILE *file;

	symbol_conf.try_vmlinux_path = false;	/* It has no symbols of modules. */
	if (symbol__init(machine->env) < 0)
		return NULL;
	/* Without a build-id, perf would take the symbols of the running kernel. */
	if (!kernel || !dso__has_build_id(map__dso(kernel)) || map__load(kernel) < 0)
		return NULL;
	file = open_memstream(&text, size);
	if (!file)
		return NULL;
	/* The symbols of modules have been loaded with those of the kernel. */
	maps__for_each_map(machine__kernel_maps(machine), write_map, file);
	if (!fclose(file) && *size)
		return text;
	free(text);
	return NULL;
}
