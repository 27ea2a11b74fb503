#!/bin/bash
# perf record: errors have a message and the right exit status, and leave no process or file behind
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 180

. "$(dirname "$0")/lib/numbered.sh"

need perf root numbered deny raw_syscalls:sys_enter

out=$work/data
numbered=$work/$comm
traced=raw_syscalls:sys_enter/overwrite/

# The workload of most cases. If perf record left it running, its path would give it away.
idle=$work/idle
ln -s "$(command -v sleep)" "$idle"

# run STATUS COMMAND...: check the exit status; the messages are in $work/record.err
run() {
	local want=$1 status

	shift
	note "${*/#$PERF/perf}"
	rm -rf "$out"*
	timeout 200 "$@" > "$work/record.out" 2> "$work/record.err"
	status=$?
	[ $status = "$want" ] || error "exit status $status, not $want"
	nothing_left
}

# says PATTERN...: check that the messages match all of these extended expressions, in any case
says() {
	local text

	for text; do
		grep -qiE -- "$text" "$work/record.err" || error "no message matches '$text'"
	done
}

# nothing_left: check that no process of the recording is left, and no unreadable file
nothing_left() {
	local file

	# Only the recorder and its workload have a path below $work on their command lines.
	wait_until 5 no_process || {
		error "processes are left: $(cat "$work/left")"
	}
	for file in "$out"*; do
		[ -e "$file" ] || continue
		"$PERF" script -f -i "$file" > /dev/null 2> "$work/script.err" && continue
		error "an unreadable file is left: ${file##*/}, $(stat -c %s "$file") bytes: $(cat "$work/script.err")"
	done
}

# shellcheck disable=SC2317 # wait_until calls it
no_process() {
	! pgrep -af -- "$work/" > "$work/left"
}

no_file() {
	[ -z "$(find "$work" -maxdepth 1 -name 'data*')" ] || error "an output file is left"
}

# refused STATUS PATTERN [record options]: check that perf record ends before it creates a file
refused() {
	run "$1" "$PERF" record -o "$out" "${@:3}" -- "$idle" 30
	says "$2"
	no_file
}

subtest "options and events that are refused"

refused 129 no_such_system -e no_such_system:no_such_event/overwrite/

refused 129 no-such-event -e no-such-event

# The kernel accepts this clock for software events only.
for mode in overwrite no-overwrite; do
	refused 255 'raw_syscalls:sys_enter.* realtime.*does not accept this clock' \
		-k CLOCK_REALTIME -e "raw_syscalls:sys_enter/$mode/"
	says '-k monotonic'
done

# The message names an unknown option.
refused 129 "--setup-filter=x" -e "$traced" --setup-filter=x
if [ -e /proc/kcore ]; then
	run 255 "$PERF" record -e "$traced" --kcore -o - -- "$idle" 30
	says '--kcore makes a directory'
else
	refused 255 '--kcore: cannot read /proc/kcore' -e "$traced" --kcore
fi
no_file
refused 129 no-such-option -e "$traced" --no-such-option

# Options for AUX areas need an event that has one.
for option in -S -Se -S4096 --aux-sample; do
	refused 129 'AUX area' -e "$traced" $option
done
for sizes in ",x" "x,1M" "1M,0"; do
	refused 129 'not a number of pages' -e "$traced" -m "$sizes"
done

for sizes in 4K4 1.5M 1e3 0x10 0 -1 99999999999999999999 18446744073709551615G; do
	refused 129 "-m $sizes: not a number of pages" -e "$traced" -m "$sizes"
done
for sizes in 999999G 4294967297 17592186044415M; do
	refused 129 "-m $sizes: a ring has at most [0-9]+ pages \\([0-9]+ MB\\)" -e "$traced" \
		-m "$sizes"
done

# One number and one unit
for option in --keep=1m30s --keep=60s,1G5 --switch-output=1m30s --max-size=1G500M --advise=60s5 \
	"--cooldown=1m30s --switch-output-event dummy"; do
	# shellcheck disable=SC2086 # several words
	refused 129 "${option%% *}:" -e cpu-clock $option
