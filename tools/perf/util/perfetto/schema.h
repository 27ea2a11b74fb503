/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers of the fields of a trace of Perfetto that are written.
 *
 * Each group is a message. The type of a message inside another is the name of its group.
 */
#ifndef PERF_PERFETTO_SCHEMA_H
#define PERF_PERFETTO_SCHEMA_H

/* A file is a sequence of packets. */
#define TRACE_PACKET			1

enum packet_fields {
	PACKET_FTRACE_EVENTS		= 1,	/* bundle */
	PACKET_PROCESS_TREE		= 2,
	PACKET_CLOCK_SNAPSHOT		= 6,
	PACKET_TIMESTAMP		= 8,	/* [ns] */
	PACKET_SEQUENCE			= 10,	/* packets that share interned data */
	PACKET_TRACK_EVENT		= 11,
	PACKET_INTERNED_DATA		= 12,
	PACKET_SEQUENCE_FLAGS		= 13,
	PACKET_SYSTEM_INFO		= 45,
	PACKET_COMPRESSED		= 50,	/* packets, by zlib */
	PACKET_DEFAULTS			= 59,	/* of the packets of a sequence */
	PACKET_TRACK_DESCRIPTOR		= 60,
	PACKET_PERF_SAMPLE		= 66,
	PACKET_MACHINE			= 98,	/* of several; none for the host */
};

enum sequence_flags {
	SEQUENCE_CLEARED		= 1,	/* forget interned data and defaults */
	SEQUENCE_NEEDS_STATE		= 2,	/* refers to interned data */
};

enum bundle_fields {
	BUNDLE_CPU			= 1,
	BUNDLE_EVENT			= 2,	/* ftrace_event */
};

enum ftrace_event_fields {
	FTRACE_TIMESTAMP		= 1,
	FTRACE_PID			= 2,
	FTRACE_SCHED_SWITCH		= 4,
	FTRACE_SCHED_WAKEUP		= 17,
	FTRACE_SCHED_WAKING		= 20,
	FTRACE_SOFTIRQ_ENTRY		= 24,
	FTRACE_SOFTIRQ_EXIT		= 25,
	FTRACE_SOFTIRQ_RAISE		= 26,
	FTRACE_IRQ_HANDLER_ENTRY	= 36,
	FTRACE_IRQ_HANDLER_EXIT		= 37,
	FTRACE_SCHED_WAKEUP_NEW		= 114,
	FTRACE_GENERIC			= 327,
	FTRACE_SYS_ENTER		= 329,
	FTRACE_SYS_EXIT			= 330,
};

/* The fields of the other events are in the table of ftrace.c. */
enum generic_fields {
	GENERIC_NAME			= 1,
	GENERIC_FIELD			= 2,	/* generic_field */
};

enum generic_field {
	FIELD_NAME			= 1,
	FIELD_TEXT			= 3,
	FIELD_SIGNED			= 4,
	FIELD_UNSIGNED			= 5,
};

enum process_tree {
	TREE_PROCESS			= 1,
	TREE_THREAD			= 2,
};

enum tree_process {
	PROCESS_PID			= 1,
	PROCESS_PARENT			= 2,
	PROCESS_COMMAND			= 3,
};

enum tree_thread {
	THREAD_TID			= 1,
	THREAD_NAME			= 2,
	THREAD_PID			= 3,
};

enum clock_snapshot {
	SNAPSHOT_CLOCK			= 1,
};

enum clock_fields {
	CLOCK_ID			= 1,	/* clock_id */
	CLOCK_TIME			= 2,
};

/* Times of packets are those of BOOTTIME unless they say otherwise. */
enum clock_id {
	ID_REALTIME			= 1,
	ID_MONOTONIC			= 3,
	ID_MONOTONIC_RAW		= 5,
	ID_BOOTTIME			= 6,
};

enum system_info_fields {
	SYSTEM_UTSNAME			= 1,
};

enum utsname_fields {
	UTSNAME_SYSTEM			= 1,
	UTSNAME_RELEASE			= 3,
	UTSNAME_MACHINE			= 4,
};

enum track_descriptor {
	TRACK_UUID			= 1,
	TRACK_NAME			= 2,
	TRACK_PARENT			= 5,
};

enum track_event_fields {
	EVENT_ANNOTATION		= 4,
	EVENT_TYPE			= 9,	/* track_event_type */
	EVENT_TRACK			= 11,	/* uuid */
	EVENT_CATEGORY			= 22,
	EVENT_NAME			= 23,
};

enum track_event_type {
	TYPE_BEGIN			= 1,
	TYPE_END			= 2,
	TYPE_INSTANT			= 3,
};

enum annotation_fields {
	ANNOTATION_NUMBER		= 3,
	ANNOTATION_TEXT			= 6,
	ANNOTATION_NAME			= 10,
};

enum defaults_fields {
	DEFAULTS_PERF_SAMPLE		= 12,
};

enum perf_sample_defaults {
	SAMPLE_DEFAULTS_TIMEBASE	= 1,
};

enum timebase_fields {
	TIMEBASE_PERIOD			= 1,
	TIMEBASE_FREQUENCY		= 2,
	TIMEBASE_RAW_EVENT		= 5,
	TIMEBASE_NAME			= 10,
};

enum raw_event_fields {
	RAW_TYPE			= 1,
	RAW_CONFIG			= 2,
};

enum perf_sample_fields {
	SAMPLE_CPU			= 1,
	SAMPLE_PID			= 2,
	SAMPLE_TID			= 3,
	SAMPLE_CALLSTACK		= 4,
	SAMPLE_CPU_MODE			= 5,
	SAMPLE_COUNT			= 6,	/* of the event, since the first sample */
};

enum cpu_mode {
	MODE_KERNEL			= 1,
	MODE_USER			= 2,
};

enum interned_data {
	INTERNED_FUNCTION		= 5,	/* interned_string */
	INTERNED_FRAME			= 6,
	INTERNED_CALLSTACK		= 7,
	INTERNED_BUILD_ID		= 16,	/* interned_string */
	INTERNED_PATH			= 17,	/* interned_string */
	INTERNED_MAPPING		= 19,
};

#define INTERNED_ID			1	/* first field of all of them */

enum interned_string {
	STRING_BYTES			= 2,
};

enum frame_fields {
	FRAME_FUNCTION			= 2,
	FRAME_MAPPING			= 3,
	FRAME_ADDRESS			= 4,	/* in the file that is mapped */
};

enum callstack_fields {
	CALLSTACK_FRAME			= 2,	/* outermost first */
};

enum mapping_fields {
	MAPPING_BUILD_ID		= 2,
	MAPPING_PATH			= 7,
};

#endif
