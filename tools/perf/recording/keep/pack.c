// SPDX-License-Identifier: GPL-2.0-only
/* Pack the records of a block by columns and zstd, and restore them. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include "util/evlist.h"
#include "util/evsel.h"
#include "columns.h"
#include "pack.h"
#ifdef HAVE_ZSTD_SUPPORT
#include <zstd.h>
#endif

/*
 * Layout of samples
 */

bool evsel__is_kept(const struct evsel *evsel)
{
	return !evsel->core.attr.write_backward && !evsel__is_dummy_event((struct evsel *)evsel);
}

/* Return the index of the next word, @bit or not. */
static unsigned int skip(u64 sample_type, u64 bit, unsigned int word)
{
	return sample_type & bit ? word + 2 : word;
}

/* Raw data begin with their length and the common fields of tracepoints: key is what follows. */
#define RAW_KEY_WORD	3

static struct columns_layout layout_of(u64 type)
{
	struct columns_layout layout = { 0 };
	unsigned int word = 2, ip;

	if (type & PERF_SAMPLE_IDENTIFIER)
		layout.id = word;
	ip = word = skip(type, PERF_SAMPLE_IDENTIFIER, word);
	word = skip(type, PERF_SAMPLE_IP, word);
	if (type & PERF_SAMPLE_TID)
		layout.tid = word + 1;
	word = skip(type, PERF_SAMPLE_TID, word);
	if (type & PERF_SAMPLE_TIME)
		layout.time = word;
	word = skip(type, PERF_SAMPLE_TIME, word);
	word = skip(type, PERF_SAMPLE_ADDR, word);
	if (type & PERF_SAMPLE_ID && !layout.id)
		layout.id = word;
	word = skip(type, PERF_SAMPLE_ID, word);
	word = skip(type, PERF_SAMPLE_STREAM_ID, word);
	word = skip(type, PERF_SAMPLE_CPU, word);
	word = skip(type, PERF_SAMPLE_PERIOD, word);
	if (type & PERF_SAMPLE_RAW && !(type & (PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN)))
		layout.key = word + RAW_KEY_WORD;
	else if (type & PERF_SAMPLE_IP)
		layout.key = ip;
	return layout;
}

/* Events whose samples begin with other fields are packed less densely. */
static struct columns_layout find_layout(struct evlist *evlist)
{
	struct evsel *evsel;

	if (!evlist)
		return layout_of(0);
	evlist__for_each_entry(evlist, evsel) {
		if (evsel__is_kept(evsel))
			return layout_of(evsel->core.attr.sample_type);
	}
	return layout_of(0);
}

static int event_of(void *arg, u64 id)
{
	struct evsel *evsel = arg ? evlist__id2evsel(arg, id) : NULL;

	return evsel ? evsel->core.idx : -1;
}

/*
 * Pack
 */

/**
 * struct keep_packer
 * @encoder:	makes columns; created with the first block: then the layout of samples is known
 * @evlist:	the events of the records, or NULL
 * @level:	of zstd
 * @max_bytes:	largest block [bytes]
 * @packed:	the header and @max_bytes of space
 */
struct keep_packer {
	struct columns_encoder	*encoder;
	struct evlist		*evlist;
	int			 level;
	size_t			 max_bytes;
	struct keep_packed	*packed;
#ifdef HAVE_ZSTD_SUPPORT
	ZSTD_CCtx		*zstd;
#endif
};

#ifdef HAVE_ZSTD_SUPPORT
/*
 * At the fastest level, shorter matches save 5 % of the bytes of columns, and a table of half the
 * size stays in the cache of the CPU.
 */
static void tune_zstd(ZSTD_CCtx *zstd, int level)
{
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level);
	if (level != 1)
		return;
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_minMatch, 4);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_hashLog, 12);
}

static bool begin_zstd(struct keep_packer *packer, size_t len)
{
	if (!packer->zstd) {
		packer->zstd = ZSTD_createCCtx();
		if (!packer->zstd)
			return false;
		tune_zstd(packer->zstd, packer->level);
	}
	ZSTD_CCtx_reset(packer->zstd, ZSTD_reset_session_only);
	return !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(packer->zstd, len));
}

/*
 * Compress to one frame, in blocks that end where the statistics of the columns change.
 *
 * Return: length of the frame, or 0 if it is not smaller [bytes].
 */
static size_t compress(struct keep_packer *packer, const void *data, size_t len, bool is_columns)
{
	ZSTD_outBuffer out = { packer->packed + 1, min(len, packer->max_bytes), 0 };
	ZSTD_inBuffer in = { data, 0, 0 };
	size_t left;

	if (!begin_zstd(packer, len))
		return 0;
	while (in.size < len) {
		in.size = is_columns ? columns__cut(packer->encoder, in.pos) : len;
		left = ZSTD_compressStream2(packer->zstd, &out, &in,
					    in.size == len ? ZSTD_e_end : ZSTD_e_flush);
		if (left || in.pos < in.size)		/* an error, or no space */
			return 0;
		sched_yield();
	}
	return out.pos < len ? out.pos : 0;
}
#else
static size_t compress(struct keep_packer *packer __maybe_unused, const void *data __maybe_unused,
		       size_t len __maybe_unused, bool is_columns __maybe_unused)
{
	return 0;
}
#endif

