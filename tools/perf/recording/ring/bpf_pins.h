/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pin BPF rings, and the programs that write them, so that the kernel records on when perf record
 * was killed (--pin=NAME).
 *
 * /sys/fs/bpf/perf-record/NAME is a directory of one recorder, which holds a lock on it:
 *
 *	session		struct bpf_pin_header, and a perf.data file that describes the events, with
 *			the tasks and maps that were known when it was written; pinned last
 *	ring-CPU	the rings (util/bpf_skel/event_ring.h)
 *	words, lost	maps of the programs
 *	prog-NAME	the programs
 *	link-NAME	their attachments
 *
 * A directory without "session" is that of a recorder which was killed before it recorded, or while
 * it removed the directory: all else in it is removed.
 *
 * The next recorder adopts everything if it would load the same programs with the same constants,
 * for the same events and filters: its events take over the ids. Otherwise it must not start. perf
 * record --unpin needs "session" and the rings only, whose format is that of
 * <linux/perf_event_trailer.h>: it saves what other programs have written, too, as long as
 * BPF_PIN_VERSION is the same.
 *
 * Only files in a directory that no other user can write are read.
 */
#ifndef PERF_RECORDING_BPF_PINS_H
#define PERF_RECORDING_BPF_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* Of struct bpf_pin_header, and of the names in the directory */
#define BPF_PIN_VERSION		1
#define BPF_PIN_MAGIC		"PERFPIN"

/**
 * struct bpf_pin_header - begin of the map "session"
 * @magic:	BPF_PIN_MAGIC
 * @version:	BPF_PIN_VERSION
 * @programs:	checksum of the file that the programs were loaded from
 * @constants:	checksum of their constants, and of which were loaded
 * @data_bytes:	size of the data area of each ring [bytes]
 * @pid:	of the recorder
 * @session_bytes: length of the perf.data file that follows [bytes]
 */
struct bpf_pin_header {
	char	magic[8];
	__u64	version;
	__u64	programs;
	__u64	constants;
	__u64	data_bytes;
	__u64	pid;
	__u64	session_bytes;
};

/**
 * struct bpf_pins
 * @name:	of --pin, the caller's
 * @path:	of the directory, owned
 * @dir:	the directory, locked
 * @header:	of "session"
 * @complete:	there is a valid "session"
 */
struct bpf_pins {
	const char	      *name;
	char		      *path;
	int		       dir;
	struct bpf_pin_header  header;
	bool		       complete;
};

/**
 * bpf_pins__open - open or create the directory, and lock it
 * @name:	letters, digits and "_-@:"
 * @create:	create it
 *
 * Return: 0; -EOPNOTSUPP, after a warning, if nothing can be pinned: there is no BPF file system,
 * the name is not valid, or the directory cannot be created; or another negative errno after an
 * error message.
 */
int bpf_pins__open(struct bpf_pins *pins, const char *name, bool create);

/** bpf_pins__close - unlock the directory, and leave it; harmless if it is not open */
void bpf_pins__close(struct bpf_pins *pins);

/** bpf_pins__is_open - was it opened? */
static inline bool bpf_pins__is_open(const struct bpf_pins *pins)
{
	return pins->path != NULL;
}

/**
 * bpf_pins__add - pin @fd as @prefix@name, in the place of what has the name. Return: 0, or a
 * negative errno
 */
int bpf_pins__add(const struct bpf_pins *pins, const char *prefix, const char *name, int fd);

/** bpf_pins__get - Return: a descriptor of @prefix@name, the caller's; or a negative errno */
int bpf_pins__get(const struct bpf_pins *pins, const char *prefix, const char *name);

/**
 * bpf_pins__get_map - as bpf_pins__get(), for an array
 * @bytes:	receives the size of its only element
 *
 * Return: a descriptor; or a negative errno, -EINVAL if it is no array of one element that can be
 * mapped.
 */
int bpf_pins__get_map(const struct bpf_pins *pins, const char *prefix, const char *name,
		      size_t *bytes);

/**
 * bpf_pins__commit - pin the session, which completes the directory
 * @header:	@magic, @version, @pid and @session_bytes are set here
 * @fd:		a perf.data file
 *
 * Replaces an earlier session in one step. Return: 0, or a negative errno.
 */
int bpf_pins__commit(struct bpf_pins *pins, const struct bpf_pin_header *header, int fd);

/**
 * bpf_pins__refuse - say why a recorder cannot go on with what is pinned, and the way out
 *
 * Return: -ESTALE.
 */
int bpf_pins__refuse(const struct bpf_pins *pins, const char *reason);

/** bpf_pins__nr_rings - Return: how many rings are pinned, or a negative errno */
int bpf_pins__nr_rings(const struct bpf_pins *pins);

/** bpf_pins__copy_session - write the perf.data file to @fd. Return: 0, or a negative errno */
int bpf_pins__copy_session(const struct bpf_pins *pins, int fd);

/**
 * bpf_pins__copy_rings - write the rings to @fd, one behind the other. Return: 0, or a negative
 * errno
 */
int bpf_pins__copy_rings(const struct bpf_pins *pins, int fd);

/**
 * bpf_pins__is_empty - Return: nothing was ever written to the rings, and all of them can be read
 */
bool bpf_pins__is_empty(const struct bpf_pins *pins);

/** bpf_pins__detach - detach the programs, and wait until none of them writes */
void bpf_pins__detach(const struct bpf_pins *pins);

/** bpf_pins__remove - remove the directory, the session first; close it */
void bpf_pins__remove(struct bpf_pins *pins);

#endif
