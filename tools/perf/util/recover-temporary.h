/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Create a temporary file without a name, for memory that is taken from an image.
 */
#ifndef __PERF_RECOVER_TEMPORARY_H
#define __PERF_RECOVER_TEMPORARY_H

/** recover_temporary__dir - return $TMPDIR, or /var/tmp: there may be no space in memory */
const char *recover_temporary__dir(void);

/** recover_temporary__open - create a file of mode 0600. Return: a descriptor, or -1 with errno */
int recover_temporary__open(void);

#endif /* __PERF_RECOVER_TEMPORARY_H */
