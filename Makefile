# SPDX-License-Identifier: GPL-2.0-only
# Each target builds what it needs. All output is below build/.

# The Linux that our files are added to: a line of LINUX-BASE (BASE=mainline), or LINUX=PATH, a
# tarball or a tree. Each has an output directory of its own.
ifeq ($(origin LINUX),command line)
LINUX_SOURCE := $(abspath $(LINUX))
endif
BASE ?= $(if $(LINUX_SOURCE),mainline,6.12)
BUILD := $(CURDIR)/build$(if $(LINUX_SOURCE),/custom,$(patsubst %,/%,$(filter-out 6.12,$(BASE))))
override LINUX := $(BUILD)/linux
export BASE BUILD LINUX_SOURCE

.NOTPARALLEL:			# perf's own build uses all CPUs
.PHONY: help deps tree perf perf-asan stage install uninstall deb-deps deb deb-kernel \
	upstream-tree upstream-perf newest-perf \
	kernel debug-kernel kcsan-kernel upstream-kernel stock-kernel stock-6.12-kernel \
	stock-mainline-kernel arm64-kernel cross-kernel lint-kernel vm \
	demo demo-overwrite demo-pt test test-fast test-night test-debug-kernel \
	run-test run-test-fast run-test-night \
	test-programs unit-programs ring-vectors ring-programs pt-programs event-fuzzer \
	fuzz-ring fuzz-event fuzz-snapshot fuzz-recover fuzz-columns fuzz-box fuzz-kdump \
	fuzz-image litmus herd7 bench bench-append bench-aux bench-ring bench-snapshot \
	bench-snapshot-guest bench-loss bench-keep bench-cost bench-cost-guest bench-sample-cost \
	bench-emit \
	lint lint-scripts html series clean
MAKEFLAGS += --no-print-directory

# Warnings are errors with the compiler that CI uses. Newer compilers have new warnings, which must
# not keep a user from building. perf and tools/testing/vm/build-kernel read WERROR, too.
# Expanded when a recipe runs: make deps may install the compiler.
CI_GCC := 12
WERROR ?= $(if $(filter $(CI_GCC),$(shell $(CC) -dumpversion 2>/dev/null)),1,0)
CC_WERROR = $(if $(filter-out 0,$(WERROR)),-Werror)
export WERROR CC_WERROR

help:				## print this list
	@sed -n 's/^\([a-z_.-]*\):[^#]*## /\1\t/p' Makefile | expand -t 16

deps:				## install the packages that are needed (apt, as root)
	@scripts/install-deps

tree: deps
	@scripts/prepare-tree

# ---- perf

# Use Debian's Python, even if another one is first in PATH: only its library is installed.
# NO_SHELLCHECK: shellcheck's logs would be written where perf test looks for scripts, and hide
# them. NO_RUST: ar cannot read objects of a rustc that is newer than its LLVM plugin.
PERF_FLAGS := PYTHON=/usr/bin/python3 PYTHON_CONFIG=/usr/bin/python3-config NO_SHELLCHECK=1 \
	NO_RUST=1
comma := ,

# $(call build-perf,Linux tree,output directory,further variables)
# The prefix is a directory in the output that has the layout of an installation: perf finds its
# scripts, filters, tests and man pages there.
define build-perf
	@mkdir -p $(addprefix $(2)/root/,libexec/perf-core share/perf-core share/man share/doc)
	@flock $(2)/.lock $(MAKE) -C $(1)/tools/perf O=$(2) prefix=$(2)/root $(PERF_FLAGS) $(3)
	@ln -sfn $(1)/tools/perf/scripts $(1)/tools/perf/tests $(2)/dlfilters $(2)/perf-archive \
		$(2)/perf-iostat -t $(2)/root/libexec/perf-core
	@ln -sfn $(1)/tools/perf/perf-fleet.py $(2)/root/libexec/perf-core/perf-fleet
	@ln -sfn $(1)/tools/perf/trace/strace $(2)/root/share/perf-core/strace
	@ln -sfn $(1)/tools/perf/Documentation $(2)/root/share/doc/perf-tip
	@ln -sfn $(2)/Documentation $(2)/root/share/man/man1
endef

