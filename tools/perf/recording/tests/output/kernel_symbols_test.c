// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test finding the symbols of the kernel's maps in kallsyms.
 *
 * tags: fast parallel
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/kernel-symbols.h"
#include "perf/tests/tap.h"

static int read_text(struct kernel_symbols *symbols, const char *text)
{
	char name[] = "kallsyms.XXXXXX";
	int fd = mkstemp(name), err;
	ssize_t length = strlen(text);

	if (fd < 0 || write(fd, text, length) != length)
		abort();
	close(fd);
	err = kernel_symbols__read(symbols, name);
	unlink(name);
	return err;
}

static void check_found(const char *text, const char *start_name, u64 start, u64 end,
			bool trampoline, const char *what)
{
	struct kernel_symbols symbols = { .start_name = "none" };
	int err = read_text(&symbols, text);

	if (!check(!err && !strcmp(symbols.start_name, start_name) && symbols.start == start &&
		   symbols.end == end && symbols.entry_trampoline == trampoline, what))
		printf("# got %d: %s %#" PRIx64 " to %#" PRIx64 ", trampoline %d\n", err,
		       symbols.start_name, symbols.start, symbols.end, symbols.entry_trampoline);
}

#define CORE	"0000000000000000 A fixed_percpu_data\n"	\
		"ffffffff81000000 T startup_64\n"		\
		"ffffffff81000000 T _stext\n"
#define ETEXT	"ffffffff82209000 T _etext\n"
#define MODULES	"ffffffffc0001000 t init\t[dummy]\n"

int main(void)
{
	struct kernel_symbols symbols;

	check_found(CORE ETEXT, "_stext", 0xffffffff81000000, 0xffffffff82209000, false,
		    "end of the code where data symbols are missing");
	check_found(CORE ETEXT "ffffffff82e00000 D _edata\n", "_stext", 0xffffffff81000000,
		    0xffffffff82e00000, false, "end of the data");
	check_found(CORE "ffffffff80fff000 T _text\n" ETEXT, "_text", 0xffffffff80fff000,
		    0xffffffff82209000, false, "_text is preferred to _stext");
	check_found("ffffffff80000000 d _text\n" CORE ETEXT, "_stext", 0xffffffff81000000,
		    0xffffffff82209000, false, "the start is a function");
	check_found(CORE ETEXT CORE "1000 T _etext\n", "_stext", 0xffffffff81000000,
		    0xffffffff82209000, false, "the first of several symbols");
	check_found(CORE, "_stext", 0xffffffff81000000, UINT64_MAX, false, "no symbol for the end");
	check_found(CORE "ffffffff81a00000 T _entry_trampoline\n" ETEXT, "_stext",
		    0xffffffff81000000, 0xffffffff82209000, true, "entry trampolines");
	check_found(CORE ETEXT MODULES "ffffffffc0002000 d _edata\t[dummy]\n"
		    "ffffffffc0003000 d _edata\n", "_stext", 0xffffffff81000000,
		    0xffffffff82209000, false, "symbols of modules and later ones do not count");
	check(read_text(&symbols, ETEXT MODULES CORE) == -1, "no symbol for the start");
	check(read_text(&symbols, "") == -1, "an empty file");
	check(kernel_symbols__read(&symbols, "/nonexistent/kallsyms") == -1, "no file");
	return tap_end();
}
