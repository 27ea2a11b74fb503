/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hide the differences between the util/ of perf in Linux 6.12 and in mainline.
 *
 * Only this header asks which of them it is compiled with. scripts/check-compat finds functions
 * that are not needed any more, those that work with the util/ of both, and those that this table
 * lacks. The release is the first with the commit, "later" one after 6.19. Where there is no hash,
 * only the subject is known for sure.
 *
 *	6.14	8a0f49a7f1da ("perf tools: Parse aux-action")
 *		auxtrace_parse_aux_action
 *	6.14	c46d634a03a3 ("perf evsel: Add/use accessor for tp_format")
 *		evsel__tp_format
 *	6.15	5c2938fe789c ("perf syscalltbl: Remove struct syscalltbl")
 *		host_syscall_name, host_syscall_id, session__syscall_name
 *	6.15	dc6d2bc2d893 ("perf sample: Make user_regs and intr_regs optional")
 *		perf_sample__exit
 *	6.16	7d45f402d311 ("perf evlist: Make uniquifying counter names consistent")
 *		evlist__uniquify_name
 *	6.16	9557c0007687 ("perf record --off-cpu: Add --off-cpu-thresh option")
 *		record_opts__set_off_cpu_thresh
 *	6.17	b4c658d4d63d ("perf target: Remove uid from target")
 *		TARGET_NO_USER, target__user, target__select_user
 *	6.17	57ddb9cbb54f ("perf evlist: Change env variable to session")
 *		evlist__env, evlist__set_session
 *	6.17	53b00ff358dc ("perf record: Make --buildid-mmap the default")
 *		symbol_conf__set_buildid_mmap2
 *	6.17	ab38e84ba9a8 ("perf record: collect BPF metadata from existing BPF programs")
 *		perf_event__is_too_new
 *	6.19	71062e282d6a ("perf tool: Add the perf_tool argument to all callbacks")
 *		process_tracing_data, process_id_index, process_feature, DEFINE_SESSION_CALLBACK
 *	6.19	("perf record: Enable defer_callchain for user callchains")
 *		callchain_param__defers, evsel__defers, evsel__set_defer_output,
 *		perf_sample__stack_cookie, perf_event__stack_cookie
 *	later	d40c68a49f69 ("perf header: Support CPU DOMAIN relation info")
 *		perf_header__clear_unavailable
 *	later	83c338369a88 ("libperf cpumap: Make index and nr types unsigned")
 *		cpu_index_t
 *	later	daac18e7c42c ("perf inject: Fix itrace branch stack synthesis")
 *		sample_event_size, synthesize_sample
 *	later	fd7dd303c430 ("perf evsel: Refactor evsel tracepoint sample accessors perf_sample")
 *		evsel__intval, sample__common_pid
 *	later	859e49597088 ("perf callchain: Don't pass evsel and sample")
 *		resolve_callchain
 *	later	fc444d05b4e4 ("perf tool: Remove evsel from tool APIs that pass the sample")
 *		mark_dso_hit, DEFINE_SAMPLE_CALLBACK
 *	later	("perf evlist: Add reference count", "perf evsel: Add reference count")
 *		evlist__put, evsel__put
 *	later	("perf evlist: Add reference count checking")
 *		evlist__do_mmap, evlist__do_munmap, evlist__set_sb_thread_done
 *	unknown	add_leaf_frame_caller_opts_aarch64() replaces arch__add_leaf_frame_record_opts()
 *		record_opts__add_leaf_frames
 */
#ifndef PERF_RECORDING_COMPAT_H
#define PERF_RECORDING_COMPAT_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/auxtrace.h"
#include "util/bpf-event.h"
#include "util/build-id.h"
#include "util/callchain.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/header.h"
#include "util/machine.h"
#include "util/parse-events.h"
#include "util/record.h"
#include "util/sample.h"
#include "util/session.h"
#include "util/stat.h"
#include "util/symbol.h"
#include "util/synthetic-events.h"
#include "util/target.h"
#include "util/tool.h"

/* An index of perf_cpu_map__for_each_cpu(): its sign is that of the number of CPUs. */
typedef typeof(perf_cpu_map__nr(NULL)) cpu_index_t;

#if __has_include("util/aslr.h")
/*
 * Mainline
 */

#include "dwarf-regs.h"
#include "trace/beauty/syscalltbl.h"
#include "util/arm64-frame-pointer-unwind-support.h"
#include "util/env.h"

