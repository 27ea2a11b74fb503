#!/bin/bash
# perf script, buildid-list, trace, inject: damaged counts, sizes, CPUs and bits crash none
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# tags: parallel

. "$(dirname "$0")/lib/harness.sh"

need perf

# Write FILE with another number at each of the first words of each section of the header, and run
# the readers. Print the number of runs, and those that a signal ended.
cat > "$work/damage.py" <<'END'
import resource, struct, subprocess, sys
import perf_data

perf, source = sys.argv[1:]
names = ['TRACING_DATA', 'BUILD_ID', 'HOSTNAME', 'OSRELEASE', 'VERSION', 'ARCH', 'NRCPUS',
         'CPUDESC', 'CPUID', 'TOTAL_MEM', 'CMDLINE', 'EVENT_DESC', 'CPU_TOPOLOGY', 'NUMA_TOPOLOGY']
HEADER_READERS = ['script', '--header-only', '-I'], ['buildid-list']
runs, crashes = 0, 0


def read(damaged, what, *readers):
    """Let readers read damaged bytes."""
    global runs, crashes
    perf_data.save(source + '.damaged', damaged)
    for reader in readers or HEADER_READERS:
        try:
            status = subprocess.run([perf, *reader, '-f', '-i', source + '.damaged'],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL, timeout=60).returncode
            end = f'is ended by signal {-status}' if status < 0 else ''
        except subprocess.TimeoutExpired:
            end = 'does not end'
        runs += 1
        if end:
            crashes += 1
            print(f'# {what}: perf {reader[0]} {end}')


data = bytes(perf_data.load(source))
offset, size = struct.unpack_from('<QQ', data, 40)
flags = int.from_bytes(data[72:104], 'little')
features = [bit for bit in range(1, 256) if flags >> bit & 1]
for number, feature in enumerate(features):
    start, length = struct.unpack_from('<QQ', data, offset + size + 16 * number)
    words = range(start, start + min(length, 16), 4)
    for place, value in [(place, value) for place in words
                         for value in (0xffff, 0x7fffffff, 0xffffffff)]:
        damaged = bytearray(data) + b'x' * 0x10000      # can be read, whatever a record claims
        struct.pack_into('<I', damaged, place, value)
        name = names[feature - 1] if feature <= len(names) else f'feature {feature}'
        read(damaged, f'{name}, word {(place - start) // 4} = {value:#x}')
    if feature == 11:                           # an argument that is longer than the section
        read(data[:start] + struct.pack('<II', 1, 0xffff) + b'x' * 0x20000, 'CMDLINE, length')
    if feature == 22:                           # version, block size, nodes; node, size, bits
        damaged = bytearray(data)
        struct.pack_into('<Q', damaged, start + 40, (7 << 32) + 3)
        read(damaged, 'MEM_TOPOLOGY, bits')
place = data.find(b'header_event\0')            # its size follows
if place >= 0:
    read(data[:place + 13] + b'\xff' * 8 + data[place + 21:], 'TRACING_DATA, size of header_event')
