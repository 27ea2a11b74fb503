/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Touch new pages in TOUCH(), which takes a page fault in user space for each.
 *
 * usage: fault_ours PAGES | fault_other PAGES
 *
 * Print "ready", wait for a line, touch the pages, print "done", and exit at the end of the input.
 * The programs differ in their build-id and in the name of the function.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline)) void TOUCH(volatile char *pages, long nr);

void TOUCH(volatile char *pages, long nr)
{
	long i, size = sysconf(_SC_PAGESIZE);

	for (i = 0; i < nr; i++)
		pages[i * size] = 1;
}

int main(int argc, char **argv)
{
	long nr = argc == 2 ? atol(argv[1]) : 0;
	char *pages, line[16];

	if (nr <= 0)
		errx(2, "usage: %s PAGES", argv[0]);
	pages = mmap(NULL, nr * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		err(1, "mmap");
	madvise(pages, nr * sysconf(_SC_PAGESIZE), MADV_NOHUGEPAGE);
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	TOUCH(pages, nr);
	puts("done");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
