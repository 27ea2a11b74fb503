/* SPDX-License-Identifier: GPL-2.0-only */
/* Rename upstream's global symbols, to link its ring_buffer.c beside ours. Included first. */
#define rb_alloc			upstream_rb_alloc
#define rb_free				upstream_rb_free
#define rb_alloc_aux			upstream_rb_alloc_aux
#define rb_free_aux			upstream_rb_free_aux
#define ring_buffer_get			upstream_ring_buffer_get
#define ring_buffer_put			upstream_ring_buffer_put
#define perf_mmap_to_page		upstream_perf_mmap_to_page
#define perf_output_begin		upstream_perf_output_begin
#define perf_output_begin_forward	upstream_perf_output_begin_forward
#define perf_output_begin_backward	upstream_perf_output_begin_backward
#define perf_output_end			upstream_perf_output_end
#define perf_output_copy		upstream_perf_output_copy
#define perf_output_skip		upstream_perf_output_skip
#define perf_aux_output_begin		upstream_perf_aux_output_begin
#define perf_aux_output_end		upstream_perf_aux_output_end
#define perf_aux_output_skip		upstream_perf_aux_output_skip
#define perf_aux_output_flag		upstream_perf_aux_output_flag
#define perf_get_aux			upstream_perf_get_aux
#define perf_output_copy_aux		upstream_perf_output_copy_aux
#define perf_event_aux_event		upstream_perf_event_aux_event
#define perf_event_header__init		upstream_perf_event_header__init
#define perf_event__output_id_sample	upstream_perf_event__output_id_sample
#define ring_impl			upstream_ring_impl
#define IMPL_IS_UPSTREAM		1
