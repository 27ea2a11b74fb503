/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recover the overwrite events of a recording from an image of memory: perf inject --recover-ring.
 *
 * A file of the same recording must describe the events: one that perf record had begun when it was
 * killed, or one that it completed before. It contains the attributes, the formats of fields, the
 * tasks and maps known at that time, and the event ids, which distinguish the records from those of
 * other rings. Only a file of the same recording contains these ids.
 */
#ifndef __PERF_RECOVER_RING_H
#define __PERF_RECOVER_RING_H


struct evlist;
struct perf_session;
struct perf_tool;
union perf_event;

/**
 * recover_ring__prepare - set up what is dropped from the file, before it is read
 * @evlist:	events of the file
 * @tool:	that reads the file
 *
 * Drops the samples of overwrite events, as the image may contain them as well. Drops the
 * PERF_RECORD_FINISHED_ROUND records, which promise that no older record follows.
 *
 * Return: 0, or -EINVAL, after an error message, if the file has no overwrite events, or they have
 * no ids.
 */
int recover_ring__prepare(struct evlist *evlist, struct perf_tool *tool);

/**
 * recover_ring__process_file - process the records of the file
 *
 * Accepts an unfinished file without records.
 *
 * Return: as perf_session__process_events().
 */
int recover_ring__process_file(struct perf_session *session);

/**
 * recover_ring__process - pass the records in the image to @process
 * @evlist:	events of the file
 * @path:	of the image, a regular file
 * @tool:	passed to @process
 * @process:	called for each record; returns 0 or a negative errno, and then is not called again
 *
 * Prints the number of records on standard error in the end.
 *
 * Return: 0, or a negative errno after an error message; -ENOENT also if the image contains no
 * records.
 */
int recover_ring__process(struct evlist *evlist, const char *path, const struct perf_tool *tool,
			  int (*process)(const struct perf_tool *tool, union perf_event *event));

#endif /* __PERF_RECOVER_RING_H */
