// SPDX-License-Identifier: GPL-2.0-only
/* Grow the array of pieces. */
#include <errno.h>
#include <stdlib.h>
#include <internal/recover-pieces.h>

int recover__add_piece(struct perf_recovery *recovery, const struct recover_piece *piece)
{
	if (recovery->nr_pieces == recovery->max_pieces) {
		size_t max = recovery->max_pieces + recovery->max_pieces / 2 + 64;
		struct recover_piece *pieces = realloc(recovery->pieces, max * sizeof(*pieces));

		if (!pieces)
			return -ENOMEM;
		recovery->pieces = pieces;
		recovery->max_pieces = max;
	}
	recovery->pieces[recovery->nr_pieces++] = *piece;
	return 0;
}