done

# Values that an int or 64 bits of nanoseconds cannot hold
for option in -z4294967297 "--cooldown=18446744074s --switch-output-event dummy"; do
	# shellcheck disable=SC2086 # several words
	refused 129 '--cooldown=18446744074s: not a time|-z 4294967297: not a compression level' \
		-e cpu-clock $option
done

for command in "" " "; do
	refused 129 '--exec-snapshot: the command is empty' -e cpu-clock --exec-snapshot "$command"
done

# A number of pages that is no power of two is rounded up, with a message.
for pages in 3 1000; do
	run 0 "$PERF" record -o "$out" -e "$traced" -m $pages -- true
	says 'rounding .*pages'
done

# Samples that do not fit into a ring
refused 255 'more than 16384 bytes' -m 16K -e "$traced" --call-graph dwarf,16384
says 'a ring has 16384'

# Without /sys, util of 6.12 finds no events and says nothing. Mainline's parser refuses the event,
# with its own exit status.
if unshare -m true 2> "$work/unshare.err"; then
	run 255 unshare -m sh -c 'mount -t tmpfs none /sys && "$@" || exit 255' sh \
		"$PERF" record -o "$out" -e cpu-clock -- "$idle" 30
	says 'mount sysfs on /sys|unable to find event on a PMU'
	no_file
	run 255 unshare -m sh -c 'umount -l /proc && "$@" || exit 255' sh \
		"$PERF" record -a -o "$out" -e dummy -- "$idle" 30
	says 'mount proc on /proc'
	no_file
fi
run 255 "$PERF" record -o "$work/no/such/directory/data" -e "$traced" -- "$idle" 30
says no/such/directory/data 'no such file or directory'

run 255 "$PERF" record -o /proc/data -e "$traced" -- "$idle" 30
says /proc/data 'no such file or directory|permission denied'

run 129 sh -c '"$@" >&-' sh "$PERF" record -o - -e "$traced" -- "$idle" 30
says 'Cannot write to -o -: standard output is closed'

run 129 "$PERF" record -o "" -e "$traced" -- "$idle" 30
says 'name of the output file is empty'

mkfifo "$work/fifo"
run 129 "$PERF" record -o "$work/fifo" -e "$traced" -- "$idle" 30
says "$work/fifo: it is a FIFO" '-o - >'

for option in --synth=bogus:task "-F abc:999" "-F 0:999" "-F 10x:999" "-F 99.5:999"; do
	# shellcheck disable=SC2086 # an option and its value
	refused 129 "${option%:*}: .*${option#*:}" ${option%:*} -e "$traced"
done

refused 129 'a group has no terms' -e '{cpu-clock,page-faults}/overwrite/'
says 'page-faults/overwrite/,'

for event in cpu-clock/overwite/u raw_syscalls:sys_enter/overwite/; do
	refused 129 'valid terms:.*[ ,]overwrite' -e "$event"
done

run 0 "$PERF" record -o "$out" -m ,1M -e "$traced" -- true
says '-m ,SIZE has no effect'

# A directory is renamed to *.old only if it is a recording.
mkdir "$work/directory"
run 255 "$PERF" record -o "$work/directory" -e "$traced" -- "$idle" 30
says "$work/directory" 'is a directory'
[[ -d $work/directory && ! -e $work/directory.old ]] || error "the directory was removed or renamed"
run 0 "$PERF" record -o "$work/directory/data" -e "$traced" -- true
run 0 "$PERF" record -o "$work/directory" -e "$traced" -- true
[[ -f $work/directory && -f $work/directory.old/data ]] ||
	error "a recording in a directory is not kept as *.old"

for control in 9 fd: fd:-1 fd:99 fd:1,99 fifo: fifo:$work/none; do
	refused 129 "--control=$control" -e "$traced" --control "$control"
done
refused 129 '-D x' -e "$traced" -D x
says milliseconds

run 127 "$PERF" record -o "$out" -e "$traced" -- "$work/no-such-workload"
says no-such-workload 'no such file or directory|not found'