static size_t end_packed(struct keep_packer *packer, u32 by, size_t len, size_t raw_len)
{
	*packer->packed = (struct keep_packed){
		.magic = KEEP_PACKED_MAGIC, .by = by, .len = len, .raw_len = raw_len,
	};
	return len && sizeof(*packer->packed) + len < raw_len ? sizeof(*packer->packed) + len : 0;
}

/* Return: the columns, or NULL if they would not be smaller, or memory is missing. */
static const void *encode(struct keep_packer *packer, const void *records, size_t len,
			  size_t *columns_len)
{
	struct columns_layout layout;

	if (!packer->encoder) {
		layout = find_layout(packer->evlist);
		packer->encoder = columns_encoder__new(packer->max_bytes, &layout, event_of,
						       packer->evlist);
	}
	return packer->encoder ? columns__encode(packer->encoder, records, len, columns_len) : NULL;
}

size_t keep_packer__pack(struct keep_packer *packer, const void *records, size_t len, bool fast,
			 const void **packed)
{
	size_t columns_len, size = 0;
	const void *columns = encode(packer, records, len, &columns_len);

	*packed = packer->packed;
	if (!columns)
		return end_packed(packer, KEEP_BY_ZSTD, compress(packer, records, len, false), len);
	if (!fast)
		size = compress(packer, columns, columns_len, true);
	if (size)
		return end_packed(packer, KEEP_BY_ZSTD | KEEP_BY_COLUMNS, size, len);
	memcpy(packer->packed + 1, columns, columns_len);
	return end_packed(packer, KEEP_BY_COLUMNS, columns_len, len);
}

void keep_packer__free(struct keep_packer *packer)
{
	if (!packer)
		return;
#ifdef HAVE_ZSTD_SUPPORT
	ZSTD_freeCCtx(packer->zstd);
#endif
	columns_encoder__free(packer->encoder);
	free(packer->packed);
	free(packer);
}

struct keep_packer *keep_packer__new(size_t max_bytes, int level, struct evlist *evlist)
{
	struct keep_packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return NULL;
	packer->level = level;
	packer->max_bytes = max_bytes;
	packer->evlist = evlist;
	packer->packed = malloc(sizeof(*packer->packed) + max_bytes);
	if (packer->packed)
		return packer;
	keep_packer__free(packer);
	return NULL;
}

/*
 * Restore
 */

/**
 * struct keep_unpacker
 * @decoder:	reads columns
 * @columns:	@max_bytes of space for them
 * @records:	@max_bytes of space for records
 */
struct keep_unpacker {
	struct columns_decoder	*decoder;
	size_t			 max_bytes;
	void			*columns;
	void			*records;
#ifdef HAVE_ZSTD_SUPPORT
	ZSTD_DCtx		*zstd;
#endif
};

#ifdef HAVE_ZSTD_SUPPORT
static ssize_t decompress(struct keep_unpacker *unpacker, const void *data, size_t len, void *to)
{
	size_t size;

	if (!unpacker->zstd)
		unpacker->zstd = ZSTD_createDCtx();
	if (!unpacker->zstd)
		return -ENOMEM;
	size = ZSTD_decompressDCtx(unpacker->zstd, to, unpacker->max_bytes, data, len);
	return ZSTD_isError(size) ? -EINVAL : (ssize_t)size;
}
#else
static ssize_t decompress(struct keep_unpacker *unpacker __maybe_unused,
			  const void *data __maybe_unused, size_t len __maybe_unused,
			  void *to __maybe_unused)
{
	return -EOPNOTSUPP;
}
#endif

ssize_t keep_unpacker__unpack(struct keep_unpacker *unpacker, const void *packed, size_t len,
			      void **records)
{
	const struct keep_packed *header = packed;
	const void *data = header + 1;
	ssize_t size;

	*records = unpacker->records;
	if (len < sizeof(*header) || header->magic != KEEP_PACKED_MAGIC || !header->by ||
	    header->by & ~(KEEP_BY_ZSTD | KEEP_BY_COLUMNS) || header->len > len - sizeof(*header))
		return -EINVAL;
	size = header->len;
	if (header->by & KEEP_BY_ZSTD) {
		size = decompress(unpacker, data, header->len, header->by & KEEP_BY_COLUMNS ?
				  unpacker->columns : unpacker->records);
		data = unpacker->columns;
	}
	if (size >= 0 && header->by & KEEP_BY_COLUMNS)
		size = columns__decode(unpacker->decoder, data, size, unpacker->records,
				       unpacker->max_bytes);
	return size >= 0 && (u32)size != header->raw_len ? -EINVAL : size;
}

void keep_unpacker__free(struct keep_unpacker *unpacker)
{
	if (!unpacker)
		return;
#ifdef HAVE_ZSTD_SUPPORT
	ZSTD_freeDCtx(unpacker->zstd);
#endif
	columns_decoder__free(unpacker->decoder);
	free(unpacker->columns);
	free(unpacker->records);
	free(unpacker);
}

struct keep_unpacker *keep_unpacker__new(size_t max_bytes)
{
	struct keep_unpacker *unpacker = calloc(1, sizeof(*unpacker));

	if (!unpacker)
		return NULL;
	unpacker->max_bytes = max_bytes;
	unpacker->decoder = columns_decoder__new();
	unpacker->columns = malloc(max_bytes);
	unpacker->records = malloc(max_bytes);
	if (unpacker->decoder && unpacker->columns && unpacker->records)
		return unpacker;
	keep_unpacker__free(unpacker);
	return NULL;
}
