# SPDX-License-Identifier: GPL-2.0-only
# Build the unit tests of perf record and libperf, their fuzzers, and what writes test vectors.
#
# Called by the top Makefile: LINUX is the prepared tree, OUT the output directory. Each folder of
# tools/perf/recording becomes an archive, in one variant for each sanitizer. A test is linked with
# all archives of its variant. The linker takes a member of an archive only if a symbol is still
# undefined, so a test replaces a function of the recorder by defining it.

OUT ?= $(error run make in the top directory)
LIB := $(OUT)/lib

TESTS := $(wildcard tools/perf/recording/tests/*/*_test.c tools/lib/perf/tests/*_test.c)
THREADED := $(filter %_tsan_test.c,$(TESTS))
BENCHES := $(wildcard tools/perf/recording/tests/*/*_bench.c)
FUZZERS := $(wildcard tools/lib/perf/tests/fuzz_*.c tools/perf/recording/tests/*/fuzz_*.c)
WRITERS := tools/lib/perf/tests/write_vectors.c
programs = $(patsubst %.c,$(OUT)/%,$(notdir $(1)))

.PHONY: all
all: $(call programs,$(TESTS) $(FUZZERS) $(WRITERS))

CPPFLAGS := -D_GNU_SOURCE -DHAVE_AIO_SUPPORT -DHAVE_AUXTRACE_SUPPORT -DHAVE_LIBURING_SUPPORT \
	$(addprefix -I$(LINUX)/tools/,include include/uapi arch/$(SRCARCH)/include \
	arch/$(SRCARCH)/include/uapi lib lib/perf/include perf perf/util perf/util/include lib/api)
CFLAGS := -std=gnu11 -g -O1 -Wall $(CC_WERROR) -pthread
# util counts references in other structures, with another layout, if it sees the macro.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -U__SANITIZE_ADDRESS__

# ---- archives: $(NAME-members) are the sources of NAME.a

FOLDERS := $(patsubst tools/perf/recording/%/Build,%,$(wildcard tools/perf/recording/*/Build))
$(foreach folder,$(FOLDERS),$(eval \
	$(folder)-members := $(wildcard tools/perf/recording/$(folder)/*.c)))
columns-members := $(addprefix tools/perf/recording/keep/columns,_clock.c _decode.c _encode.c)
pack-members := $(columns-members) tools/perf/recording/keep/pack.c
kdump-members := tools/perf/util/recover-kdump.c
image-members := $(addprefix tools/perf/util/recover-,elf.c image.c kdump.c places.c tables.c \
	temporary.c)
search-members := $(image-members) tools/perf/recording/recover/image.c tools/lib/vsprintf.c
box-members := tools/perf/recording/keep/box_read.c tools/lib/perf/lib.c tools/lib/zalloc.c
# Not what needs libbpf, libtraceevent, and skeletons of perf.
lib-members := $(filter-out %/bpf_attach.c,$(lib-members))
ring-members := $(filter-out %/bpf_events.c %/bpf_pins.c %/bpf_programs.c,$(ring-members))
when-members := $(filter-out %/iterate.c %/pair.c %/programs.c,$(when-members))
# Not grace.c: tools/arch hides <asm/unistd.h>, which has the number of membarrier(2).
libperf-members := $(filter-out %/grace.c,$(wildcard tools/lib/perf/*.c))
libperf-tests-members := $(addprefix tools/lib/perf/tests/,image.c ring_writer.c vectors.c)
stubs-members := $(wildcard tools/perf/recording/tests/stubs/*.c)
util-members := $(image-members) $(addprefix tools/perf/util/,chrome-trace/chrome_event.c json.c \
	kernel-symbols.c perfetto/intern.c perfetto/proto.c)
upstream-members := $(addprefix tools/,lib/api/fs/fs.c lib/api/fs/tracing_path.c lib/ctype.c \
	lib/perf/cpumap.c lib/perf/lib.c lib/bitmap.c lib/find_bit.c lib/hweight.c \
	lib/str_error_r.c lib/symbol/kallsyms.c lib/vsprintf.c lib/zalloc.c perf/util/hashmap.c \
	perf/util/units.c)

# $(call archive,VARIANT,NAME)
define archive
$(LIB)/$(1)/$(2).a: $(patsubst %.c,$(LIB)/$(1)/%.o,$($(2)-members))
	@rm -f $$@
	@$$(AR) qcs $$@ $$^
endef

# $(call variant,NAME,COMPILER AND FLAGS,ARCHIVES): rules for the objects and archives in
# $(LIB)/NAME.
define variant
$(LIB)/$(1)/%.o: $(LINUX)/%.c scripts/unit.mk
	@mkdir -p $$(@D)
	@$(2) $$(CPPFLAGS) $$(CFLAGS) -MMD -MP -c -o $$@ $$<
$(foreach name,$(3),$(eval $(call archive,$(1),$(name))))
$(1)-archives := $(patsubst %,$(LIB)/$(1)/%.a,$(3))
endef

$(eval $(call variant,asan,$$(CC) $(SANITIZE),$(FOLDERS) stubs util libperf libperf-tests upstream))
$(eval $(call variant,tsan,$$(CC) -fsanitize=thread,lib stats ring write keep aux output stubs \
	upstream))
$(eval $(call variant,plain,$$(CC),lib stats ring write aux output stubs upstream libperf \
	libperf-tests))
$(eval $(call variant,packed,$$(CC) -DHAVE_ZSTD_SUPPORT,pack))
$(LIB)/packed/%: CFLAGS += -O3
$(LIB)/asan/tools/perf/recording/state/%: CPPFLAGS += -DHAVE_ZSTD_SUPPORT
$(eval $(call variant,fuzz,clang $(SANITIZE) -fsanitize=fuzzer,libperf libperf-tests columns box \
	kdump search))
$(LIB)/fuzz/tools/perf/util/recover-kdump.o: \
	CPPFLAGS += -DHAVE_LZO_SUPPORT -DHAVE_ZLIB_SUPPORT -DHAVE_ZSTD_SUPPORT

# ---- programs

# $(call program,SOURCE,VARIANT,COMPILER AND FLAGS)
define program
$(call programs,$(1)): $(1:%.c=$(LIB)/$(2)/%.o) $($(2)-archives)
	@echo '  LINK    $$(@F)'
	@$(3) -pthread $$(LDFLAGS) -o $$@ $$(filter %.o,$$^) \
		-Wl,--start-group $($(2)-archives) -Wl,--end-group \
		-Wl,--as-needed -luring -lzstd -lz -llzo2
endef

$(foreach test,$(filter-out $(THREADED),$(TESTS)),$(eval \
	$(call program,$(test),asan,$$(CC) $(SANITIZE))))
$(foreach test,$(THREADED),$(eval $(call program,$(test),tsan,$$(CC) -fsanitize=thread)))
$(foreach other,$(filter-out %/pack_bench.c,$(BENCHES)) $(WRITERS),$(eval \
	$(call program,$(other),plain,$$(CC))))
$(eval $(call program,tools/perf/recording/tests/keep/pack_bench.c,packed,$$(CC)))
$(foreach fuzzer,$(FUZZERS),$(eval \
	$(call program,$(fuzzer),fuzz,clang $(SANITIZE) -fsanitize=fuzzer)))

# What some tests replace in the C library.
$(OUT)/state_memory_test: LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(OUT)/writer_test: $(LIB)/asan/tools/perf/tests/helpers/spoil_writes.o

-include $(shell find $(LIB) -name '*.d' 2>/dev/null)