/* Functions of ours that only the util/ of 6.12 declares. */
int record_parse_callchain_opt(const struct option *opt, const char *arg, int unset);
int record_callchain_opt(const struct option *opt, const char *arg, int unset);
void arch__add_leaf_frame_record_opts(struct record_opts *opts);

/* The fields of struct target that select no user. */
#define TARGET_NO_USER

static inline const char *target__user(const struct target *target)
{
	(void)target;
	return NULL;
}

/*
 * Record only the tasks of @user: filter the samples of all tasks by BPF. Call it after parsing
 * events.
 */
static inline int target__select_user(struct target *target, struct evlist *evlist,
				      const char *user)
{
	uid_t uid;

	if (!user)
		return 0;
	uid = parse_uid(user);
	if (uid == (uid_t)UINT_MAX) {
		fprintf(stderr, "Cannot find user %s.\n", user);
		return -EINVAL;
	}
	target->system_wide = true;
	return parse_uid_filter(evlist, uid);
}

static inline void evlist__uniquify_name(struct evlist *evlist)
{
	evlist__uniquify_evsel_names(evlist, &stat_config);
}

static inline void bpf_prog_info_node__delete(struct bpf_prog_info_node *node)
{
	bpf_metadata_free(node->metadata);
	free(node->info_linear);
	free(node);
}

static inline struct perf_env *evlist__env(struct evlist *evlist)
{
	return perf_session__env(evlist__session(evlist));
}

#ifdef HAVE_LIBTRACEEVENT
static inline int process_tracing_data(struct perf_session *session, union perf_event *event)
{
	return perf_event__process_tracing_data(session->tool, session, event);
}

static inline u64 evsel__intval(struct evsel *evsel, struct perf_sample *sample, const char *name)
{
	sample->evsel = evsel;
	return perf_sample__intval(sample, name);
}
#endif

static inline void symbol_conf__set_buildid_mmap2(bool enable)
{
	symbol_conf.no_buildid_mmap2 = !enable;
}

/* --call-graph fp,defer: user stacks are records of their own, if the kernel supports that. */
static inline bool callchain_param__defers(const struct callchain_param *param)
{
	return param->enabled && param->defer;
}

static inline bool evsel__defers(const struct evsel *evsel)
{
	return evsel->core.attr.defer_callchain;
}

/* Let the kernel write the stacks to the ring of this event, or not. */
static inline void evsel__set_defer_output(struct evsel *evsel, bool enable)
{
	evsel->core.attr.defer_output = enable;
}

/* Return: the cookie of the user stack that is to follow a sample, 0 for none. */
static inline u64 perf_sample__stack_cookie(const struct perf_sample *sample)
{
	return sample->deferred_callchain ? sample->deferred_cookie : 0;
}

/* Return: the cookie of a record that is such a user stack, 0 for other records. */
static inline u64 perf_event__stack_cookie(const union perf_event *event)
{
	return event->header.type == PERF_RECORD_CALLCHAIN_DEFERRED ?
	       event->callchain_deferred.cookie : 0;
}

/* Set the least time off the CPU that is a sample of its own [ns]. Return: 0, or -EOPNOTSUPP. */
static inline int record_opts__set_off_cpu_thresh(struct record_opts *opts, u64 ns)
{
	opts->off_cpu_thresh_ns = ns;
	return 0;
}

static inline void record_opts__add_leaf_frames(struct record_opts *opts)
{
	if (EM_HOST == EM_AARCH64)
		add_leaf_frame_caller_opts_aarch64(opts);
}

static inline int mark_dso_hit(const struct perf_tool *tool, union perf_event *event,
			       struct perf_sample *sample, struct evsel *evsel,
			       struct machine *machine)
{
	sample->evsel = evsel;
	return build_id__mark_dso_hit(tool, event, sample, machine);
}

static inline int process_id_index(struct perf_session *session, union perf_event *event)
{
	return perf_event__process_id_index(session->tool, session, event);
}

/* Is this a record that util synthesizes, and for which an older perf refuses the whole file? */
static inline bool perf_event__is_too_new(const union perf_event *event)
{
	return event->header.type == PERF_RECORD_BPF_METADATA;
}

