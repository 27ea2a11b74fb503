/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Model the ring buffer in overwrite mode, with a reader on another CPU, for the spin checker.
 *
 * The model follows kernel/events/ring_buffer.c (output_begin(), announce(), reserve_overwrite(),
 * reserve_nested(), start_record(), publish(), writer_end()), the barriers B, C, E and F of
 * kernel/events/internal.h, and the reader in
 * Documentation/userspace-api/perf_ring_buffer_overwrite.rst. Spin explores all interleavings of
 * their steps. A step has at most one effect that other processes can see.
 *
 * Ring:	SIZE words, full at the start. A word holds its position and, if it is the last one
 *		of a record, the length of the record: this is the trailer. Records have one word
 *		or two. A word cannot be torn, but a record of two words can.
 * Writers:	a task, an interrupt at any step of the task, an NMI at any step of the interrupt.
 *		Each writes any number of records, together WORDS words: 4 words overwrite all of
 *		the ring and one word twice. (An NMI in the task is covered as an interrupt that is not interrupted. A
 *		writer that comes while no other is active is covered by the task.)
 * Reader:	takes snapshots, one after the other, until the writers are done or later.
 * Memory:	in spin a store is visible to all processes at once. Therefore stores go to
 *		stored[], which only the writing CPU sees, and are copied to visible[], which the
 *		reader sees, at any time and in any order; smp_wmb() waits until all are copied. So
 *		the reader sees stores in every order that the barriers allow on any architecture:
 *		stores that no barrier separates are reordered, also with those of an interrupted
 *		writer. (Of two pending stores to the same location only the second becomes visible.
 *		This omits only cases in which data_reserved is too high for longer, after two
 *		writers were refused.) The reader's loads happen in all orders that C and F allow:
 *		those of the words of data_reserved in any order, those of the data in one order
 *		only, as each word of data is valid or not on its own.
 *
 * "reserved" below is the sum of the words of data_reserved. Here it has three, one for each writer.
 *
 * Errors that must not be found:
 *	torn		a record, or a part of one, is missing in a snapshot although it lies above
 *			reserved - SIZE, so that it cannot have been overwritten
 *	disjoint	a snapshot does not continue the previous one: data_head went back, or the
 *			end of the previous snapshot lies within a record and was not overwritten
 *	incomplete	data_head was stored before all records below it were written
 *	unsettled	data_head or reserved differs from the head when the task has ended
 *
 * Not modeled: streaming and backward rings, LOST records, records larger than the ring, wake-ups.
 *
 * To run it by hand, in an empty directory with a copy of this file:
 *
 *	spin -a ring.pml && gcc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan -m100000
 *
 * This prints "errors: 0" and lists no unreached statements. With a bug added,
 *
 *	spin -DBROKEN=SWAPPED_ADDS -DWORDS=4 -a ring.pml &&
 *	gcc -DSAFETY -DNOREDUCE -DBFS -o pan pan.c && ./pan
 *	spin -DBROKEN=SWAPPED_ADDS -DWORDS=4 -t -T ring.pml
 *
 * finds and prints a shortest trace that leads to one of these errors. Options -p -g -l add each
 * statement and variable. model.sh runs all of this. -DWORDS=5 takes more time, and more than 1.6 GB
 * of memory.
 *
 * Promela for C programmers: a statement that is false blocks until it is true. "if" and "do"
 * choose any of the branches (::) whose first statement does not block; "do" repeats this until
 * break. atomic and d_step are one step, a proctype is a process, inline is a macro.
 */

#ifndef SIZE
#define SIZE		3
#endif
#ifndef WORDS
#define WORDS		4
#endif

/* Bugs that BROKEN adds, one at a time, and the error that each leads to first. */
#define SWAPPED_ADDS		1	/* torn: head is advanced before data_reserved */
#define ONE_WORD		2	/* unsettled: writers of all depths advance the same word */
#define NESTED_PUBLISHES	3	/* incomplete: a nested writer publishes data_head */
#define NOT_COMPARED		4	/* unsettled: head is not compared after publishing */
#define NEST_CLEARED_FIRST	5	/* disjoint: nest is cleared before data_head is stored */
#define NO_LIMIT		6	/* incomplete: nested writers exceed the ring */
#define ADD_AFTER_CHECK		7	/* incomplete: head is advanced although it has changed */
#define NOT_UNDONE		8	/* unsettled: data_reserved keeps a refused size */
#define NO_B			9	/* torn: no barrier between record and data_head */
#define NO_E_OVERWRITE		10	/* torn: no barrier between data_reserved and record */
#define NO_E_NESTED		11	/* torn: no barrier between data_reserved and nested word */
#define NO_C			12	/* torn: no barrier between data_head and copy */
#define NO_F			13	/* torn: no barrier between copy and data_reserved */
#define RESERVED_FIRST		14	/* torn: the reader loads data_reserved before it copies */
#define NOT_ADDED_UP		15	/* torn: the reader leaves out the words of nested writers */
#ifndef BROKEN
#define BROKEN			0
#endif

