/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Predict the time of samples, for columns.h, by the tick of the clock.
 *
 * Times are in nanoseconds, but few clocks tick once in each: those of arm64 every 10 to 52 ns, the
 * TSC of AMD's Zen every 10. So a difference of two times is a number of ticks and what rounding
 * makes of it, and takes three bits less than the nanoseconds.
 *
 * The tick is a number with a fraction, and its multiples are rounded to nanoseconds. So the clock
 * has the time with its fraction. Where the rounded time is wrong by 1, the fraction is corrected;
 * so a tick that is not quite exact does no harm.
 *
 * A time is a symbol:
 *
 *	ticks			if a tick is 1 ns
 *	3 * ticks + 1 + error	otherwise; error: -1, 0 or 1 ns
 *	TIME_LONG		neither: more than some microseconds later, or earlier, than the
 *				sample before
 */
#ifndef PERF_RECORDING_KEEP_COLUMNS_CLOCK_H
#define PERF_RECORDING_KEEP_COLUMNS_CLOCK_H

#include <stddef.h>
#include <linux/types.h>

/*
 * Symbols below this take a byte of the first column, those below TIME_LONG one of the second, too.
 */
#define TIME_SHORT	224U
#define TIME_LONG	(TIME_SHORT + (31U << 8))

/* Value of the first column for TIME_LONG. */
#define TIME_OTHER	255U

/* A tick of 1 ns: fixed point, with 32 bits behind the point. */
#define TICK_NS		(1ULL << 32)
#define TICK_HALF	(TICK_NS / 2)

/* The decoder accepts any tick, but the encoder has none as long as this. */
#define TICK_MAX	(64 * TICK_NS)

/**
 * struct columns_tick - what the encoder knows of the clock
 * @tick:	length of a tick [ns << 32]
 * @blocks:	number of blocks that have been seen
 */
struct columns_tick {
	u64		tick;
	unsigned int	blocks;
};

/**
 * struct columns_clock
 * @time:	of the last sample [ns]
 * @fraction:	of its time, as far as known [ns << 32]
 * @tick:	length of a tick [ns << 32]
 * @inverse:	ticks in a nanosecond, 32 bits behind the point
 */
struct columns_clock {
	u64	time;
	u32	fraction;
	u64	tick;
	u64	inverse;
};

/**
 * columns_tick__learn - find the tick of the clock in some of the blocks, among them the first one
 * @time_word:	index of the first word of the time, or 0 if samples have none
 * @records:	the next block: @len bytes of whole records
 *
 * Takes 0.4 ms where it looks at the block. Sets @tick to TICK_NS if there is no longer one.
 */
void columns_tick__learn(struct columns_tick *tick, unsigned int time_word, const void *records,
			 size_t len);

static inline void columns_clock__begin(struct columns_clock *clock, u64 tick)
{
	*clock = (struct columns_clock){
		.fraction = TICK_HALF, .tick = tick, .inverse = tick ? (1ULL << 63) / tick * 2 : 0,
	};
}

/* The time is @ticks later: return the time that is expected [ns], and set its fraction. */
static inline u64 columns_clock__advance(struct columns_clock *clock, u64 ticks)
{
	u64 later = clock->fraction + ticks * clock->tick;

	clock->fraction = later;
	return clock->time + (later >> 32);
}

/* If the time is @time instead of @expected, the fraction was too small, or too large. */
static inline u64 columns_clock__correct(struct columns_clock *clock, u64 expected, u64 time)
{
	u32 right = -(u32)(time == expected), early = -(u32)(time < expected);

	clock->fraction = (clock->fraction & right) | early;
	return clock->time = time;
}

/**
 * columns_clock__jump - set the time, which is no short while later than the last one
 * @number:	as columns_clock__encode() has returned it
 *
 * Return: the time [ns].
 */
static inline u64 columns_clock__jump(struct columns_clock *clock, u64 number)
{
	clock->fraction = TICK_HALF;
	return clock->time += number >> 1 ^ -(number & 1);
}

/**
 * columns_clock__encode - the next sample has this time
 * @time:	[ns]; with TIME_LONG, receives the difference to the last time, as a number
 *
 * Return: the symbol.
 */
static inline u32 columns_clock__encode(struct columns_clock *clock, u64 *time)
{
	u64 difference = *time - clock->time, ticks, expected, symbol;
	u32 fraction = clock->fraction;

	if (clock->tick == TICK_NS) {
		symbol = difference;
	} else if (difference < TIME_LONG * (TICK_MAX / TICK_NS)) {
		/* The middle of the nanosecond, in ticks, rounded */
		ticks = (difference << 32) + TICK_HALF - fraction;
		ticks = (s64)ticks < 0 ? 0 : ((ticks >> 20) * clock->inverse + (1ULL << 43)) >> 44;
		expected = columns_clock__advance(clock, ticks);
		symbol = *time - expected + 1 > 2 ? TIME_LONG : 3 * ticks + 1 + *time - expected;
		if (symbol < TIME_LONG)
			columns_clock__correct(clock, expected, *time);
	} else {
		symbol = TIME_LONG;
	}
	if (symbol < TIME_LONG) {
		clock->time = *time;
		return symbol;
	}
	*time = difference << 1 ^ -(difference >> 63);
	columns_clock__jump(clock, *time);
	return TIME_LONG;
}

/**
 * columns_clock__decode - the next sample has this @symbol, below TIME_LONG
 *
 * Return: its time [ns].
 */
static inline u64 columns_clock__decode(struct columns_clock *clock, u32 symbol)
{
	u64 expected;

	if (clock->tick == TICK_NS)
		return clock->time += symbol;
	expected = columns_clock__advance(clock, symbol / 3);
	return columns_clock__correct(clock, expected, expected + symbol % 3 - 1);
}

#endif