# Print a feature as in upstream's table, which lacks some.
feature = if $(2); then state='\033[32mon\033[m '; else state='\033[31mOFF\033[m'; fi; \
	printf "...%40s: [ $$state ]\n" $(1)

# One run of asciidoctor makes the man pages in half a second. Upstream's Makefile starts it for
# each.
perf: tree			## build build/perf/perf and its man pages
	$(call build-perf,$(LINUX),$(BUILD)/perf)
	@$(call feature,libtraceevent,grep -q feature-libtraceevent=1 $(BUILD)/perf/FEATURE-DUMP)
	@$(call feature,libtracefs,grep -q feature-libtracefs=1 $(BUILD)/perf/FEATURE-DUMP)
	@$(call feature,aio,grep -q '^CONFIG_AIO=y' $(BUILD)/perf/.config-detected)
	@$(call feature,liburing,grep -q '^CONFIG_LIBURING=y' $(BUILD)/perf/.config-detected)
	@$(call feature,liblzo2,grep -q '^CONFIG_LZO=y' $(BUILD)/perf/.config-detected)
	@mkdir -p $(BUILD)/perf/Documentation
	@cd $(LINUX)/tools/perf/Documentation && flock $(BUILD)/perf/.lock asciidoctor -b manpage \
		-a compat-mode -a mansource=perf -a manmanual='perf Manual' -I . \
		-r asciidoctor-extensions -a docdate=$$(date -r $(CURDIR)/LINUX-BASE +%F) \
		-D $(BUILD)/perf/Documentation perf.txt perf-*.txt

# Only tools/perf/recording is compiled with the sanitizers. The other objects are those of
# build/perf, with the output directory replaced in their recorded commands; their memory is checked
# for leaks, and in calls of the C library. With sanitizers, gcc prints warnings that are wrong.
# Where the macro __SANITIZE_ADDRESS__ is defined, perf counts references in other structures.
ASAN := -fsanitize=address,undefined

# $(call copy-perf,output directory): begin with the objects of build/perf
copy-perf = @[ -e $(1) ] || { rm -rf $(1).new && cp -a $(BUILD)/perf $(1).new && \
	find $(1).new -name '.*.cmd' -exec sed -i 's,$(BUILD)/perf/,$(1)/,g' {} + && \
	mv $(1).new $(1); }

perf-asan: perf			## build build/perf-asan/perf with address and undefined-behaviour sanitizers
	$(call copy-perf,$(BUILD)/perf-asan)
	$(call build-perf,$(LINUX),$(BUILD)/perf-asan,EXTRA_PERFLIBS='$(ASAN)' \
		RECORDER_CFLAGS='-O1 -Wno-error -fno-omit-frame-pointer $(ASAN) -U__SANITIZE_ADDRESS__')

# ---- installation: see packaging/install

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
SYSCONFDIR ?= /etc
UNITDIR ?= $(PREFIX)/lib/systemd/system
STAGE := $(BUILD)/stage
INSTALLER = LINUX=$(LINUX) PREFIX=$(PREFIX) LIBDIR=$(LIBDIR) SYSCONFDIR=$(SYSCONFDIR) \
	UNITDIR=$(UNITDIR) packaging/install

# The prefix is compiled into perf: a few objects of build/perf are compiled again.
stage: perf ring-vectors
	$(call copy-perf,$(BUILD)/perf-installed)
	@rm -rf $(STAGE)
	@flock $(BUILD)/perf-installed/.lock $(MAKE) -s -C $(LINUX)/tools/perf \
		O=$(BUILD)/perf-installed $(PERF_FLAGS) prefix=$(PREFIX)/lib/perf-recorder \
		ETC_PERFCONFIG=$(SYSCONFDIR)/perfconfig DESTDIR=$(STAGE) install-tools
	@$(INSTALLER) --stage $(STAGE)

install: stage			## install perf-recorder and the library; PREFIX=/usr/local, DESTDIR=
	@$(INSTALLER) --copy $(STAGE) '$(abspath $(DESTDIR))'

uninstall: stage		## remove what make install with the same PREFIX and DESTDIR has installed
	@$(INSTALLER) --remove $(STAGE) '$(abspath $(DESTDIR))'