for bit in 100, 255:                            # features that perf does not know
    damaged = bytearray(data)
    damaged[72 + bit // 8] |= 1 << bit % 8
    read(damaged, f'feature {bit}', ['inject', '-o', source + '.injected'],
         ['inject', '-o', '-'], *HEADER_READERS)
start, = struct.unpack_from('<Q', data, 40)
damaged = bytearray(data)
for kind, _, place, _ in perf_data.records(data):       # a CPU in each sample that does not exist
    if kind == perf_data.SAMPLE:
        struct.pack_into('<I', damaged, place + 40, 0x7fffff00)
read(damaged, 'samples, CPU', ['script'])
attribute_size, attributes = struct.unpack_from('<QQ', data, 16)
damaged = bytearray(data[:attributes])          # nothing behind the header
struct.pack_into('<Q', damaged, 40, 1 << 30)
read(damaged, 'a file without attributes', ['report', '--stats'])
rounds = struct.pack('<IHH', 68, 0, 8) * 10000
for section, records in ((start + (1 << 30), b''),  # behind the end of the file
                         (start, rounds + struct.pack('<IHH', 3, 0, 0xfff8))):  # a long COMM
    damaged = bytearray(data[:start]) + records
    struct.pack_into('<QQQ32x', damaged, 32, attribute_size, section, len(records) or 4096)
    read(damaged, f'records at {section:#x}', ['report', '--stats'])
# A recording of Intel PT: AUXTRACE_INFO, and a record without a size
INTEL_PT, AUXTRACE_INFO = 1, 70
words = struct.pack('<IHHQ20Q', AUXTRACE_INFO, 0, 176, INTEL_PT, *[0] * 20)
for tail in b'', bytes(16):
    damaged = bytearray(data[:start]) + words + tail
    struct.pack_into('<QQQ32x', damaged, 32, attribute_size, start, len(words + tail))
    read(damaged, f'Intel PT, {len(tail)} bytes behind it', ['report', '--stdio'],
         ['data', 'convert', '--force', f'--to-json={source}.json'])
words = struct.pack('<IHHQ20Q', AUXTRACE_INFO, 0, 176, INTEL_PT, *[int(i == 9) for i in range(20)])
start_of_trace = struct.pack('<IHH4IQIIQ', 12, 0, 48, 1, 1, 1, 1, 0, 0x3fffffff, 0, 0)
damaged = bytearray(data[:start]) + words + start_of_trace
struct.pack_into('<QQQ32x', damaged, 32, attribute_size, start, len(words + start_of_trace))
read(damaged, 'Intel PT, CPU', ['script'])
damaged = perf_data.load(source + '.bpf')
BPF_PROG_INFO, NR_JITED_KSYMS, place, programs = 25, 104, 0, 0
if int.from_bytes(damaged[72:104], 'little') >> BPF_PROG_INFO & 1:
    place, _ = perf_data.feature(damaged, BPF_PROG_INFO)
    programs, = struct.unpack_from('<I', damaged, place)
place += 4
for _ in range(programs):                       # their numbers of functions
    info, length = struct.unpack_from('<II', damaged, place)
    struct.pack_into('<I', damaged, place + 16 + NR_JITED_KSYMS, 0x7fffffff)
    place += 16 + info + length
read(damaged, 'BPF_PROG_INFO, functions', ['script'], ['report', '--stats'])
data = bytes(perf_data.load(source + '.pipe'))
places, place = {}, 16
while place + 8 <= len(data):
    kind, _, length = struct.unpack_from('<IHH', data, place)
    places.setdefault(kind, place)
    place += length + (int.from_bytes(data[place + 8:place + 12], 'little') if kind == 66 else 0)
attributes = 64                                 # before the formats, which name tracepoints
read(data[:next(place for kind, place in places.items() if kind != attributes)],
     'a pipe without formats', ['trace'], ['sched', 'latency'], ['script'])
damaged = bytearray(data)                       # a THREAD_MAP without so many entries is refused
struct.pack_into('<I', damaged, places[73] + 8, 0x7fffff)
read(damaged, 'THREAD_MAP, entries', ['script'], ['report', '--stats'])
if subprocess.run([perf, 'script', '-i', source + '.damaged'], check=False,
                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                  stderr=subprocess.DEVNULL).returncode == 0:
    crashes += 1
    print('# THREAD_MAP, entries: perf script reads behind the record')
size = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
if size > 1 << 20:
    crashes += 1
    print(f'# a reader takes {size >> 10} MB')
print(f'# {runs} runs of {len(features)} features, {programs} BPF programs, in {size >> 10} MB')
sys.exit(crashes > 0)
END

subtest "Counts and sizes in the header, CPUs of samples"
events=(-e cpu-clock:u)
[ ! -r /sys/kernel/tracing/events/raw_syscalls/sys_enter/id ] ||
	events+=(-e raw_syscalls:sys_enter)
"$PERF" record -q --sample-cpu "${events[@]}" -o "$work/data" -- true 2> "$work/err" ||
	fatal "perf record fails: $(< "$work/err")"
"$PERF" record -q "${events[@]}" -o - -- true > "$work/data.pipe" 2> "$work/err" ||
	fatal "perf record -o - fails: $(< "$work/err")"
# If perf's BPF programs cannot be loaded, and there are no others, the file has none.
"$PERF" record -q -a --keep "${events[@]}" -o "$work/data.bpf" -- true 2> "$work/err" ||
	fatal "perf record --keep fails: $(< "$work/err")"
# Without a file of options, errno is 0 when the header is read.
PERF_CONFIG=/dev/null python3 "$work/damage.py" "$PERF" "$work/data" ||
	error "readers fail"
finish
