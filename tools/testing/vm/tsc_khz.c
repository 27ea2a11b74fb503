// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print the frequency of this machine's TSC [kHz].
 *
 * The guest has the same TSC. It would otherwise calibrate the TSC against emulated timers. On a
 * busy host it then finds a tenth or a fiftieth of the frequency: its clocks run that much too
 * fast, and it spends all its time in timer interrupts.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct moment {
	uint64_t ns, tsc, error;	/* error of ns [ns] */
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* Read both clocks. An interrupt may come in between, so take the best of several samples. */
static struct moment sample(void)
{
	struct moment best = { .error = UINT64_MAX };

	for (int tries = 0; tries < 20; tries++) {
		uint64_t before = now(), tsc = __rdtsc(), after = now();

		if (after - before < best.error)
			best = (struct moment){ before, tsc, after - before };
	}
	return best;
}

int main(void)
{
	struct timespec pause = { .tv_nsec = 50000000 };
	struct moment first = sample(), last;

	nanosleep(&pause, NULL);
	last = sample();
	printf("%llu\n", (last.tsc - first.tsc) * 1000000ULL / (last.ns - first.ns));
	return 0;
}
