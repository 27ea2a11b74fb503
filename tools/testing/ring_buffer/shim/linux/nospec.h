/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_NOSPEC_H
#define SHIM_LINUX_NOSPEC_H

#define array_index_nospec(index, size) ((index) < (size) ? (index) : 0)

#endif