deb-deps: deps
	@scripts/install-deps deb

deb: override PREFIX := /usr
deb: override SYSCONFDIR := /etc
deb: LIBDIR = /usr/lib/$(shell dpkg-architecture -qDEB_HOST_MULTIARCH)
deb: deb-deps stage		## make Debian packages in build/deb: perf-recorder, libperf-overwrite-dev
	@STAGE=$(STAGE) packaging/build-deb

deb-kernel: tree		## make packages of the kernel as Debian configures it in build/deb-kernel; FLAVOUR=amd64 or cloud-amd64 (hours)
	@scripts/install-deps deb-kernel
	@LINUX=$(LINUX) packaging/build-deb-kernel $(BUILD)/deb-kernel $(FLAVOUR)

# A second tree from the same tarball, without our files
UPSTREAM := $(BUILD)/upstream
upstream-tree: deps
	@scripts/prepare-tree --upstream

upstream-perf: upstream-tree	## build build/upstream-perf/perf, the unmodified perf
	$(call build-perf,$(UPSTREAM),$(BUILD)/upstream-perf)

# The same for every BASE. Tests are skipped if Debian cannot be reached.
newest-perf:			## download the perf of the newest Linux in Debian to build/newest-perf/perf
	@scripts/fetch-perf $$(awk '$$1 == "mainline" { print $$5 }' LINUX-BASE) \
		$(CURDIR)/build/newest-perf || [ $$? = 2 ]

# ---- kernels, and the guest that runs them: see tools/testing/vm/run

