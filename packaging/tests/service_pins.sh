#!/bin/bash
# Pinned events wait for the next recorder of a service, unless that recorder cannot go on with them
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel
#
# systemd is not used: events are not pinned in a PID namespace, such as that of a container. The
# recorder has the capabilities of the service and no others, and a directory of its own to pin in.

# A BPF file system of its own: pins of the machine are left alone.
[ "${PIN_MOUNTED-}" ] || ! unshare --mount true 2> /dev/null ||
	PIN_MOUNTED=1 exec unshare --mount "$0" "$@"

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
. "$top/tools/perf/tests/shell/lib/numbered.sh"

need_numbered
[ "${PIN_MOUNTED-}" ] || skip "cannot create a mount namespace"
mount -t bpf none /sys/fs/bpf 2> /dev/null || skip "cannot mount a BPF file system"
enter=raw_syscalls:sys_enter
need_bpf_ring -v -a -e "$enter/overwrite/"

pins=/sys/fs/bpf/perf-record/box
mkdir -p "$work/private/bin" "$work/private/libexec" "$work/files"
ln -s "$(command -v "$PERF")" "$work/private/bin/perf"
cp "$top/packaging/systemd/recover" "$work/private/libexec/"
# Other tests may make the same calls.
event=(-e "$enter/overwrite/" --filter "id == $("$work/$comm" --print-nr) && comm == \"$comm\"")

# The capabilities of the service
caps=-all,+perfmon,+bpf,+dac_read_search,+sys_ptrace,+syslog
as_service=(setpriv --reuid 65534 --regid 65534 --clear-groups "--inh-caps=$caps"
	"--ambient-caps=$caps"
	"--bounding-set=$caps")
"${as_service[@]}" true 2> "$work/log" || skip "$(< "$work/log")"
mkdir -p "$pins" && chmod 700 "$pins" && chown 65534 "$pins"
umask 0			# for the FIFOs of recorder_start
chown -R 65534 "$work"
chmod 755 "$work"
wrapper=("${as_service[@]}")

# start [record options]
start() {
	recorder_start -a -m 4M "${event[@]}" --pin=box --switch-output -o "$work/data" "$@"
}

# ended CODE: what the service does behind a recorder that ended so; set $recovered to the name of a
# file
ended() {
	recovered=$(cd "$work/files" && EXIT_CODE=$1 "${as_service[@]}" \
		"$work/private/libexec/recover" "$work/kept" box 2>&1 |
		tee "$work/recover.err" | sed -n 's/^Recovered what was pinned: //p')
}

kill_recorder() {
	kill -KILL "$recorder"
	wait "$recorder" 2> /dev/null
	exec {ctl}>&- {ack}>&-
}

subtest "after SIGKILL the next recorder goes on"
start
kill_recorder
ended killed
[ -e "$pins/session" ] || error "it is gone: $(< "$work/recover.err")"
[ -z "$recovered" ] || error "it is saved: $recovered"
numbered_calls 2 997
start
control snapshot || error "no snapshot"
find_snapshots "$work/data"
numbered_ranges "${snapshots[0]}" | grep -qw 2:1-997 ||
	error "calls are missing: $(numbered_ranges "${snapshots[0]}")"
kill_recorder

subtest "what a recorder of another layout cannot go on with is saved, and the one after that begins"
numbered_calls 3 997
"${as_service[@]}" "$PERF" record -a -m 1M "${event[@]}" --pin=box -o "$work/none" \
	-- true 2> "$work/record.err" &&
	error "it goes on"
ended exited
[ -z "$(ls "$pins")" ] || error "left: $(ls "$pins")"
if [ "$recovered" ]; then
	numbered_ranges "$work/files/$recovered" | grep -qw 3:1-997 ||
		error "it holds $(numbered_ranges "$work/files/$recovered")"
else
	error "no file: $(< "$work/recover.err")"
fi
start -m 1M
recorder_stop

subtest "after a recorder that saved everything, there is nothing to do"
ended exited
[ -z "$recovered$(< "$work/recover.err")" ] || error "$(< "$work/recover.err")"

finish
