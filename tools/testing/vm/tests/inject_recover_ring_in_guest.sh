#!/bin/bash
# perf inject --recover-ring on our kernel: from a recorder's memory, a vmcore, and all of a machine's RAM
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 400
#
# In the guest, numbered calls are recorded until the rings have gone round, and the events are
# disabled: from then on nothing in the rings changes, and all images of them must give the same. Those are
# the recorder's mappings; a vmcore, as dump-guest-memory of QEMU makes it; and the guest's RAM, which is a
# file here, as it is when the guest is gone without shutting down.
#
# Environment: RATE, of the calls (4000 a second: the guest is emulated).

# shellcheck source=../guest.sh
. "$(dirname "$(realpath "$0")")/../guest.sh"

# shellcheck source=../../../perf/tests/shell/lib/recording.sh
. "$BUILD/linux/tools/perf/tests/shell/lib/recording.sh"

# Every mapping of the recorder that can be read, one behind the other, in small pieces: the guest has little
# memory, and the recorder reserves more than it uses
copy_memory() {
	python3 - "$1" > "$2" << 'END'
import sys
with open(f'/proc/{sys.argv[1]}/maps') as maps, open(f'/proc/{sys.argv[1]}/mem', 'rb') as memory:
    for line in maps:
        span, mode, *_ = line.split()
        if mode[0] != 'r':
            continue
        begin, end = (int(number, 16) for number in span.split('-'))
        try:
            memory.seek(begin)
            for at in range(begin, end, 1 << 20):
                sys.stdout.buffer.write(memory.read(min(1 << 20, end - at)))
        except (OSError, ValueError):
            pass                        # [vvar], [vsyscall]
END
}

run_inside() {
	need_perf
	need_root
	need_helpers numbered
	need_tracepoint raw_syscalls:sys_enter

	numbered_event overwrite
	recorder_start -v -a -m 64 "${event[@]}" -o "$work/data" --switch-output=signal --write-buffer=1M
	numbered_start --rate "$RATE" --duration 4
	numbered_end
	control disable || fail "the events cannot be disabled"
	copy_memory "$recorder" "$VM_OUT/memory"
	control snapshot || fail "no snapshot"
	find_snapshots "$work/data"
	[ "${#snapshots[@]}" = 1 ] || fail "${#snapshots[@]} snapshots instead of one"
	cp "${snapshots[0]}" "$VM_OUT/saved"
	grep -q 'rings by PERF_SAMPLE_SIZE_AT_END' "$work/record.err" || fail "the rings are not sized"
	sync
	touch "$VM_OUT/done"
	wait_until 100 test -e "$VM_OUT/dumped"
	# As if the plug were pulled. The recorder still runs.
	echo b > /proc/sysrq-trigger
	sleep 100
}

# tell_qemu COMMAND: returns when that is done, and QEMU says what
tell_qemu() {
	python3 - "$work/monitor" "$1" << 'END'
import socket, sys
with socket.socket(socket.AF_UNIX) as monitor:
    monitor.connect(sys.argv[1])
    said = b''
    for command in sys.argv[2], '':
        while not said.endswith(b'(qemu) '):
            said += monitor.recv(4096) or sys.exit('QEMU is gone')
        print(said.decode())
        said = b''
        monitor.sendall(command.encode() + b'\n')
END
}

# texts FILE: its samples
texts() {
	"$PERF" script -f -i "$1" -F cpu,time,event,trace 2> "$work/script.err" | grep raw_syscalls | sort
}

# same_as_saved IMAGE: it has what the recorder saved, but for the oldest record of each ring (that may go on
# where the ring begins, with the one before it gone, or be about to be replaced), and what inject says is
# doubtful: of the recorder's own copies, the one it has taken trailers off may disagree with the ring.
same_as_saved() {
	local missing more nr doubtful

	"$PERF" inject --recover-ring "$1" -i "$out/saved" -o "$work/out" 2> "$work/said" || return
	cat "$work/said"
	doubtful=$(grep -oE '[0-9]+ doubtful' "$work/said" | cut -d' ' -f1)
	texts "$work/out" > "$work/recovered.txt"
	nr=$(wc -l < "$work/saved.txt")
	more=$(comm -13 "$work/saved.txt" "$work/recovered.txt" | wc -l)
	missing=$(comm -23 "$work/saved.txt" "$work/recovered.txt" | wc -l)
	echo "saved $nr, missing of them $missing, more than these $more"
	((nr >= 1000 && more == 0 && doubtful <= 100 && missing <= cpus + doubtful)) && readable "$work/out"
}

if [ "${1-}" = --inside ]; then
	RATE=$2
	run_inside
	exit
fi

need_guest
need_perf
export VM_DIR=$work/vm VM_TIMEOUT=${VM_TIMEOUT:-300} VM_MEM=768M
mkdir "$VM_DIR"
# Sparse, where the checkout is: /tmp may be small.
ram=$(mktemp "$BUILD/vm/ram.XXXXXX") || exit 1
vmcore=$ram.vmcore
trap 'tell; rm -f "$ram" "$vmcore"; cleanup' EXIT
export VM_QEMU="-object memory-backend-file,id=ram,size=$VM_MEM,mem-path=$ram,share=on -machine memory-backend=ram \
	-monitor unix:$work/monitor,server,nowait"
"$TOP/tools/testing/vm/run" "$(printf '%q ' "$(realpath "$0")" --inside "${RATE:-4000}")" > "$work/said" 2>&1 &
guest=$!
started+=("$guest")
out=$VM_DIR/out
guest_is_done() {
	[ -e "$out/done" ] || gone "$guest"
}
wait_until "$VM_TIMEOUT" guest_is_done
[ -e "$out/done" ] || {
	cat "$work/said"
	fail "the guest did not come to the end"
}
tell_qemu "dump-guest-memory $vmcore" > "$work/monitor.said" 2>&1
touch "$out/dumped"
wait "$guest"
texts "$out/saved" > "$work/saved.txt"
cpus=$("$PERF" script -f -i "$out/saved" -F cpu | sort -u | wc -l)

echo "TAP version 13"
check "a copy of the recorder's memory" same_as_saved "$out/memory"
check "a vmcore" same_as_saved "$vmcore"
check "the machine's memory" same_as_saved "$ram"
echo "1..$nr"
