// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include "copy.h"

struct aux_news aux_cursor__count(struct aux_cursor *cursor, u64 head, u64 written)
{
	u64 fresh = written - cursor->written;
	struct aux_news news = { .end = head % cursor->len };

	if (written < cursor->written)
		fresh = cursor->len;
	news.bytes = min(fresh, cursor->len);
	news.overwritten = fresh - news.bytes;
	cursor->written = written;
	return news;
}

struct aux_news aux_news__range(u64 len, u64 old, u64 head)
{
	struct aux_news news = { .end = head % len };

	if (old != head)
		news.bytes = (news.end + len - old % len) % len ?: len;
	return news;
}

/* Offset of the first byte. */
static u64 begin_of(const struct aux_news *news, u64 len)
{
	return news->end < news->bytes ? news->end + len - news->bytes : news->end - news->bytes;
}

struct records aux_news__records(const struct aux_news *news, const void *area, u64 len)
{
	u64 begin = begin_of(news, len), first = min(news->bytes, len - begin);

	return (struct records){ .part = { { (void *)area + begin, first },
					{ (void *)area, news->bytes - first } } };
}

int aux_copy__init(struct aux_copy *image, u64 len, u64 most)
{
	*image = (struct aux_copy){ .data = calloc(1, len), .len = len, .max_bytes = most };
	return image->data ? 0 : -ENOMEM;
}

void aux_copy__exit(struct aux_copy *image)
{
	free(image->data);
	image->data = NULL;
}

void aux_copy__clear(struct aux_copy *image)
{
	image->bytes = 0;
}

u64 aux_copy__add(struct aux_copy *image, const void *area, const struct aux_news *news)
{
	struct aux_news copy = { .end = news->end, .bytes = min(news->bytes, image->max_bytes) };
	u64 given_up = news->overwritten + news->bytes - copy.bytes, kept = 0;
	struct records records = aux_news__records(&copy, area, image->len);
	int i;

	for (i = 0; i < 2; i++)
		memcpy(image->data + (records.part[i].iov_base - area), records.part[i].iov_base,
		       records.part[i].iov_len);
	if (!given_up && begin_of(&copy, image->len) == image->end % image->len)
		kept = min(image->bytes, image->max_bytes - copy.bytes);
	given_up += image->bytes - kept;
	image->bytes = kept + copy.bytes;
	image->end = copy.end;
	return given_up;
}
