# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Boot the guest for a test, print a result for each check, and decode files on the host.
# shellcheck disable=SC2154		# $work comes from the library of the shell tests
#
# A test sources this file first. On the host it calls need_guest and boot_guest, which runs the
# test again, in the guest, with the argument --inside.

top=$(realpath "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../../..")
export TOP=${TOP:-$top} BUILD=${BUILD:-$top/build}
test_file=$(realpath "$0")

skip_all() {
	echo "1..0 # SKIP $1"
	exit 2
}

# --- on the host -------------------------------------------------------------------------------

# Skip the test if the guest cannot be booted.
need_guest() {
	[ -e "${KERNEL:-$BUILD/kernel}/vmlinux" ] ||
		skip_all "no guest kernel (make kernel)"
	command -v qemu-system-x86_64 > /dev/null || skip_all "no qemu-system-x86_64 (make deps)"
	[ -x "$BUILD/perf/perf" ] || skip_all "no perf (make perf)"
}

# boot_guest COMMAND...: run it in the guest, and exit with its status. Each test has a VM_DIR of
# its own, so that tests may run at the same time. With $perf_uses_llvm set, perf finds the real
# libLLVM there.
perf_uses_llvm=
boot_guest() {
	local server status

	export VM_DIR=${VM_DIR:-$BUILD/vm/$(basename "$test_file" .sh)}
	mkdir -p "$VM_DIR/out"
	rm -f "$VM_DIR"/out/job.*
	[ -n "$perf_uses_llvm" ] || ! stub_llvm || set -- env "LD_LIBRARY_PATH=$VM_DIR/lib" "$@"
	run_host_jobs &
	server=$!
	"$TOP/tools/testing/vm/run" "$(printf '%q ' "$@")"
	status=$?
	kill "$server" 2> /dev/null
	wait "$server" 2> /dev/null
	exit "$status"
}

# Build a library that takes the place of libLLVM, which perf needs to disassemble only. Relocating
# libLLVM takes most of the time in the dynamic loader at each start of perf: 35 of 40 million
# cycles, which is most of a second in the emulated guest. Return 1 if perf is not linked with it.
stub_llvm() {
	local lib=$VM_DIR/lib soname

	soname=$(objdump -p "$BUILD/perf/perf" |
		awk '$1 == "NEEDED" && $2 ~ /^libLLVM/ { print $2 }')
	[ -n "$soname" ] || return
	rm -rf "$lib"
	mkdir -p "$lib"
	nm -D --undefined-only "$BUILD/perf/perf" | awk -v map="$lib/map" '
		split($2, symbol, "@") == 2 && symbol[2] ~ /^LLVM_/ {
			print "void " symbol[1] "(void) { __builtin_trap(); }"
			version = symbol[2]
		}
		END { print version " { *; };" > map }' > "$lib/stub.c"
	cc -shared -fPIC "-Wl,-soname,$soname" "-Wl,--version-script,$lib/map" \
		-o "$lib/$soname" "$lib/stub.c"
}

# Run the commands that on_host writes to files in the guest, until this test ends.
run_host_jobs() {
	local file job

	exec > /dev/null 2>&1
	[ -p "$VM_DIR/never" ] || mkfifo "$VM_DIR/never"
	exec {never}<> "$VM_DIR/never"
	while kill -0 $$; do
		for file in "$VM_DIR"/out/job.*.new; do
			[ -e "$file" ] || continue
			job=${file%.new}
			mv "$file" "$job.run" || continue
			LC_ALL=C bash "$job.run" > "$job.out" 2> "$job.err"
			echo $? > "$job.tmp"
			mv "$job.tmp" "$job.status"
		done
		read -rt 0.02 -u "$never"	# sleep without starting a process
	done
}

# qemu_monitor COMMAND: run it in the monitor of QEMU; print the answer. VM_QEMU has
# -monitor unix:$work/monitor,server,nowait
qemu_monitor() {
	python3 - "$work/monitor" "$1" << 'END'
import socket, sys
with socket.socket(socket.AF_UNIX) as monitor:
    monitor.connect(sys.argv[1])
    answer = b''
    for command in sys.argv[2], '':
        while not answer.endswith(b'(qemu) '):
            answer += monitor.recv(4096) or sys.exit('QEMU has exited')
        print(answer.decode())
        answer = b''
        monitor.sendall(command.encode() + b'\n')
END
}

