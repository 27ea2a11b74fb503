#!/bin/bash
# perf record: output files that others write to, move or delete meanwhile
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 120

. "$(dirname "$0")/lib/recorder.sh"

need perf

out=$work/out
mkdir "$out"

subtest "a second recorder with the same -o is refused"
for options in "" --switch-output; do
	# shellcheck disable=SC2086 # no word, or one
	recorder_start -e cpu-clock:u -o "$out/data" $options
	"$PERF" record -e cpu-clock:u -o "$out/data" -- true 2> "$work/second.err"
	status=$?
	[ $status = 255 ] || error "exit status $status of the second, not 255"
	grep -q "Cannot write to $out/data: another perf record" "$work/second.err" ||
		error "no message: $(cat "$work/second.err")"
	recorder_stop
	[ ! -e "$out/data.old" ] || error "the first recorder's file was renamed"
	readable "$out"/data* || error "a file cannot be read"
	rm -f "$out"/*
done

subtest "recorders that are started together: none succeeds with a file that it shares"
for ((i = 0; i < 5; i++)); do
	for name in a b c; do
		"$PERF" record -e cpu-clock:u -o "$out/data" -- sh -c ": $name; sleep 0.2" \
			2> "$work/$name.err" &
		eval "$name=$!"
	done
	ok=0
	for name in a b c; do
		wait "${!name}" && ok=$((ok + 1))
	done
	# Those that began after another had ended renamed its file.
	files=("$out"/data*)
	((ok >= 1)) || error "all recorders failed: $(cat "$work"/[abc].err)"
	((${#files[@]} >= (ok < 2 ? ok : 2))) ||
		error "$ok recorders succeed, with ${#files[@]} files: $(cat "$work"/[abc].err)"
	readable "${files[@]}" || error "a file cannot be read"
	rm -f "$out"/*
done

# is_delayed PID: does strace hold the process in one system call?
is_delayed() {
	local state before

	before=$(cat "/proc/$1/syscall" 2> /dev/null)
	for ((n = 0; n < 5; n++)); do
		state=$(awk '{ print $3 }' "/proc/$1/stat" 2> /dev/null)
		[ "$state" = t ] && [ "$(cat "/proc/$1/syscall" 2> /dev/null)" = "$before" ] ||
			return
		sleep 0.01
	done
}

subtest "a file that is completed while another recorder is about to create it is not replaced"
if ! strace -o /dev/null true 2> "$work/strace.err"; then
	inconclusive "strace does not run here: $(head -n 1 "$work/strace.err")"
else
	# Hold the first recorder where it creates its file. Others wait for it for two seconds, and
	# then go on unprotected.
	strace -o /dev/null -P "$out/data" -e trace=openat -e inject=openat:delay_enter=500000 \
		"$PERF" record -B -e cpu-clock:u -o "$out/data" -- true 2> "$work/a.err" &
	slow=$!
	until is_delayed "$(pgrep -P $slow)"; do
		kill -0 $slow || break
	done
	ok=0
	"$PERF" record -B -e cpu-clock:u -o "$out/data" -- true 2> "$work/b.err" && ok=1
	wait $slow && ok=$((ok + 1))
	files=("$out"/data*)
	((ok >= 1)) || error "both recorders failed: $(cat "$work"/[ab].err)"
	((${#files[@]} == ok)) || error "$ok recorders succeed, with ${#files[@]} files"
	readable "${files[@]}" || error "a file cannot be read"
	rm -f "$out"/*
fi

subtest "the file is moved: it keeps its new name, and nothing else is renamed"
recorder_start -e cpu-clock:u -o "$out/data" --switch-output
mv "$out/data" "$out/moved"
echo other > "$out/data"
recorder_stop
reports -E "$out/data was moved while perf wrote to it"
[ "$(cat "$out/data")" = other ] || error "a file of another program was replaced"
readable "$out/moved" || error "the moved file cannot be read"
rm -f "$out"/*

for options in "" --switch-output; do
	subtest "the file is deleted, ${options:-without --switch-output}: the recording fails"
	# shellcheck disable=SC2086 # no word, or one
	recorder_start -e cpu-clock:u -o "$out/data" $options
	rm "$out/data"
	control stop
	recorder_end
	[ "$status" = 255 ] || error "exit status $status, not 255"
	reports -E "$out/data was deleted while perf wrote to it"
	! grep 'Captured and wrote' "$work/record.err" || error "the summary claims a file"
done

subtest "a file that cannot be renamed: the recording goes on, and fails in the end"
if ! strace -o /dev/null true 2> "$work/strace.err"; then
	inconclusive "strace does not run here: $(head -n 1 "$work/strace.err")"
else
	wrapper=(strace -o /dev/null -e trace=renameat2 -e inject=renameat2:error=EIO:when=1)
	recorder_start -e cpu-clock:u -o "$out/data" --switch-output
	control snapshot && error "acknowledged although the file has no name"
	reports -E "Cannot rename $out/data to .*: Input/output error"
	control ping || error "the recording has ended"
	control stop
	recorder_end
	[ "$status" = 255 ] || error "exit status $status, not 255"
	wrapper=()
fi

subtest "a name that has no space for the suffix of completed files is refused"
long=$out/$(printf '%0250d' 0)
for option in --switch-output --timestamp-filename; do
	"$PERF" record -e cpu-clock:u -o "$long" $option -- true 2> "$work/record.err" &&
		error "$option: no error"
	reports -E "^-o $long: .* too long"
done
"$PERF" record -q -e cpu-clock:u -o "$long" -- true || error "refused without a suffix"
rm -f "$out"/*

subtest "a file that cannot be created: the one before keeps its name"
"$PERF" record -q -e cpu-clock:u -o "$out/data" -- true
before=$(stat -c %i "$out/data")
for ((limit = 10; limit < 200; limit++)); do
	(
		ulimit -n $limit
		"$PERF" record -e cpu-clock:u -o "$out/data" -- true 2> "$work/record.err"
	) && break
	[ "$(stat -c %i "$out"/*)" = "$before" ] && [ -e "$out/data" ] || {
		error "with $limit descriptors, there is $(ls "$out")"
		break
	}
	grep -q "Cannot create the output file $out/data" "$work/record.err" && created=no
done
[ "${created-}" = no ] || inconclusive "no limit of descriptors prevents the creation"
rm -f "$out"/*

subtest "a device is neither renamed nor replaced"
if ! mknod "$out/null" c 1 3 2> "$work/mknod.err" || ! true 2> "$work/mknod.err" > "$out/null"; then
	inconclusive "no devices in $work: $(cat "$work/mknod.err")"
else
	for event in page-faults:u page-faults/overwrite/u; do
		recorder_start -e $event -o "$out/null" --switch-output
		for i in 1 2; do
			control snapshot || error "no snapshot: $answer"
			[[ $answer = "ack $out/null"* ]] || error "the answer is '$answer'"
		done
		recorder_stop
	done
	"$PERF" record -q -e page-faults:u -o "$out/null" --timestamp-filename -- true ||
		error "exit status $?"
	[ -c "$out/null" ] && [ "$(ls "$out")" = null ] || error "there is $(ls -l "$out")"
fi
rm -f "$out"/*

subtest "a recording that fails removes no symbolic link"
ln -s "$out/data" "$out/link"
ln -s /proc/self/fd/1 "$out/stdout"
for link in link stdout; do
	"$PERF" record -e page-faults:u -o "$out/$link" -- "$work/missing" \
		> "$out/of_the_shell" 2> "$work/record.err" && error "no error"
	[ -L "$out/$link" ] || error "$link is removed"
done
[ ! -s "$out/data" ] || error "$(stat -c %s "$out/data") bytes are left behind the link"
[ ! -s "$out/of_the_shell" ] || error "bytes are left in standard output"
"$PERF" record -q -e page-faults:u -o "$out/link" -- true || error "exit status $?"
readable "$out/data" || error "the link does not lead to the recording"
rm -f "$out"/*

subtest "a directory that may be written, but not read"
if [ "$(id -u)" != 0 ] || ! command -v setpriv > /dev/null; then
	inconclusive "needs root and setpriv"
else
	chmod 755 "$work"
	chmod 733 "$out"
	setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'cd "$1" && "$2" record \
		-e task-clock:u -o data --switch-output -- true' sh "$out" "$PERF" \
		2> "$work/record.err"
	status=$?
	if ! grep -q '\[ perf record:' "$work/record.err"; then
		inconclusive "the user cannot record: $(head -n 1 "$work/record.err")"
	else
		[ $status = 0 ] || error "exit status $status: $(cat "$work/record.err")"
	fi
fi

finish