VM := tools/testing/vm
VM_PROGRAMS := $(patsubst $(VM)/%.c,$(BUILD)/vm/%,$(wildcard $(VM)/*.c))

# Symbols that every guest needs, those that only this base has, and more for make test-night, which
# sets NIGHT: code that make test does not need, and BTF. Mainline is always built with all.
GUEST_CONFIG := $(VM)/guest.config $(wildcard $(VM)/$(BASE).config)
NIGHT_CONFIG := $(GUEST_CONFIG) $(VM)/night.config
BTF_CONFIG := $(NIGHT_CONFIG) $(VM)/btf.config

# make test builds a kernel with less code. -O1 saves a quarter of the compiler's time, and the
# guest is as fast. The ring is compiled as distributions do.
ifeq ($(BASE)$(NIGHT),6.12)
KERNEL_CONFIG := $(GUEST_CONFIG) $(VM)/lean.config
KERNEL_FLAGS := KCFLAGS=-O1 CFLAGS_ring_buffer.o=-O2 CFLAGS_ring_buffer_aux.o=-O2 \
	CFLAGS_plain_sample.o=-O2
else
KERNEL_CONFIG := $(BTF_CONFIG)
endif

# The kernels are built in the folder guest/ of their trees. Kbuild then uses relative paths, so
# that scripts/seed-kernel can use the objects of one kernel for the other.
# $(call link-kernel,Linux tree,link in build/)
link-kernel = @[ -L $(2) ] || rm -rf $(2); mkdir -p $(1)/guest; ln -sfn $(1)/guest $(2)

kernel: tree $(VM_PROGRAMS)	## build build/kernel, the kernel of the guest, with our ring buffer
	$(call link-kernel,$(LINUX),$(BUILD)/kernel)
	@$(VM)/build-kernel $(LINUX) $(LINUX)/guest $(KERNEL_CONFIG) $(VM)/ours.config \
		-- vmlinux $(KERNEL_FLAGS)

debug-kernel: tree $(VM_PROGRAMS)	## build build/kernel-debug, with KASAN, lockdep, PROVE_RCU ...
	@$(VM)/build-kernel $(LINUX) $(BUILD)/kernel-debug \
		$(NIGHT_CONFIG) $(VM)/ours.config $(VM)/debug.config

# Instrument only the ring buffer (kcsan.config says why). kernel/trace has a ring_buffer.c as well.
kcsan-kernel: tree $(VM_PROGRAMS)	## build build/kernel-kcsan, which reports data races of the ring buffer
	@$(VM)/build-kernel $(LINUX) $(BUILD)/kernel-kcsan \
		$(NIGHT_CONFIG) $(VM)/ours.config $(VM)/kcsan.config -- vmlinux KCSAN_SANITIZE=n \
		KCSAN_SANITIZE_ring_buffer_aux.o=y KCSAN_SANITIZE_plain_sample.o=y \
		'KCSAN_SANITIZE_ring_buffer.o=$$(kcsan-$$(obj))' kcsan-kernel/events=y

upstream-kernel: upstream-tree $(VM_PROGRAMS)	## build build/kernel-upstream, the unmodified kernel
	@scripts/seed-kernel $(BUILD)/pristine $(LINUX)/guest $(UPSTREAM) $(UPSTREAM)/guest \
		$(VM)/build-kernel $(UPSTREAM) $(UPSTREAM)/guest $(BTF_CONFIG) -- prepare
	$(call link-kernel,$(UPSTREAM),$(BUILD)/kernel-upstream)
	@$(VM)/build-kernel $(UPSTREAM) $(UPSTREAM)/guest $(BTF_CONFIG) -- vmlinux modules_prepare

# The kernel of this Debian. Tests are skipped if it cannot be downloaded.
stock-kernel: $(VM_PROGRAMS)	## download the kernel of this Debian to build/kernel-stock
	@$(VM)/stock-kernel $(BUILD)/kernel-stock || [ $$? = 2 ]

# Debian's kernels of the series of each base, to build/kernel-stock-6.12 and
# build/kernel-stock-mainline
stock-6.12-kernel stock-mainline-kernel: stock-%-kernel: $(VM_PROGRAMS)
	@$(VM)/stock-kernel $(BUILD)/kernel-stock-$* \
		$$(awk '$$1 == "$*" { sub("linux-source-", "", $$2); print $$2, $$5 }' \
			LINUX-BASE) || [ $$? = 2 ]

$(VM_PROGRAMS): $(BUILD)/vm/%: $(VM)/%.c
	@mkdir -p $(@D)
	@$(CC) -O2 -Wall -Wextra -Wno-missing-field-initializers $(CC_WERROR) -static -o $@ $<

ARM64 := $(VM)/arm64
arm64-kernel: tree		## build build/kernel-arm64-4k and -64k, for tools/testing/vm/arm64/ring_arm64.sh
	@scripts/install-deps arm64
	@for pages in 4k 64k; do \
		ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- $(VM)/build-kernel $(LINUX) \
			$(BUILD)/kernel-arm64-$$pages $(ARM64)/guest.config \
			$(ARM64)/$$pages.config -- Image || exit; \
	done

cross-kernel: tree		## cross-build kernel/events and its PMU drivers for arm64, s390 ...
	@scripts/install-deps cross
	@tools/testing/cross/build

lint-kernel: kernel		## check our kernel files with W=1, sparse and checkpatch
	@scripts/lint-kernel $(LINUX) $(BUILD)/kernel

# CMD is passed on as typed, without expansion by make or the shell.
vm: export VM_CMD = $(value CMD)
vm: $(VM_PROGRAMS) $(filter %kernel,$(patsubst kernel-%,%-kernel,$(notdir $(or $(KERNEL),kernel))))
vm:				## boot the guest: a shell or CMD='...'; KERNEL=build/kernel-debug
	@$(VM)/run $${VM_CMD:+"$$VM_CMD"}

# ---- test programs

# Helpers: what test scripts run. Lines "flags: ..." in their comments are further compiler flags.
HELPERS_DIR := tools/perf/tests/helpers
HELPERS := $(patsubst $(HELPERS_DIR)/%.c,$(BUILD)/tests/%,$(wildcard $(HELPERS_DIR)/*.c))
flags = $(shell sed -n 's,^[ /*]*flags: ,,p' $(1))

SRCARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(shell uname -m)))
test-programs: tree $(HELPERS) unit-programs ring-programs event-fuzzer \
	$(if $(filter x86,$(SRCARCH)),pt-programs)

# Unit tests of perf record and libperf, and libperf's fuzzers.
UNIT := $(MAKE) -j$(shell nproc) -f scripts/unit.mk LINUX=$(LINUX) OUT=$(BUILD)/tests \
	SRCARCH=$(SRCARCH)

unit-programs: tree
	@$(UNIT)

# One of them, in the tree as it is.
$(BUILD)/tests/%_test: FORCE
	@$(UNIT) $@
$(BUILD)/tests/fuzz_%: FORCE
	@$(UNIT) $@
FORCE:

# packaging/install installs them as examples of the library.
ring-vectors: tree		## write build/ring-vectors: test vectors for readers of overwrite rings
	@$(UNIT) $(BUILD)/tests/write_vectors
	@rm -rf $(BUILD)/ring-vectors && mkdir $(BUILD)/ring-vectors
	@$(BUILD)/tests/write_vectors $(BUILD)/ring-vectors

# The kernel's ring, in userspace.
RING := $(MAKE) -C tools/testing/ring_buffer LINUX=$(LINUX) OUT=$(BUILD)/tests/ring_buffer \
	SRCARCH=$(SRCARCH)

# m32: where the compiler can link 32-bit programs; m32/m32.sh is skipped elsewhere.
ring-programs: tree
	@$(RING) tests fuzz $(if $(filter x86,$(SRCARCH)),$(shell \
		echo 'int main(void) { return 0; }' | $(CC) -m32 -fsanitize=undefined -x c -o /dev/null - 2>/dev/null && \
		echo m32))

# What is traced by intel_pt in the guest, and what decodes it.
pt-programs: tree
	@$(MAKE) -C tools/testing/soft_pt LINUX=$(LINUX) OUT=$(BUILD)/tests/soft_pt

# Random actions on perf events; runs in the guest.
event-fuzzer: tree
	@$(MAKE) -C tools/testing/perf_event_fuzz LINUX=$(LINUX) OUT=$(BUILD)/tests

fuzz-ring: tree			## fuzz the kernel's ring buffer in user space; FUZZ='-max_total_time=600 ...'
	@$(RING) fuzz
	@tools/testing/ring_buffer/fuzz/fuzz_ring.sh $(or $(FUZZ),-max_total_time=600)

fuzz-event: perf event-fuzzer \
	$(or $(filter %kernel,$(patsubst kernel-%,%-kernel,$(notdir $(KERNEL)))),kernel)
fuzz-event:			## fuzz perf_event_open in the guest; FUZZ='-t 600', KERNEL=build/kernel-debug
	@FUZZ='$(or $(FUZZ),-t 600)' VM_TIMEOUT=$(or $(VM_TIMEOUT),1100) \
		tools/testing/perf_event_fuzz/tests/perf_event_fuzz_in_guest.sh

fuzz-snapshot: tree $(BUILD)/tests/fuzz_snapshot	## fuzz libperf's snapshots; FUZZ='-max_total_time=600 ...'
	@tools/lib/perf/tests/fuzz_snapshot.sh $(or $(FUZZ),-max_total_time=600)

fuzz-columns: tree $(BUILD)/tests/fuzz_columns	## fuzz the columns in which --keep keeps records
	@tools/perf/tests/shell/fuzz_columns.sh $(or $(FUZZ),-max_total_time=600)

fuzz-box: tree $(BUILD)/tests/fuzz_box		## fuzz the reader of the file of --keep-file
	@tools/perf/tests/shell/fuzz_box.sh $(or $(FUZZ),-max_total_time=600)

fuzz-kdump: tree $(BUILD)/tests/fuzz_kdump	## fuzz the reader of kdump-compressed files
	@tools/perf/tests/shell/fuzz_kdump.sh $(or $(FUZZ),-max_total_time=600)

fuzz-image: tree $(BUILD)/tests/fuzz_image	## fuzz the search for the file of --keep-file in memory images
	@tools/perf/tests/shell/fuzz_image.sh $(or $(FUZZ),-max_total_time=600)

fuzz-recover: tree $(BUILD)/tests/fuzz_recover	## fuzz libperf's recovery of records from memory images
	@tools/lib/perf/tests/fuzz_recover.sh $(or $(FUZZ),-max_total_time=600)

# The runner builds this for tests that need herd7. Without it they are skipped.
herd7: deps
	@scripts/prepare-herd7

litmus: herd7 tree		## check the barriers of the ring buffer in the kernel's memory model
	@tools/testing/ring_buffer/litmus/litmus.sh || [ $$? = 2 ]

$(HELPERS): $(BUILD)/tests/%: $(HELPERS_DIR)/%.c $(wildcard $(HELPERS_DIR)/*.h) Makefile
	@mkdir -p $(@D)
	@echo '  CC      $(@F)'
	@$(CC) -O2 -Wall -Wextra $(CC_WERROR) -pthread $(call flags,$<) -o $@ $<

# ---- demo, tests, benchmarks

demo:				## keep the last minute of this machine, and find and draw an incident in it (root, minutes)
	@scripts/demo --check
	@$(MAKE) perf
	@scripts/demo

demo-overwrite: perf		## show the last moments of this machine in overwrite rings (root, seconds)
	@scripts/demo-overwrite

demo-pt: perf kernel $(BUILD)/tests/branches	## show the branches of a program before a signal (Intel PT, in the guest)
	@scripts/demo-pt

# perf's own build checks no scripts here: it does not follow our symbolic links.
SCRIPTS := tools/perf/fleet/control.sh tools/perf/fleet/remote.sh packaging/install \
	packaging/build-deb packaging/build-deb-kernel packaging/systemd/snapshot \
	packaging/systemd/recover $(wildcard packaging/debian/*.p*) \
	scripts/prepare-chroot scripts/version \
	scripts/install-deps scripts/apt-suite.sh scripts/fetch-base scripts/fetch-perf \
	scripts/prepare-herd7 scripts/demo scripts/demo-overwrite scripts/demo-pt \
	scripts/lint-kernel scripts/make-series scripts/seed-kernel scripts/lint-series \
	scripts/check-lines .ci/run $(VM)/build-kernel tools/testing/cross/build \
	$(wildcard scripts/tests/*.sh packaging/tests/*.sh packaging/tests/lib/*.sh \
		tools/perf/tests/*/*.sh tools/perf/tests/shell/lib/*.sh tools/lib/perf/tests/*.sh \
		tools/testing/*/*.sh tools/testing/*/*/*.sh)

lint-scripts: deps
	@printf '%s\n' $(SCRIPTS) | xargs -P $$(nproc) -n 4 \
		shellcheck -x -P SCRIPTDIR:tools/perf/tests/shell/lib:. -S warning
	@scripts/check-layers
	@scripts/check-lines

lint: lint-scripts tree		## check scripts, includes, lines, and the style of C files in tools/
	@scripts/lint-tools $(LINUX)

compile_commands.json: FORCE	## write how perf, unit tests and kernel were compiled, for editors
	@scripts/compile-commands

# Skip the tests of a base other than the default if its sources cannot be had.
define run-if-base
	@status=0; [ $(BASE) = 6.12 ] || scripts/prepare-tree --fetch || status=$$?; \
	case $$status in \
	0) $(MAKE) run-$@ ;; \
	2) echo '1..0 # SKIP no sources of BASE=$(BASE)'; echo '0 passed, 0 failed, 1 skipped' ;; \
	*) exit $$status ;; \
	esac
