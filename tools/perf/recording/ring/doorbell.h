/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Let a BPF program wake a reader up: it sends a word to a BPF ring buffer that has nothing else.
 *
 * The descriptor is readable while there are words. Remove them before you read what the program
 * wants to be read: then a word that is sent later wakes the reader up again.
 */
#ifndef PERF_RECORDING_DOORBELL_H
#define PERF_RECORDING_DOORBELL_H


/**
 * struct doorbell - zeroed: there is none
 * @fd:		of the BPF ring buffer; owned
 * @consumed:	its mapped position of the consumer
 * @produced:	its mapped position of the producer
 */
struct doorbell {
	int		 fd;
	unsigned long	*consumed;
	unsigned long	*produced;
};

/** doorbell__map - take ownership of @fd, and map it. Return: 0, or a negative errno */
int doorbell__map(struct doorbell *doorbell, int fd);

/** doorbell__unmap - harmless if there is none */
void doorbell__unmap(struct doorbell *doorbell);

/** doorbell__clear - remove all words, if there is a doorbell; in the thread of the reader */
static inline void doorbell__clear(struct doorbell *doorbell)
{
	if (!doorbell->consumed)
		return;
	__atomic_store_n(doorbell->consumed, __atomic_load_n(doorbell->produced, __ATOMIC_ACQUIRE),
			 __ATOMIC_SEQ_CST);
}

#endif
