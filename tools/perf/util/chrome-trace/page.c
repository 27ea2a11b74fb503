// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include "page.h"

static const char page[] =
#include "page.inc"
;
static const char placeholder[] = "@@TRACE@@";

void page__begin(FILE *file)
{
	fwrite(page, 1, strstr(page, placeholder) - page, file);
}

void page__end(FILE *file)
{
	fputs(strstr(page, placeholder) + strlen(placeholder), file);
}