refused 255 999 -e "$traced" -C 999

offline=$(cat /sys/devices/system/cpu/offline 2> /dev/null)
if [ -n "$offline" ]; then
	refused 255 "${offline%%[-,]*}" -e "$traced" -C "${offline%%[-,]*}"
fi

true &
task=$!
wait $task
refused 255 "$task" -e "$traced" -p $task
refused 255 "$task" -e "$traced" -t $task

subtest "warnings"

if [ "$(nproc)" -gt 1 ]; then
	run 0 "$PERF" record -o "$out" -e "$traced" -s -- true
	says 'may stop the rings'
fi
for safe in "-s -i" "-s -a" "-s --per-thread" ""; do
	# shellcheck disable=SC2086 # two words
	run 0 "$PERF" record -o "$out" -e "$traced" $safe -- true
	grep 'may stop' "$work/record.err" &&
		error "a warning although no counts are written: $safe"
done

subtest "exit status of the workload"

run 0 "$PERF" record -o "$out" -e "$traced" -- true
run 7 "$PERF" record -o "$out" -e "$traced" -- sh -c 'exit 7'
for signal in TERM KILL; do
	# shellcheck disable=SC2016 # $$ is the inner shell's
	run $((128 + $(kill -l $signal))) "$PERF" record -o "$out" -e "$traced" \
		-- sh -c 'kill -'$signal' $$'
	[ -s "$out" ] || error "no data of a workload that was killed"
done

subtest "signals to the recorder"

for signal in INT TERM; do
	note "kill -$signal of the recorder"
	rm -rf "$out"*
	recorder_start -e "$traced" -o "$out" -- "$idle" 30
	kill -$signal "$recorder"
	recorder_end 20
	# Success, the signal, or SIGTERM, by which the workload was ended
	[[ $status = 0 || $status = $((128 + $(kill -l $signal))) || $status = 143 ]] ||
		error "exit status $status"
	[ -s "$out" ] || error "no data"
	nothing_left
done

subtest "a full disk"

