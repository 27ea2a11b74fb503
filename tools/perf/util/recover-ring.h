/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perf inject --recover-ring: the overwritten events of a recording, out of an image of memory.
 *
 * What describes the events is a file of the same recording: one that perf record had begun when it was
 * killed, or completed before. It has the attributes, the names of fields, the tasks and maps known then, and
 * the ids, by which the records are told from those of other rings. No file but one of the same recording
 * has these, hence nothing else can describe them.
 */
#ifndef __PERF_RECOVER_RING_H
#define __PERF_RECOVER_RING_H

struct evlist;
struct perf_session;
struct perf_tool;
union perf_event;

/**
 * recover_ring__prepare - before the file is read
 * @tool:	that reads it
 *
 * Its samples of overwritten events are left out: those that are still in the image would be there twice.
 * So are the marks by which readers know that nothing older can follow.
 *
 * Return: 0, or -EINVAL after an error message if there are no overwritten events, or they have no ids.
 */
int recover_ring__prepare(struct evlist *evlist, struct perf_tool *tool);

/**
 * recover_ring__process_file - read the file
 *
 * One that was not completed, and has no records, is none the worse.
 *
 * Return: as perf_session__process_events().
 */
int recover_ring__process_file(struct perf_session *session);

/**
 * recover_ring__process - pass the records in the image to @process
 * @path:	of the image, a regular file
 *
 * Ends with a message of how many they were.
 *
 * Return: 0, what @process returned if that is not 0, or a negative errno after an error message: -ENOENT
 * also if there are no records.
 */
int recover_ring__process(struct evlist *evlist, const char *path, const struct perf_tool *tool,
			  int (*process)(const struct perf_tool *tool, union perf_event *event));

#endif /* __PERF_RECOVER_RING_H */