/* Clear features that util cannot write on this machine. It would print an error for each file. */
static inline void perf_header__clear_unavailable(struct perf_header *header)
{
	if (access("/proc/schedstat", R_OK))
		perf_header__clear_feat(header, HEADER_CPU_DOMAIN_INFO);
}

static inline int process_feature(struct perf_session *session, union perf_event *event)
{
	return perf_event__process_feature(session->tool, session, event);
}

static inline const char *session__syscall_name(struct perf_session *session, int id)
{
	return syscalltbl__name(perf_session__e_machine(session, /*e_flags=*/NULL), id);
}

static inline const char *host_syscall_name(int id)
{
	return syscalltbl__name(EM_HOST, id);
}

static inline int host_syscall_id(const char *name)
{
	return syscalltbl__id(EM_HOST, name);
}

static inline int resolve_callchain(struct thread *thread, struct callchain_cursor *cursor,
				    struct evsel *evsel, struct perf_sample *sample, int max_stack)
{
	sample->evsel = evsel;
	return thread__resolve_callchain(thread, cursor, sample, NULL, NULL, max_stack);
}

#ifdef HAVE_LIBTRACEEVENT
/* Of a sample of a tracepoint */
static inline int sample__common_pid(struct evsel *evsel, struct perf_sample *sample)
{
	sample->evsel = evsel;
	return perf_sample__intval_common(sample, "common_pid");
}
#endif

/* Samples without PERF_SAMPLE_READ and PERF_SAMPLE_BRANCH_STACK */
static inline size_t sample_event_size(const struct perf_sample *sample, u64 type)
{
	return perf_event__sample_event_size(sample, type, 0, 0);
}

static inline int synthesize_sample(union perf_event *event, u64 type,
				    const struct perf_sample *sample)
{
	return perf_event__synthesize_sample(event, type, 0, 0, sample);
}

/* Define @name, a callback of struct perf_tool for samples that calls @function. */
#define DEFINE_SAMPLE_CALLBACK(name, function)						\
static int name(const struct perf_tool *tool, union perf_event *event,			\
		struct perf_sample *sample, struct machine *machine)			\
{											\
	return (function)(tool, event, sample, sample->evsel, machine);			\
}

/* Define @name, a callback of struct perf_tool for records of a session. */
#define DEFINE_SESSION_CALLBACK(name, function)						\
static int name(const struct perf_tool *tool __maybe_unused,				\
		struct perf_session *session, union perf_event *event)			\
{											\
	return (function)(session, event);						\
}

#else
/*
 * Linux 6.12
 */

#include "util/syscalltbl.h"

#define TARGET_NO_USER .uid = UINT_MAX

static inline const char *target__user(const struct target *target)
{
	return target->uid_str;
}

/* Record the tasks that @user has when recording starts, and those that they start. */
static inline int target__select_user(struct target *target, struct evlist *evlist,
				      const char *user)
{
	char msg[BUFSIZ];
	int err;

	(void)evlist;
	target->uid_str = user;
	err = target__validate(target);
	if (err) {
		target__strerror(target, err, msg, sizeof(msg));
		fprintf(stderr, "%s\n", msg);
	}
	err = target__parse_uid(target);
	if (err) {
		target__strerror(target, err, msg, sizeof(msg));
		fprintf(stderr, "%s\n", msg);
		return -EINVAL;
	}
	return 0;
}

/* Group AUX events with those that they take samples for. */
static inline int auxtrace_parse_aux_action(struct evlist *evlist)
{
	auxtrace_regroup_aux_output(evlist);
	return 0;
}

static inline void evlist__put(struct evlist *evlist)
{
	evlist__delete(evlist);
}

static inline void evsel__put(struct evsel *evsel)
{
	evsel__delete(evsel);
}

static inline int evlist__do_mmap(struct evlist *evlist, unsigned int pages)
{
	return evlist__mmap(evlist, pages);
}

static inline void evlist__do_munmap(struct evlist *evlist)
{
	evlist__munmap(evlist);
}

static inline void evlist__set_session(struct evlist *evlist, struct perf_session *session)
{
	evlist->env = &session->header.env;
}

static inline void bpf_prog_info_node__delete(struct bpf_prog_info_node *node)
{
	free(node->info_linear);
	free(node);
}

static inline struct perf_env *evlist__env(struct evlist *evlist)
{
	return evlist->env;
}