endef

# A broken tree fails early: the quick checks come first, then the fast tests. The runner builds
# perf and the test programs, and the kernel at the same time. scripts/tests/checkpatch.sh is the
# rest of lint.
test:				## build and run all tests; T=NAME: only this one
	$(run-if-base)
run-test: $(if $(T),,lint-scripts) tree
	@scripts/run-tests --build $(T)

# Takes hours: the debug kernel is slow, and emulated.
test-debug-kernel: debug-kernel perf test-programs	## run the tests of the guest on build/kernel-debug (hours)
	@KERNEL=$(BUILD)/kernel-debug VM_MEM=2G VM_TIMEOUT=3500 \
		scripts/run-tests --time-limit 3600 -k in_guest

test-fast:			## run the fast tests; T=NAME: only this one
	$(run-if-base)
run-test-fast: perf test-programs
	@scripts/run-tests --fast $(T)

# Run these before a release, after make test.
test-night:			## build and run the tests, and checks, that make test leaves out (hours); T=NAME
	$(run-if-base)
run-test-night: tree
	@scripts/run-tests --build --night $(T)

bench: bench-ring bench-append bench-aux bench-snapshot bench-snapshot-guest bench-loss bench-keep bench-cost bench-cost-guest bench-sample-cost bench-emit	## run all benchmarks; prints RESULT <name> <value> <unit>