small=$work/small
if mount_small "$small" 2m; then
	# full SAMPLES: check the message, and that the file is readable and has more samples than
	# that
	full() {
		says 'no space left on device' "$small/data"
		for file in "$small"/data*; do
			for command in script "report --stdio"; do
				# shellcheck disable=SC2086 # two words
				"$PERF" $command -f -i "$file" > "$work/script.out" \
					2> "$work/script.err" || {
					error "perf $command cannot read ${file##*/}: $(cat "$work/script.err")"
				}
			done
		done
		[ "$(samples "$small/data")" -gt "$1" ] ||
			error "the file has $(samples "$small/data") samples, not more than $1"
		rm -f "$small"/*
	}

	run 254 "$PERF" record -o "$small/data" -e raw_syscalls:sys_enter/no-overwrite/ -- \
		"$numbered" --rate 100000 --duration 10
	full 1000

	# Two rings of 4 MB are more than the disk holds
	run 254 "$PERF" record -o "$small/data" -m 1024 -e "$traced" -- "$numbered" --rate 200000 \
		--duration 1
	full 1000

	note "--switch-output: the files before the last are complete (of streams)"
	numbered_event no-overwrite
	recorder_start -a -o "$small/data" -m 256 "${event[@]}" --switch-output=signal
	"$numbered" --rate 50000 --duration 20 > "$work/issued" &
	calls=$!
	for ((i = 0; i < 100; i++)); do
		gone "$recorder" && break
		kill -USR2 "$recorder" 2> /dev/null
		pause 0.1
	done
	recorder_end 10
	kill -TERM "$calls"
	[ "$status" = 254 ] || error "exit status $status, not 254"
	says 'no space left on device' "$small/data"
	nothing_left
	find_snapshots "$small/data"
	((${#snapshots[@]} >= 2)) || error "${#snapshots[@]} files"
	for file in "$small"/data*; do
		"$PERF" script -f -i "$file" > "$work/script.out" 2> "$work/script.err" ||
			error "perf script cannot read ${file##*/}: $(cat "$work/script.err")"
	done
	rm -f "$small"/*

	note "not even the header fits"
	dd if=/dev/zero of="$small/filler" bs=64k > /dev/null 2>&1
	run 254 "$PERF" record -o "$small/data" -e "$traced" -- "$numbered" --duration 1
	says 'no space left on device' "$small/data"
	[ ! -s "$small/data" ] || "$PERF" script -f -i "$small/data" > /dev/null 2>&1 ||
		error "an unreadable file is left"
fi

subtest "the formats of tracepoints cannot be written, or read: the file is readable here"

# complete_without WORDS: check the message, and that the file has samples
complete_without() {
	says "Cannot complete the header of $out: .*tracepoint formats: read it on this machine" "$@"
	[ "$(samples "$out")" -gt 0 ] || error "the file has no samples"
}

run 254 prlimit --fsize=32768 "$PERF" record -o "$out" -e raw_syscalls:sys_enter -- \
	dd if=/dev/zero of=/dev/null bs=1 count=1000
complete_without 'file too large'
if unshare -m true 2> "$work/unshare.err"; then
	for mode in overwrite no-overwrite; do
		run 255 unshare -m "$PERF" record -o "$out" -e "raw_syscalls:sys_enter/$mode/" -- \
			sh -c 'umount -l /sys/kernel/tracing; umount -l /sys/kernel/debug; :'
		complete_without 'cannot read the formats of tracepoints' 'mount tracefs'
	done
fi

subtest "the limit of open files"

# perf record raises its own soft limit, whichever descriptor hits it, but not that of the command.
for files in $(seq 10 $((2 * $(nproc))) $((10 + 18 * $(nproc)))); do
	run 0 prlimit --nofile="$files:" "$PERF" record -a -o "$out" -e cpu-clock -e "$traced" \
		-- sh -c 'ulimit -Sn'
	grep -qx "$files" "$work/record.out" ||
		error "the soft limit of the command is $(cat "$work/record.out"), not $files"
done

run 255 prlimit --nofile=12 "$PERF" record -a -o "$out" -e cpu-clock -e "$traced" -- "$idle" 30
says 'too many' 'may have 12 ' 'ulimit -Hn'

# Whatever cannot be opened, the message names the limit.
for files in {12..26}; do
	note "$files files"
	prlimit --nofile="$files" "$PERF" record -C 0 -o "$out" -e cpu-clock \
		-- true 2> "$work/record.err" ||
		says "may have $files " 'ulimit -Hn'
done

subtest "the limit of memory"

if (($(getconf _PHYS_PAGES) * $(getconf PAGESIZE) >> 30)); then
	run 255 prlimit --as=$((1 << 30)) "$PERF" record -o "$out" --write-buffer=1G -e cpu-clock \
		-- "$idle" 30
	says 'buffer of 1024 MB: Cannot allocate memory' 'smaller --write-buffer'
	no_file
else
	inconclusive "this machine has less than 1 GB"
fi

# The default buffer gets smaller before the address space is too small for the rest.
small=
for ((limit = 768; limit > 0; limit -= 32)); do
	prlimit --as=$((limit << 20)) "$PERF" record -o "$out" -e "$traced" \
		-- true 2> "$work/record.err" || break
	! grep -q 'Not enough address space .* buffer of 128 MB: using 32 MB.*--write-buffer' \
		"$work/record.err" ||
		small=$limit
done
note "with $limit MB of address space: $(tail -n 1 "$work/record.err")"
[ -n "$small" ] || error "the buffer is not smaller in ${limit} MB and more"

subtest "a seccomp filter that refuses to open events"
deny=("$BUILD/tests/deny" perf_event_open --)
if "${deny[@]}" true 2> "$work/deny.err"; then
	run 255 "${deny[@]}" "$PERF" record -o "$out" -e "$traced" -- "$idle" 30
	says 'seccomp filter .* refuses perf_event_open' 'cap-add PERFMON' 'SystemCallFilter'
	grep 'needs root' "$work/record.err" && error "another reason is given"
	[ ! -e "$out" ] || error "an output file is left"
else
	inconclusive "no filter: $(< "$work/deny.err")"
fi

subtest "an ordinary user"

if as_nobody_ready; then
	out=$public/data

	run 255 "${as_nobody[@]}" "$PERF" record -o "$out" -e cpu-clock/overwrite/ -a -- "$idle" 30
	says perf_event_paranoid 'paranoid[^a-z]*(setting )?is 2'

	# 129 if the user cannot read the id of the event, 255 if the kernel refuses the event
	dir=/sys/kernel/tracing
	status=255
	"${as_nobody[@]}" test -r $dir/events/raw_syscalls/sys_enter/id 2> /dev/null || status=129
	run $status "${as_nobody[@]}" "$PERF" record -o "$out" -e "$traced" -- "$idle" 30
	says "raw_syscalls" 'permission|access|privilege' "tracing|paranoid"

	# The limit is kernel.perf_event_mlock_kb for each CPU plus what ulimit -l allows, here 8
	# MB.
	kb=$(cat /proc/sys/kernel/perf_event_mlock_kb)
	run 255 "${as_nobody[@]}" "$PERF" record -o "$out" -m 32M -e cpu-clock/overwrite/u \
		-- "$idle" 30
	says perf_event_mlock_kb "(^|[^0-9])$kb([^0-9]|$)" '32M|33554432|32768|8192' \
		'(-m|--mmap.pages)' 'ulimit -l|RLIMIT_MEMLOCK|sysctl|echo'
	[ ! -e "$out" ] || error "an output file is left"

	run 255 "${as_nobody[@]}" "$PERF" record -o "$work/data" -e cpu-clock/overwrite/u \
		-- "$idle" 30
	says "$work/data" 'permission denied'

	# A priority that the user may not set: no file, and no summary of one
	run 255 prlimit --rtprio=0 "${as_nobody[@]}" "$PERF" record -o "$out" -r 5 -e cpu-clock:u \
		-- "$idle" 30
	says 'Cannot set real-time priority 5 \(-r\)' "ulimit -r"
	[ ! -e "$out" ] || error "an output file is left"
	! grep 'Captured and wrote' "$work/record.err" || error "the summary claims a file"

	# A task of another user
	run 255 "${as_nobody[@]}" "$PERF" record -o "$out" -e cpu-clock/overwrite/u -p $$ \
		-- "$idle" 30
	says 'permission|access|not permitted' "Task $$ belongs to user 0\..* 65534,"
	[ ! -e "$out" ] || error "an output file is left"
else
	inconclusive "$reason"
fi

# util renames events that it makes user-only, and finds no format by that name. raw_syscalls has no
# hit in user space.
subtest "an ordinary user who can read tracefs"

caps=-all,+dac_read_search
reader=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps "$caps"
	--ambient-caps "$caps")
call=syscalls:sys_enter_getppid
if ! as_nobody_ready; then
	inconclusive "$reason"
elif ! "${reader[@]}" cat "/sys/kernel/tracing/events/${call/://}/id" > "$work/id" 2>&1; then
	inconclusive "an ordinary user cannot read tracefs"
else
	for ring in "" /overwrite/; do
		run 0 "${reader[@]}" "$PERF" record -o "$out" -e "$call$ring" \
			-- "$helpers/numbered" --threads 1 --count 5
		count=$(samples "$out")
		[ "$count" = 5 ] || error "$count samples of system calls, not 5"
	done
	run 255 "${reader[@]}" "$PERF" record -o "$out" -e "$traced" -- "$idle" 30
	says 'raw_syscalls:sys_enter needs .*CAP_PERFMON' 'at 1 \(now 2\)'
	run 255 "${reader[@]}" "$PERF" record -o "$out" -a -e $call -- "$idle" 30
	says "$call needs .*CAP_PERFMON" 'at -1 \(now 2\)'
	[ ! -e "$out" ] || error "an output file is left"
fi

finish
