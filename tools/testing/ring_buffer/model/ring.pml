/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's ring in overwrite mode, and a reader on another CPU: a model for spin
 *
 * It follows kernel/events/ring_buffer.c (output_begin(), reserve_overwrite(), reserve_nested(),
 * put_trailer(), publish(), writer_end()), the barriers B, C, E and F of kernel/events/internal.h,
 * and the reader of Documentation/userspace-api/perf_ring_buffer_overwrite.rst. Spin goes through
 * all orders in which their steps can happen. A step does at most one thing that matters to others.
 *
 * Ring:	SIZE words, full at first. A word holds its position and, if it is the last one of a
 *		record, the length of that: the trailer. Records have one word or two. A word cannot
 *		be torn, a record of two can.
 * Writers:	a task, an interrupt at any of its steps, an NMI at any of the interrupt's. Each
 *		writes as many records as it likes, WORDS words in all: 6 overwrite the ring twice.
 *		(An NMI in the task is an interrupt that nothing interrupts. What comes while nobody
 *		writes is a writer like the task.)
 * Reader:	takes one snapshot after the other, until the writers are done or later.
 * Memory:	to spin, all stores are visible to all at once. Here they go to stored[], which the
 *		writing CPU alone sees, and become visible[] to the reader at any time and in any
 *		order; smp_wmb() waits until all are. So the reader sees them in every order that
 *		the barriers allow on any machine: what no barrier separates changes places, and
 *		passes what an interrupted writer has stored. (Of two stores to a place that are
 *		both pending only the second one will be seen. That leaves out no more than a
 *		data_reserved that is too high for longer, after two writers found no room.) The
 *		reader loads in all orders that C and F allow; among the words one is enough, as
 *		each is right or wrong for itself.
 *
 * What must not be found:
 *	torn		a snapshot that lacks a record, or part of one, of which data_reserved -
 *			SIZE does not say that it may be overwritten
 *	disjoint	a snapshot that does not continue the one before: data_head went back, or
 *			the end of the one before lies within a record, and was not overwritten
 *	incomplete	a data_head below which something has not been written
 *	unsettled	data_head or data_reserved other than the head, when the task has ended
 *
 * Not here: streaming and backward rings, LOST records, records larger than the ring, wake-ups.
 *
 * By hand, in an empty directory into which this file was copied:
 *
 *	spin -a ring.pml && gcc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan -m100000
 *
 * says "errors: 0", and lists nothing as unreached. Now break something:
 *
 *	spin -DBROKEN=SWAPPED_ADDS -DWORDS=4 -a ring.pml &&
 *	gcc -DSAFETY -DNOREDUCE -DBFS -o pan pan.c && ./pan
 *	spin -DBROKEN=SWAPPED_ADDS -DWORDS=4 -t -T ring.pml
 *
 * finds a shortest history that leads to one of these, and tells it. With -p -g -l as well, it
 * shows each statement and variable. model.sh runs all this. -DWORDS=7 and -DSIZE=4 take more
 * time, and up to 2 GB.
 *
 * Promela, for those who know C: a statement that is false waits until it is true. "if" and "do"
 * take one of the branches (::) whose first statement need not wait, whichever; "do" repeats that
 * until break. atomic and d_step are one step, proctype is a process, inline a macro.
 */

#ifndef SIZE
#define SIZE		3
#endif
#ifndef WORDS
#define WORDS		6
#endif

/* What can be broken, one at a time, and what is then found first. */
#define SWAPPED_ADDS		1	/* torn: room is taken before it is announced */
#define LOAD_AND_STORE		2	/* unsettled: data_reserved is loaded, then stored */
#define NESTED_PUBLISHES	3	/* incomplete: a nested writer publishes data_head */
#define NOT_COMPARED		4	/* unsettled: head is not compared once published */
#define NEST_CLEARED_FIRST	5	/* disjoint: nest is cleared before data_head is stored */
#define NO_LIMIT		6	/* incomplete: nested writers go beyond the ring */
#define ADD_AFTER_CHECK		7	/* incomplete: head is added to, though it has changed */
#define NOT_TAKEN_BACK		8	/* unsettled: what is refused remains announced */
#define NO_B			9	/* torn: no barrier between record and data_head */
#define NO_E_OVERWRITE		10	/* torn: no barrier between data_reserved and record */
#define NO_E_NESTED		11	/* torn: the same in a nested writer */
#define NO_C			12	/* torn: no barrier between data_head and copy */
#define NO_F			13	/* torn: no barrier between copy and data_reserved */
#define RESERVED_FIRST		14	/* torn: the reader loads data_reserved before it copies */
#ifndef BROKEN
#define BROKEN			0
#endif