# write_elf RAM FILE: write what /proc/vmcore has after a crash. RAM is the file that backs the
# memory of the guest, which has called describe_memory; $out is its $VM_OUT.
write_elf() {
	python3 - "$out/vmcoreinfo" "$out/kcore" "$@" << 'END'
import struct, sys
with open(sys.argv[1]) as file:
    address, size = (int(word, 16) for word in file.read().split())
with open(sys.argv[2]) as file:
    words = [line.split() for line in file]
places = [tuple(int(number, 16) for number in word[2:5]) for word in words if word[:1] == ['LOAD']]
places = [place for place in places if place[1] != (1 << 64) - 1]
with open(sys.argv[3], 'rb') as ram, open(sys.argv[4], 'wb') as elf:
    ram.seek(address)
    note = ram.read(size)
    at = 64 + 56 * (1 + len(places))
    elf.write(struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\2\1\1', 4, 62, 1, 0, 64, 0, 0, 64, 56,
                          1 + len(places), 0, 0, 0))
    elf.write(struct.pack('<IIQQQQQQ', 4, 0, at, 0, 0, size, size, 0))
    at += size
    for virtual, physical, size in places:
        elf.write(struct.pack('<IIQQQQQQ', 1, 7, at, virtual, physical, size, size, 0))
        at += size
    elf.write(note)
    for virtual, physical, size in places:
        ram.seek(physical)
        elf.write(ram.read(size))
END
}

# --- in the guest ------------------------------------------------------------------------------

# Tell write_elf where VMCOREINFO is, and where the kernel has mapped the memory.
describe_memory() {
	cp /sys/kernel/vmcoreinfo "$VM_OUT/vmcoreinfo"
	readelf -lW /proc/kcore > "$VM_OUT/kcore"
}

# on_host COMMAND...: run it on the host, with the same output and exit status. It finds the files
# of the guest in $VM_OUT only.
on_host() {
	local job=$VM_OUT/job.$BASHPID.$RANDOM status

	printf '%q ' "$@" > "$job.tmp"
	mv "$job.tmp" "$job.new"
	wait_until 250 test -e "$job.status" || {
		echo "No answer from the host: $*" >&2
		return 1
	}
	cat "$job.out"
	cat "$job.err" >&2
	status=$(< "$job.status")
	rm -f "$job".*
	return "$status"
}

# perf_script PERF FILE [OPTION...]: run "PERF script -f -i FILE OPTION..." on the host, because
# the emulated guest is much slower. With $decode_in_guest set, run it here: for a trace of code
# that only the guest has, such as its vdso or a file in its memory.
decode_in_guest=
perf_script() {
	local copy=$VM_OUT/decode.$BASHPID.$RANDOM status

	if [ -n "$decode_in_guest" ]; then
		"$1" script -f -i "${@:2}"
		return
	fi
	cp "$2" "$copy" || return
	on_host "$1" script -f -i "$copy" "${@:3}"
	status=$?
	rm "$copy"
	return $status
}

# Print the output of the current check as comments, without starting a process, because that takes
# long in the emulated guest. Call this on exit as well, because a check may end the test:
# trap 'print_check_output; cleanup' EXIT
exec {ktap}>&1
print_check_output() {
	local lines

	[ -s "$work/check.out" ] || return 0
	mapfile -t lines < "$work/check.out"
	printf '# %s\n' "${lines[@]}" >&"$ktap"
	: > "$work/check.out"
}

# check TITLE COMMAND...: print one result, and the output of the command as comments. A command
# that calls inconclusive and succeeds is skipped.
# check_long TITLE COMMAND...: likewise, but only in make test-night
nr=0
check_long() {
	if [ -n "${NIGHT-}" ]; then
		check "$@"
		return
	fi
	nr=$((nr + 1))
	echo "ok $nr - $1 # SKIP takes long: make test-night"
}

check() {
	local title=$1 not='' skipped='' start=$SECONDS

	shift
	nr=$((nr + 1))
	result_skip=
	"$@" > "$work/check.out" 2>&1 || not='not '
	[ -n "$not" ] || skipped=${result_skip:+ # SKIP $result_skip}
	echo "${not}ok $nr - $title$skipped"
	[ -z "$not" ] || show_recorder_log >> "$work/check.out"
	echo "$((SECONDS - start)) s" >> "$work/check.out"
	print_check_output
}
