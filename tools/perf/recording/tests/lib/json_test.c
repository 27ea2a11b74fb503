// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the writer of JSON: separators, escapes, bytes that are not UTF-8, and a full disk.
 *
 * tags: fast parallel
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/chrome-trace/chrome_event.h"
#include "util/json.h"
#include "perf/tests/tap.h"

static char *text;
static size_t len;

static struct json begin(void)
{
	return (struct json){ .file = open_memstream(&text, &len) };
}

/* Compare what was written since begin(), and free it. */
static void end(struct json *json, const char *expected, const char *name)
{
	fclose(json->file);
	if (strcmp(text, expected))
		printf("# %s\n# not %s\n", text, expected);
	check(!strcmp(text, expected), name);
	free(text);
}

static void check_string(const char *string, size_t size, const char *expected, const char *name)
{
	struct json json = begin();

	json__string(json.file, string, size);
	end(&json, expected, name);
}

static void test_structure(void)
{
	struct json json = begin();

	json__open(&json, NULL, '{');
	json__open(&json, "empty", '{');
	json__close(&json, '}');
	json__number(&json, "number", UINT64_MAX);
	json__open(&json, "list", '[');
	json__text(&json, NULL, "first");
	json__open(&json, NULL, '[');
	json__close(&json, ']');
	json__bytes(&json, NULL, "third", 2);
	json__close(&json, ']');
	json__key(&json, "k\"ey");
	fputs("1.5", json.file);
	json__close(&json, '}');
	end(&json, "{\"empty\":{},\"number\":18446744073709551615,"
	    "\"list\":[\"first\",[],\"th\"],\"k\\\"ey\":1.5}", "objects, lists and separators");
}

static void test_strings(void)
{
	check_string("a\"\\b", SIZE_MAX, "\"a\\\"\\\\b\"", "quotes and backslashes");
	check_string("\n\x1f\x7f", SIZE_MAX, "\"\\u000a\\u001f\\u007f\"", "control characters");
	check_string("</script>", SIZE_MAX, "\"\\u003c/script>\"", "what would end a script");
	check_string("\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xa7", SIZE_MAX,
		     "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xa7\"", "2, 3 and 4 bytes of UTF-8");
	check_string("\xff\x61\xc3", SIZE_MAX, "\"\\ufffda\\ufffd\"", "no UTF-8, and a cut one");
	check_string("\xc0\xbc\xed\xa0\x80", SIZE_MAX,
		     "\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"", "overlong, and a surrogate");
	check_string("\xe2\x82\xac", 2, "\"\\ufffd\\ufffd\"", "a sequence that the size cuts");
	check_string("", 0, "\"\"", "no byte");
}

/* The name is longer than the file's buffer. Looking up a symbol sets errno afterwards. */
static void test_full_disk(void)
{
	struct chrome_events events = { .json.file = fopen("/dev/full", "w") };
	static char name[1 << 17];

	if (!events.json.file) {
		skip("the error of an event on a full disk", "no /dev/full");
		return;
	}
	memset(name, 'a', sizeof(name) - 1);
	chrome_event__begin(&events, 'i', (struct chrome_track){ 1, 1 }, 0);
	json__text(&events.json, "name", name);
	errno = ENOENT;
	chrome_event__end(&events);
	check(events.err == ENOSPC, "the error of an event on a full disk");
	fclose(events.json.file);
}

int main(void)
{
	test_structure();
	test_strings();
	test_full_disk();
	return tap_end();
}