/* struct perf_buffer */
byte head = SIZE, published = SIZE, nest;

/* Data area and control page, as far as the reader reads them: as stored, and as visible. */
byte stored[SIZE + 2], visible[SIZE + 2];

#define PLACE(position)		((position) % SIZE)
#define DATA_HEAD		SIZE
#define DATA_RESERVED		(SIZE + 1)

#define WORD(position, record)	((position) * 4 + (record))
#define POSITION(word)		((word) / 4)
#define RECORD(word)		((word) % 4)

mtype = { task, interrupt, nmi };

byte depth;		/* 0 nobody writes, 1 the task runs, 2 the interrupt, 3 the NMI */
byte left = WORDS;	/* to be written */
bool done;

/* Used within a step, and then again as they are here. */
byte p, word, lowest;
bool met, torn, disjoint, incomplete, unsettled;

/*
 * Memory
 */

#define PENDING(place)	(stored[place] != visible[place])

/* SIZE being 3 or 4, these are all words. */
#define ALL_VISIBLE	!(PENDING(0) || PENDING(1) || PENDING(SIZE - 2) || PENDING(SIZE - 1) ||	\
			  PENDING(DATA_HEAD) || PENDING(DATA_RESERVED))

#define SHOW(place, text, number)						\
	atomic { PENDING(place) -> visible[place] = stored[place]; printf(text, number) }
#define SHOW_WORD(place)							\
	SHOW(place, "\t\tvisible: word %d\n", POSITION(visible[place]))

proctype memory()
{
	do
	:: SHOW_WORD(0)
	:: SHOW_WORD(1)
	:: SHOW_WORD(SIZE - 2)
	:: SHOW_WORD(SIZE - 1)
	:: SHOW(DATA_HEAD, "\t\tvisible: data_head %d\n", visible[DATA_HEAD])
	:: SHOW(DATA_RESERVED, "\t\tvisible: data_reserved %d\n", visible[DATA_RESERVED])
	:: done -> break
	od
}

#define smp_wmb(label)	(ALL_VISIBLE || BROKEN == NO_##label)

/*
 * Writers
 */

inline announce()
{
#if BROKEN != LOAD_AND_STORE
	atomic {
		stored[DATA_RESERVED] = stored[DATA_RESERVED] + size;
		printf("%e: data_reserved += %d\n", name, size)
	}
#else
	atomic {
		begin = stored[DATA_RESERVED];
		printf("%e: loads data_reserved %d\n", name, begin)
	}
	atomic {
		stored[DATA_RESERVED] = begin + size;
		printf("%e: data_reserved = %d\n", name, begin + size)
	}
#endif
}

inline take()
{
	begin = head;
	head = head + size;
	printf("%e: head += %d\n", name, size)
}

inline reserve_overwrite()
{
#if BROKEN != SWAPPED_ADDS
	announce();
	atomic { smp_wmb(E_OVERWRITE) -> take() }
#else
	atomic { take() };
	announce();
	smp_wmb(E_OVERWRITE)
#endif
}

inline reserve_nested()
{
	announce();
	atomic { smp_wmb(E_NESTED) -> begin = head }
	do
	:: atomic {
		begin + size - published > SIZE && BROKEN != NO_LIMIT ->
		stored[DATA_RESERVED] = stored[DATA_RESERVED] -
					(BROKEN == NOT_TAKEN_BACK -> 0 : size);
		printf("%e: no room, data_reserved %d\n", name, stored[DATA_RESERVED]);
		left = left + size;
		begin = 0;
		size = 0;
		goto written
	   }
	:: atomic {
		else ->		/* local_try_cmpxchg() */
		if
		:: head == begin || BROKEN == ADD_AFTER_CHECK -> take(); break
		:: else -> begin = head
		fi
	   }
	od
}

inline store(position, record)
{
	stored[PLACE(position)] = WORD(position, record);
	printf("%e: word %d\n", name, position)
}

inline publish(h)
{
	d_step {
		for (p : h - SIZE .. h - 1) {
			incomplete = incomplete || POSITION(stored[PLACE(p)]) < p
		}
		p = 0;
		assert(!incomplete);
		stored[DATA_HEAD] = h;
		printf("%e: data_head = %d\n", name, h)
	}
}

inline leave()
{
	unsettled = depth == 1 && (nest || stored[DATA_HEAD] != head ||
				   stored[DATA_RESERVED] != head);
	assert(!unsettled);
	depth--
}

