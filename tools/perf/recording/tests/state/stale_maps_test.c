// SPDX-License-Identifier: GPL-2.0-only
/*
 * The live state drops unmapped maps.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include "state_fixture.h"
#include "perf/tests/tap.h"

static bool any_task(u32 tid)
{
	(void)tid;
	return true;
}

#define NR_MAPS	(HISTORY_MIN_PRUNE_THRESHOLD + 10)

static unsigned int nr_reads;
static bool is_code = true;
static u64 mapped_page;	/* address of the only mapped page; 0: /proc cannot be read */

static struct proc_maps *read_maps(u32 tid)
{
	bool known = mapped_page && tid != 30;
	struct proc_maps *proc_maps = NULL;

	nr_reads++;
	if (known)
		proc_maps = malloc(sizeof(*proc_maps) + sizeof(struct mapped_range));
	if (proc_maps) {
		proc_maps->nr = 1;
		proc_maps->range[0] = (struct mapped_range){
			mapped_page, mapped_page + 0x1000, is_code
		};
	}
	return proc_maps;
}

/* Emit NR_MAPS - 1 maps without overlap. The process has one more, which was emitted before. */
static void emit_unmapped(u32 pid)
{
	unsigned int i;

	for (i = 1; i < NR_MAPS; i++)
		emit_mmap(pid, i * 0x2000, 0x1000, 0, "/unmapped");
}

static size_t maps_in_file(void)
{
	collect(0, 0, 0);
	read_new_file(now);
	return count(PERF_RECORD_MMAP2);
}

/* Make what was read from /proc final: this takes two rounds with new records. */
static void finish_lookup(void)
{
	make_final();
	make_final();
	make_final();
}

static void begin_with_many_maps(void)
{
	begin();
	nr_reads = 0;
	mapped_page = 0x1000000;
	emit_comm(10, 10, "jit", 0);
	emit_mmap(10, mapped_page, 0x1000, 0, "/mapped");
	emit_unmapped(10);
	make_final();
}

static void test_stale_maps(void)
{
	u64 sample_time;
	bool ok;

	begin();
	nr_reads = 0;
	emit_comm(10, 10, "small", 0);
	emit_mmap(10, 0x1000, 0x1000, 0, "/mapped");
	make_final();
	state__find_stale_maps(&state, read_maps);
	check(!nr_reads, "/proc is not read for a process with few maps");
	end();

	begin_with_many_maps();
	state__find_stale_maps(&state, read_maps);
	state__find_stale_maps(&state, read_maps);
	ok = nr_reads == 1;
	sample_time = now++;
	emit_mmap(10, 0x2000000, 0x1000, 0, "/new");
	finish_lookup();
	ok = check(ok, "/proc is read once for a process with many maps");
	/* A sample was taken after /proc was read. */
	collect(10, 10, sample_time);
	read_new_file(sample_time);
	check(resolves(10, 10, 0x2010, "jit", "/unmapped", 0x10),
	      "an unmapped map is kept while a ring refers to it");
	ok = maps_in_file() == 2 && resolves(10, 10, 0x1000010, "jit", "/mapped", 0x10) &&
	     resolves(10, 10, 0x2000010, "jit", "/new", 0x10) &&
	     resolves(10, 10, 0x2010, "jit", "", 0);
	check(ok, "then it is dropped; maps in /proc and newer ones are kept");
	emit_unmapped(10);
	make_final();
	state__find_stale_maps(&state, read_maps);
	finish_lookup();
	check(nr_reads == 2 && maps_in_file() == 1, "unmapped maps are dropped a second time");
	end();

	begin_with_many_maps();
	emit_fork(20, 20, 10, 10);
	make_final();
	state__find_stale_maps(&state, read_maps);
	finish_lookup();
	check(nr_reads == 2 && maps_in_file() == 2, "unmapped maps of children are dropped");
	end();

	begin_with_many_maps();
	emit_fork(30, 30, 10, 10);
	make_final();
	state__find_stale_maps(&state, read_maps);
	finish_lookup();
	check(maps_in_file() == NR_MAPS + 1,
	      "maps of a child are kept if its /proc cannot be read");
	end();

	begin_with_many_maps();
	sample_time = now++;
	make_final();
	state__find_stale_maps(&state, read_maps);
	finish_lookup();
	collect(10, 10, sample_time);
	read_new_file(sample_time);
	check(resolves(10, 10, 0x2010, "jit", "/unmapped", 0x10),
	      "unmapped maps are kept if no record arrived since");
	sample_time = now++;
	emit_mmap(10, 0x2000000, 0x1000, 0, "/new");
	make_final();
	collect(10, 10, sample_time);
	read_new_file(now);
	check(count(PERF_RECORD_MMAP2) == 2,
	      "they are dropped when no ring refers to them any more");
	end();

	begin_with_many_maps();
	state__find_stale_maps(&state, read_maps);
	finish_lookup();
	sample_time = now++;
	emit_unmapped(10);
	make_final();
	state__find_stale_maps(&state, read_maps);
	finish_lookup();
	collect(10, 10, sample_time);
	read_new_file(sample_time);
	check(nr_reads == 2 && resolves(10, 10, 0x2010, "jit", "", 0),
	      "the base view is pruned by the older of two lookups before it has the time of the newer");
	end();

	begin_with_many_maps();
	is_code = false;
	state__find_stale_maps(&state, read_maps);
	finish_lookup();
	is_code = true;
	check(maps_in_file() == 0, "maps of code are dropped if there are data now");
	end();

	begin_with_many_maps();
	mapped_page = 0;
	state__find_stale_maps(&state, read_maps);
	emit_mmap(10, 0x2000000, 0x1000, 0, "/new");
	finish_lookup();
	state__find_stale_maps(&state, read_maps);
	check(nr_reads == 1 && maps_in_file() == NR_MAPS + 1,
	      "all maps are kept if /proc cannot be read");
	end();

	begin_with_many_maps();
	emit_mmap(1, 0x9000, 0x1000, 0, "/parent");
	make_final();
	state__find_stale_maps(&state, read_maps);
	emit_exit(10, 10);
	emit_fork(10, 10, 1, 1);
	emit_comm(10, 10, "other", 0);
	finish_lookup();
	ok = maps_in_file() == 2 && resolves(10, 10, 0x9010, "other", "/parent", 0x10);
	check(ok, "another process that got the pid keeps its maps");
	end();

	begin_with_many_maps();
	state__find_stale_maps(&state, read_maps);
	state__mark_exited(&state, any_task);
	finish_lookup();
	check(maps_in_file() == NR_MAPS, "after a loss what was read from /proc is discarded");
	end();
}

int main(void)
{
	test_stale_maps();
	free(file.record);
	return tap_end();
}
