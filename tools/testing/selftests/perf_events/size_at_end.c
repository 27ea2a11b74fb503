// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test which attributes PERF_SAMPLE_SIZE_AT_END can be combined with, and its
 * capability bits in the control page.
 */
#include "sized.h"
#include "snapshot.h"

FIXTURE(size_at_end)
{
	struct ring	sized, plain;
};

FIXTURE_SETUP(size_at_end)
{
	struct perf_event_attr sized =
		ATTR_DUMMY(.sample_type = PERF_SAMPLE_SIZE_AT_END);
	struct perf_event_attr plain = ATTR_DUMMY();

	REQUIRE_SIZE_AT_END();
	self->sized.fd = perf_open(&sized, 0, -1);
	ASSERT_GE(self->sized.fd, 0);
	self->plain.fd = perf_open(&plain, 0, -1);
	ASSERT_GE(self->plain.fd, 0);
}

FIXTURE_TEARDOWN(size_at_end)
{
	ring_close(&self->sized);
	ring_close(&self->plain);
}

static int open_error(struct perf_event_attr attr)
{
	int fd = perf_open(&attr, 0, -1);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/*
 * No other bit is accepted. Without the feature this also covers ours: a kernel
 * must not accept the bit with another meaning.
 */
TEST(unknown_sample_type_bits_rejected)
{
	for (int bit = 30; bit < 63; bit++) {
		struct perf_event_attr attr =
			ATTR_DUMMY(.sample_type = 1ULL << bit);

		if (attr.sample_type == PERF_SAMPLE_SIZE_AT_END)
			continue;
		EXPECT_EQ(EINVAL, open_error(attr))
			TH_LOG("bit %d", bit);
	}
}

/* data_reserved follows the fields that upstream kernels have. */
TEST(control_page_layout)
{
	EXPECT_EQ(offsetof(struct perf_event_mmap_page, aux_size) + 8,
		  offsetof(struct perf_event_mmap_page, data_reserved));
	EXPECT_EQ(32UL,
		  sizeof(((struct perf_event_mmap_page *)0)->data_reserved));
	EXPECT_EQ(8UL, sizeof(struct perf_event_trailer));
}

TEST_F(size_at_end, accepted_with_other_bits)
{
	const uint64_t others = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME |
				PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
	struct perf_event_attr attr =
		ATTR_DUMMY(.sample_type = PERF_SAMPLE_SIZE_AT_END | others,
			   .sample_id_all = 1, .mmap = 1, .comm = 1);

	EXPECT_EQ(0, open_error(attr));
}

TEST_F(size_at_end, rejected_with_write_backward)
{
	struct perf_event_attr attr =
		ATTR_DUMMY(.sample_type = PERF_SAMPLE_SIZE_AT_END,
			   .write_backward = 1);

	EXPECT_EQ(EINVAL, open_error(attr));
}

TEST_F(size_at_end, control_page_of_overwrite_ring)
{
	ASSERT_EQ(0, ring_map(&self->sized, self->sized.fd, 2, PROT_READ));
	EXPECT_TRUE(!!self->sized.page->cap_data_reserved);
	EXPECT_TRUE(!!self->sized.page->cap_size_at_end);
	EXPECT_EQ(0, ring_reserved(&self->sized));

	ASSERT_EQ(0, ring_map(&self->plain, self->plain.fd, 2, PROT_READ));
	EXPECT_TRUE(!!self->plain.page->cap_data_reserved);
	EXPECT_FALSE(!!self->plain.page->cap_size_at_end);
}

TEST_F(size_at_end, control_page_of_streaming_ring)
{
	ASSERT_EQ(0, ring_map(&self->sized, self->sized.fd, 2,
			      PROT_READ | PROT_WRITE));
	EXPECT_TRUE(!!self->sized.page->cap_size_at_end);
	EXPECT_FALSE(!!self->sized.page->cap_data_reserved);

	ASSERT_EQ(0, ring_map(&self->plain, self->plain.fd, 2,
			      PROT_READ | PROT_WRITE));
	EXPECT_FALSE(!!self->plain.page->cap_size_at_end);
}

/* Events that share a buffer must all have the bit, or none of them. */
TEST_F(size_at_end, set_output_rejects_mixed_events)
{
	ASSERT_EQ(0, ring_map(&self->sized, self->sized.fd, 2, PROT_READ));
	EXPECT_EQ(-1, ioctl(self->plain.fd, PERF_EVENT_IOC_SET_OUTPUT,
			    self->sized.fd));
	EXPECT_EQ(EINVAL, errno);
	ring_unmap(&self->sized);

	ASSERT_EQ(0, ring_map(&self->plain, self->plain.fd, 2, PROT_READ));
	EXPECT_EQ(-1, ioctl(self->sized.fd, PERF_EVENT_IOC_SET_OUTPUT,
			    self->plain.fd));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(size_at_end, set_output_accepts_same_format)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_SIZE_AT_END);
	int fd = perf_open(&attr, 0, -1);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ring_map(&self->sized, self->sized.fd, 2, PROT_READ));
	EXPECT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, self->sized.fd));
	EXPECT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1L));
	close(fd);
}

/* PERF_FLAG_FD_OUTPUT is the other way to redirect an event. */
TEST_F(size_at_end, fd_output_rejects_mixed_events)
{
	struct perf_event_attr attr = ATTR_DUMMY();

	ASSERT_EQ(0, ring_map(&self->sized, self->sized.fd, 2, PROT_READ));
	EXPECT_EQ(-1, syscall(SYS_perf_event_open, &attr, 0, -1, self->sized.fd,
			      PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP));
	EXPECT_EQ(EINVAL, errno);
}

/* When no write is active, data_reserved is equal to data_head. */
TEST_F(size_at_end, data_reserved_equals_idle_head)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR |
					   PERF_SAMPLE_SIZE_AT_END,
			    .disabled = 1);
	struct faults faults;
	struct ring ring;
	int fd = perf_open(&attr, 0, -1);

	ASSERT_GE(fd, 0);
	ASSERT_TRUE(faults_init(&faults, 64));
	ASSERT_EQ(0, ring_map(&ring, fd, 2, PROT_READ));
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 1009; i++)
		fault(&faults, i);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);

	EXPECT_LE(1009 * 24, ring_head(&ring));
	EXPECT_EQ(ring_head(&ring), ring_reserved(&ring));
	ring_close(&ring);
	faults_free(&faults);
}

TEST_HARNESS_MAIN