/* Runs while nobody is above it, and comes only while the one below it writes. */
proctype writer(mtype name) provided (depth == _pid || depth == _pid - 1)
{
	byte size, begin, h;

end:	do
	:: atomic {
		left > 0 && depth == _pid - 1 ->
		depth = _pid;
		if
		:: size = 1
		:: left > 1 -> size = 2
		fi;
		left = left - size;
		printf("%e: begins a record of %d\n", name, size);
		nest++;		/* not two steps: who comes in between leaves it as it was */
		if
		:: nest > 1 -> goto nested
		:: else
		fi
	   }
	   reserve_overwrite();
	   goto reserved;
nested:
	   reserve_nested();
reserved:
	   atomic {
		store(begin + size - 1, size);	/* put_trailer() */
		if
		:: size == 1 -> begin = 0; size = 0; goto written
		:: else
		fi
	   }
	   atomic { store(begin, 0); begin = 0; size = 0 }
written:
	   /* writer_end() */
	   if
	   :: atomic { nest > 1 && BROKEN != NESTED_PUBLISHES -> nest--; leave() }
	   :: atomic { else -> h = head }
#if BROKEN == NEST_CLEARED_FIRST
	      nest = 0;
#endif
	      published = h;
	      atomic { smp_wmb(B) -> publish(h) }
#if BROKEN != NEST_CLEARED_FIRST
	      nest = 0;
#endif
	      if
	      :: atomic { head == h || BROKEN == NOT_COMPARED -> h = 0; leave() }
	      :: atomic { else -> h = 0; nest = 1; goto written }
	      fi
	   fi
	:: atomic { left == 0 && depth == 0 && ALL_VISIBLE && name == task -> done = true; break }
	od
}

/*
 * The reader
 */

/* Drops what may be overwritten, and goes down the rest from trailer to trailer. */
inline walk()
{
	lowest = reserved - SIZE;
	p = h;
	met = p == previous;
	do
	:: p > lowest ->
		word = copy[PLACE(p - 1)];
		torn = POSITION(word) != p - 1 || RECORD(word) == 0;
		assert(!torn);
		if
		:: RECORD(word) > p - lowest -> break
		:: else
		fi;
		torn = RECORD(word) == 2 && copy[PLACE(p - 2)] != WORD(p - 2, 0);
		assert(!torn);
		p = p - RECORD(word);
		met = met || p == previous
	:: else -> break
	od;
	printf("\t\treader: returns %d to %d\n", p, h);
	disjoint = h < previous || p <= previous && !met;
	assert(!disjoint)
}

/* What was loaded before the words may be, and before data_reserved may be. */
#define BEFORE_COPY	((has_head || BROKEN == NO_C) &&		\
			 (has_reserved || BROKEN != RESERVED_FIRST))
#define BEFORE_RESERVED	((has_head || BROKEN == NO_C) &&		\
			 (copied == SIZE || BROKEN == NO_F || BROKEN == RESERVED_FIRST))

proctype reader()
{
	byte h, copy[SIZE], copied, reserved;
	bool has_head, has_reserved;
	byte previous = SIZE;	/* end of the snapshot before */

	do
	:: atomic {
		if
		:: !has_head ->
			h = visible[DATA_HEAD];
			has_head = true;
			printf("\t\treader: data_head %d\n", h)
		:: BEFORE_COPY && copied < SIZE ->
			copy[copied] = visible[copied];
			printf("\t\treader: word %d\n", POSITION(copy[copied]));
			copied++
		:: BEFORE_RESERVED && !has_reserved ->
			reserved = visible[DATA_RESERVED];
			has_reserved = true;
			printf("\t\treader: data_reserved %d\n", reserved)
		fi;
		if
		:: has_head && copied == SIZE && has_reserved ->
			d_step {
				walk();
				previous = h;
				for (p : 0 .. SIZE - 1) {
					copy[p] = 0
				}
				h = 0;
				copied = 0;
				reserved = 0;
				has_head = false;
				has_reserved = false;
				p = 0;
				word = 0;
				lowest = 0;
				met = false
			}
		:: else
		fi
	   }
	:: done && !has_head && copied == 0 -> break
	od
}

init {
	atomic {
		for (p : 0 .. SIZE - 1) {
			/* Records of one word, and then one of two. */
			stored[p] = WORD(p, (p == SIZE - 1 -> 2 : p != SIZE - 2));
			visible[p] = stored[p]
		}
		p = 0;
		stored[DATA_HEAD] = SIZE;
		visible[DATA_HEAD] = SIZE;
		stored[DATA_RESERVED] = SIZE;
		visible[DATA_RESERVED] = SIZE;
		run writer(task);
		run writer(interrupt);
		run writer(nmi);
		run reader();
		run memory()
	}
}
