// SPDX-License-Identifier: GPL-2.0-only
#include "compat.h"

/*
 * An architecture whose leaf functions save no frame overrides this, and samples their registers.
 */
void __weak arch__add_leaf_frame_record_opts(struct record_opts *opts __maybe_unused)
{
}