#define DEPTHS			3

/* struct perf_buffer */
byte head = SIZE, published = SIZE, nest, counter[DEPTHS];

/* The data area and the control page fields that the reader uses: as stored, and as visible. */
byte stored[SIZE + 1 + DEPTHS], visible[SIZE + 1 + DEPTHS];

#define PLACE(position)		((position) % SIZE)
#define DATA_HEAD		SIZE
#define DATA_RESERVED(depth)	(SIZE + 1 + (depth))

#define WORD(position, record)	((position) * 4 + (record))
#define POSITION(word)		((word) / 4)
#define RECORD(word)		((word) % 4)

mtype = { task, interrupt, nmi };

byte depth;		/* 0: no writer, 1: the task runs, 2: the interrupt, 3: the NMI */
byte left = WORDS;	/* words still to be written */
byte loaded;		/* a bit for each word of data_reserved that the reader has loaded */
bool done;

/* Temporaries of a step, reset to these values at its end. */
byte p, word, lowest;
bool met, torn, disjoint, incomplete, unsettled;

/*
 * Memory
 */

#define PENDING(place)	(stored[place] != visible[place])

/* With a SIZE of 3 or 4 these are all words. */
#define ALL_VISIBLE	!(PENDING(0) || PENDING(1) || PENDING(SIZE - 2) || PENDING(SIZE - 1) ||	\
			  PENDING(DATA_HEAD) || PENDING(DATA_RESERVED(0)) ||			\
			  PENDING(DATA_RESERVED(1)) || PENDING(DATA_RESERVED(2)))

#define SHOW(place, text, number)						\
	atomic { PENDING(place) -> visible[place] = stored[place]; printf(text, number) }
#define SHOW_RESERVED(depth)							\
	SHOW(DATA_RESERVED(depth), "\t\tvisible: data_reserved %d\n",		\
	     visible[DATA_RESERVED(depth)])
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
	:: SHOW_RESERVED(0)
	:: SHOW_RESERVED(1)
	:: SHOW_RESERVED(2)
	:: done -> break
	od
}

#define smp_wmb(label)	(ALL_VISIBLE || BROKEN == NO_##label)

/*
 * Writers
 */

/* Advance the private counter of this depth, then store it. */
inline announce()
{
#if BROKEN != ONE_WORD
	atomic {
		counter[d] = counter[d] + size;
		stored[DATA_RESERVED(d)] = counter[d];
		printf("%e: data_reserved[%d] += %d\n", name, d, size)
	}
#else
	atomic {
		h = counter[0] + size;
		printf("%e: loads counter %d\n", name, counter[0])
	}
	atomic {
		counter[0] = h;
		stored[DATA_RESERVED(0)] = h;
		printf("%e: data_reserved[0] = %d\n", name, h);
		h = 0
	}
#endif
}

/*
 * Move what is visible of the word of a depth without writer to the first word. Only the sum matters
 * to a reader that has loaded none of them: this merges states that differ in how they came about.
 */
inline merge(d)
{
	p = (stored[DATA_RESERVED(d)] < visible[DATA_RESERVED(d)] ->
	     stored[DATA_RESERVED(d)] : visible[DATA_RESERVED(d)]);
	counter[d] = counter[d] - p;
	stored[DATA_RESERVED(d)] = stored[DATA_RESERVED(d)] - p;
	visible[DATA_RESERVED(d)] = visible[DATA_RESERVED(d)] - p;
	counter[0] = counter[0] + p;
	stored[DATA_RESERVED(0)] = stored[DATA_RESERVED(0)] + p;
	visible[DATA_RESERVED(0)] = visible[DATA_RESERVED(0)] + p;
	p = 0
}

inline advance_head()
{
	begin = head;
	head = head + size;
	printf("%e: head += %d\n", name, size)
}