# $(call run-bench,NAMES[,NEWEST_PERF])
define run-bench
	@export TOP=$(CURDIR) LINUX=$(LINUX) PERF=$(BUILD)/perf/perf \
		UPSTREAM_PERF=$(wildcard $(CURDIR)/build/upstream-perf/perf) \
		NEWEST_PERF=$(or $2,$(filter-out $(CURDIR)/build/upstream-perf/perf,$(BUILD)/upstream-perf/perf)); \
	for bench in $(1:%=tools/perf/tests/bench/%.sh); do \
		echo "# $$bench"; $(LINUX)/$$bench || [ $$? = 2 ] || exit 1; \
	done
endef

bench-snapshot: perf upstream-perf test-programs $(BUILD)/tests/snapshot_copy	## measure gaps, copies and latency of snapshots
	$(call run-bench,snapshot-copy snapshot-gap snapshot-latency)

bench-snapshot-guest: perf kernel test-programs $(BUILD)/tests/snapshot_copy	## the same on our kernel, in the guest
	$(call run-bench,snapshot-guest)

bench-append: tree		## measure what it costs to append records to a file, with 1 and 272 readers
	@$(UNIT) $(BUILD)/tests/append_bench
	@$(BUILD)/tests/append_bench

bench-aux: tree			## measure what it costs to drain AUX areas, by one thread and by readers
	@$(UNIT) $(BUILD)/tests/drain_bench
	@$(BUILD)/tests/drain_bench