#ifdef HAVE_LIBTRACEEVENT
static inline int sample__common_pid(struct evsel *evsel, struct perf_sample *sample)
{
	return evsel__intval_common(evsel, sample, "common_pid");
}
#endif

static inline size_t sample_event_size(const struct perf_sample *sample, u64 type)
{
	return perf_event__sample_event_size(sample, type, 0);
}

static inline int synthesize_sample(union perf_event *event, u64 type,
				    const struct perf_sample *sample)
{
	return perf_event__synthesize_sample(event, type, 0, sample);
}

static inline void evlist__set_sb_thread_done(struct evlist *evlist, int done)
{
	evlist->thread.done = done;
}

static inline void symbol_conf__set_buildid_mmap2(bool enable)
{
	symbol_conf.buildid_mmap2 = enable;
}

static inline bool callchain_param__defers(const struct callchain_param *param)
{
	(void)param;
	return false;
}

static inline bool evsel__defers(const struct evsel *evsel)
{
	(void)evsel;
	return false;
}

static inline void evsel__set_defer_output(struct evsel *evsel, bool enable)
{
	(void)evsel;
	(void)enable;
}

static inline u64 perf_sample__stack_cookie(const struct perf_sample *sample)
{
	(void)sample;
	return 0;
}

static inline u64 perf_event__stack_cookie(const union perf_event *event)
{
	(void)event;
	return 0;
}

/* Free what parsing a sample has allocated: nothing. */
static inline void perf_sample__exit(struct perf_sample *sample)
{
	(void)sample;
}

static inline int record_opts__set_off_cpu_thresh(struct record_opts *opts, u64 ns)
{
	(void)opts;
	(void)ns;
	return -EOPNOTSUPP;
}

static inline void record_opts__add_leaf_frames(struct record_opts *opts)
{
	arch__add_leaf_frame_record_opts(opts);
}

static inline int mark_dso_hit(const struct perf_tool *tool, union perf_event *event,
			       struct perf_sample *sample, struct evsel *evsel,
			       struct machine *machine)
{
	return build_id__mark_dso_hit(tool, event, sample, evsel, machine);
}

static inline int process_id_index(struct perf_session *session, union perf_event *event)
{
	return perf_event__process_id_index(session, event);
}

static inline bool perf_event__is_too_new(const union perf_event *event)
{
	(void)event;
	return false;
}

static inline void perf_header__clear_unavailable(struct perf_header *header)
{
	(void)header;
}

static inline int process_feature(struct perf_session *session, union perf_event *event)
{
	return perf_event__process_feature(session, event);
}

/* perf has the names of the machine that it was built for. */
static inline struct syscalltbl *host_syscalls(void)
{
	static struct syscalltbl *table;

	if (!table)
		table = syscalltbl__new();
	return table;
}

static inline const char *host_syscall_name(int id)
{
	return host_syscalls() ? syscalltbl__name(host_syscalls(), id) : NULL;
}

static inline int host_syscall_id(const char *name)
{
	return host_syscalls() ? syscalltbl__id(host_syscalls(), name) : -1;
}

static inline const char *session__syscall_name(struct perf_session *session, int id)
{
	const char *arch = perf_env__arch(&session->header.env);

	return !arch || strcmp(arch, perf_env__arch(NULL)) ? NULL : host_syscall_name(id);
}

static inline int resolve_callchain(struct thread *thread, struct callchain_cursor *cursor,
				    struct evsel *evsel, struct perf_sample *sample, int max_stack)
{
	return thread__resolve_callchain(thread, cursor, evsel, sample, NULL, NULL, max_stack);
}

#ifdef HAVE_LIBTRACEEVENT
static inline int process_tracing_data(struct perf_session *session, union perf_event *event)
{
	return perf_event__process_tracing_data(session, event);
}

static inline struct tep_event *evsel__tp_format(struct evsel *evsel)
{
	return evsel->tp_format;
}
#endif

#define DEFINE_SAMPLE_CALLBACK(name, function)						\
static int name(const struct perf_tool *tool, union perf_event *event,			\
		struct perf_sample *sample, struct evsel *evsel, struct machine *machine)	\
{											\
	return (function)(tool, event, sample, evsel, machine);				\
}

#define DEFINE_SESSION_CALLBACK(name, function)						\
static int name(struct perf_session *session, union perf_event *event)			\
{											\
	return (function)(session, event);						\
}

#endif
#endif