inline reserve_overwrite()
{
#if BROKEN != SWAPPED_ADDS
	announce();
	atomic { smp_wmb(E_OVERWRITE) -> advance_head() }
#else
	atomic { advance_head() };
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
		p = (BROKEN == ONE_WORD -> 0 : d);
		counter[p] = counter[p] - (BROKEN == NOT_UNDONE -> 0 : size);
		stored[DATA_RESERVED(p)] = counter[p];
		p = 0;
		d = 0;
		printf("%e: refused\n", name);
		left = left + size;
		begin = 0;
		size = 0;
		goto written
	   }
	:: atomic {
		else ->		/* local_try_cmpxchg() */
		if
		:: head == begin || BROKEN == ADD_AFTER_CHECK -> advance_head(); break
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

inline end_writer()
{
	unsettled = depth == 1 && (nest || stored[DATA_HEAD] != head ||
				   stored[DATA_RESERVED(0)] + stored[DATA_RESERVED(1)] +
				   stored[DATA_RESERVED(2)] != head);
	assert(!unsettled);
	depth--
}

/* Runs unless it is interrupted, and starts only while the writer below is active. */
proctype writer(mtype name) provided (depth == _pid || depth == _pid - 1)
{
	byte size, begin, h, d;	/* d: nesting depth */

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
		if
		:: nest == 0 && loaded == 0 -> d_step { merge(1); merge(2) }
		:: else
		fi;
		d = nest;
		nest++;		/* one step: a writer in between would restore its value */
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
		store(begin + size - 1, size);	/* start_record() */
		if
		:: size == 1 -> begin = 0; size = 0; d = 0; goto written
		:: else
		fi
	   }
	   atomic { store(begin, 0); begin = 0; size = 0; d = 0 }
written:
	   /* writer_end() */
	   if
	   :: atomic { nest > 1 && BROKEN != NESTED_PUBLISHES -> nest--; end_writer() }
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
	      :: atomic { head == h || BROKEN == NOT_COMPARED -> h = 0; end_writer() }
	      :: atomic { else -> h = 0; nest = 1; goto written }
	      fi
	   fi
	:: atomic { left == 0 && depth == 0 && ALL_VISIBLE && name == task -> done = true; break }
	od
}

/*
 * The reader
 */

/* Drop what may have been overwritten, and walk back through the rest by trailers. */
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

/* Conditions for loading a word, and for loading data_reserved. */
#define ALL_DEPTHS	7
#define BEFORE_COPY	((has_head || BROKEN == NO_C) &&		\
			 (loaded == ALL_DEPTHS || BROKEN != RESERVED_FIRST))
#define BEFORE_RESERVED	((has_head || BROKEN == NO_C) &&		\
			 (copied == SIZE || BROKEN == NO_F || BROKEN == RESERVED_FIRST))

#define LOAD_RESERVED(depth)							\
	BEFORE_RESERVED && !(loaded & 1 << depth) ->				\
	reserved = reserved + (depth && BROKEN == NOT_ADDED_UP -> 0 :		\
			       visible[DATA_RESERVED(depth)]);			\
	loaded = loaded | 1 << depth;						\
	printf("\t\treader: data_reserved[%d] %d\n", depth, visible[DATA_RESERVED(depth)])

proctype reader()
{
	byte h, copy[SIZE], copied, reserved;
	bool has_head;
	byte previous = SIZE;	/* end of the previous snapshot */

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
		:: LOAD_RESERVED(0)
		:: LOAD_RESERVED(1)
		:: LOAD_RESERVED(2)
		fi;
		if
		:: has_head && copied == SIZE && loaded == ALL_DEPTHS ->
			d_step {
				walk();
				previous = h;
				for (p : 0 .. SIZE - 1) {
					copy[p] = 0
				}
				h = 0;
				copied = 0;
				reserved = 0;
				loaded = 0;
				has_head = false;
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
			/* SIZE - 2 records of one word, then one of two. */
			stored[p] = WORD(p, (p == SIZE - 1 -> 2 : p != SIZE - 2));
			visible[p] = stored[p]
		}
		p = 0;
		stored[DATA_HEAD] = SIZE;
		visible[DATA_HEAD] = SIZE;
		counter[0] = SIZE;
		stored[DATA_RESERVED(0)] = SIZE;
		visible[DATA_RESERVED(0)] = SIZE;
		run writer(task);
		run writer(interrupt);
		run writer(nmi);
		run reader();
		run memory()
	}
}