bench-keep: perf test-programs	## measure how long --keep reaches back for its memory, and its cost
	@$(UNIT) $(BUILD)/tests/pack_bench
	$(call run-bench,pack keep,$(wildcard $(CURDIR)/build/newest-perf/perf))

bench-cost: perf test-programs	## measure what it costs servers, and a build, to leave a recorder on
	$(call run-bench,cost,$(wildcard $(CURDIR)/build/newest-perf/perf))

bench-emit: perf test-programs	## measure the CPU time that an event takes: perf's rings, BPF's, counting
	$(call run-bench,emit)

# KERNEL=PATH is another kernel to boot. NIGHT=1 builds one with the distributions' optimization.
bench-cost-guest: perf kernel test-programs	## count the instructions that recorders take for an event, in the guest
	$(call run-bench,cost-guest,$(wildcard $(CURDIR)/build/newest-perf/perf))

bench-sample-cost: kernel $(BUILD)/tests/sample_cost	## count the instructions of several kinds of events, without perf, in the guest
	$(call run-bench,sample-cost-guest)

# With BASE=mainline, the perf of that base is a peer, too; perf of 6.12 cannot read its files.
bench-loss: perf upstream-perf test-programs	## measure losses and overhead of streaming, ours and upstream's
	$(call run-bench,loss)

$(BUILD)/tests/snapshot_copy: tools/perf/tests/bench/snapshot_copy.c perf
	@echo '  CC      $(@F)'
	@$(CC) -O2 -Wall -Wextra $(CC_WERROR) -I$(LINUX)/tools/lib/perf/include -o $@ $< \
		$(addprefix $(BUILD)/perf/,libperf/libperf.a libapi/libapi.a)

bench-ring: tree		## measure the time per record in our ring buffer and upstream's, in user space
	@$(RING) bench
	@$(BUILD)/tests/ring_buffer/bench_ring
	@$(BUILD)/tests/ring_buffer/bench_walk
	@[ $(SRCARCH) != x86 ] || $(BUILD)/tests/ring_buffer/bench_layout

html: deps			## build the pages of Documentation in build/html; start with index.html
	@sphinx-build -C -W --keep-going -q -D root_doc=perf-record \
		-D project='perf flight recorder' \
		-D extensions=sphinx.ext.graphviz -D graphviz_output_format=svg \
		-D html_theme=alabaster Documentation $(BUILD)/html
	@ln -sf perf-record.html $(BUILD)/html/index.html
	@echo '$(BUILD)/html/index.html'

series: tree			## write build/series/*/*.patch, our changes as commits for git am
	@scripts/make-series

clean:				## remove build/
	rm -rf build
