/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Report the state of perf to the service manager, by the protocol of sd_notify(3).
 */
#ifndef PERF_RECORDING_NOTIFY_H
#define PERF_RECORDING_NOTIFY_H

/**
 * notify__send - send a message to $NOTIFY_SOCKET
 * @fmt:	variables of sd_notify(3), one on each line, such as READY=1 and STATUS=TEXT
 *
 * Does nothing if no service manager waits for messages. Does not block.
 */
__attribute__((format(printf, 1, 2)))
void notify__send(const char *fmt, ...);

#endif
