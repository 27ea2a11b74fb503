# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # used, and set, by those who source this
# Convert files by perf data convert, and make the recordings that each format is tested with.
#
# The test sets $format, which follows --to-, and $output, the converted file.

[ -z "${convert_sh-}" ] || return 0
convert_sh=1
. "${BASH_SOURCE[0]%/*}/numbered.sh"

# convert FILE [options]: convert it to $output; $work/convert.err has the messages
convert() {
	local file=$1

	shift
	rm -f "$output"
	"$PERF" data convert -f -i "$file" "--to-$format=$output" "$@" 2> "$work/convert.err" &&
		return
	error "cannot convert ${file##*/}: $(< "$work/convert.err")"
	return 1
}

# said TEXT: check that the converter printed this
said() {
	grep -q "$1" "$work/convert.err" || error "not said: $1; but: $(< "$work/convert.err")"
}

# fails MESSAGE [options]: check that the conversion of $work/system fails with this message
fails() {
	local message=$1

	shift
	timeout 200 "$PERF" data convert -i "$work/system" "$@" > /dev/null \
		2> "$work/convert.err" &&
		error "no failure: $*"
	grep -q "$message" "$work/convert.err" || error "$*: $(< "$work/convert.err")"
}

# Check the errors that all formats have in common, and that none leaves a file.
common_failures() {
	local new=$work/new status

	touch "$work/exists"
	fails 'Cannot create .*File exists; --force' "--to-$format=$work/exists"
	fails 'Cannot create .*No such file' "--to-$format=$work/none/trace"
	fails 'Cannot write /dev/full: No space' "--to-$format=/dev/full" --force
	fails 'Cannot read .*/none' -i "$work/none" "--to-$format=$new"
	fails 'more than one --to' "--to-$format=$new" --to-json="$work/new.json"
	fails 'Cannot use --all' --all "--to-$format=$new"
	fails 'Cannot use --tod' --tod "--to-$format=$new"
	head -c $(($(stat -c %s "$work/system") / 2)) "$work/system" > "$work/truncated"
	timeout 200 "$PERF" data convert -i "$work/truncated" "--to-$format=$new" \
		2> "$work/convert.err"
	status=$?
	((status < 124 || status == 255)) || error "a truncated file crashes perf: status $status"
	[ "$(grep -c 'The file is truncated' "$work/convert.err")" = 1 ] ||
		error "not one message: $(< "$work/convert.err")"
	rm -f "$new"
	rm -f "$work/exists"
	cp "$work/system" "$work/own"
	ln -s own "$work/link"
	fails 'Cannot write to .*/link: it is the input' -i "$work/own" "--to-$format=$work/link" \
		--force
	cmp -s "$work/system" "$work/own" || error "the input is overwritten"
	if mount_small "$work/small" 4k; then
		fails 'Cannot write .*No space' "--to-$format=$work/small/trace"
		[ -z "$(ls -A "$work/small")" ] || error "left: $(ls -A "$work/small")"
		# /dev/stdout is such a link
		ln -sf small/trace "$work/link"
		fails 'Cannot write .*No space' "--to-$format=$work/link" --force
		[ -L "$work/link" ] || error "a failed conversion removes a link"
	fi
	(
		ulimit -f 1
		fails 'Cannot write .*File too large' "--to-$format=$new"
		exit "$result_errors"
	) || error "no error beyond ulimit -f"
	[ ! -e "$new" ] || error "a failed conversion leaves a file"
}

# record_losses: record 2 x 1009 numbered calls to $work/losses, of which some are lost; set
# $records and $in_all to the numbers of records of losses, and of lost events
record_losses() {
	numbered_event
	perf_record -o "$work/losses" -B -m 1 --no-threads -a "${event[@]}" \
		-- "$work/$comm" --threads 2 --count 1009 --idle --burst 61 --rate 20000
	"$PERF" loss --json "$work/losses" > "$work/loss.json"
	read -r records in_all < <(python3 -c "import json
loss = json.load(open('$work/loss.json')); print(loss['lost_records'], loss['lost'])")
	((in_all > 0)) || inconclusive "no event was lost"
}

# record_kept: take a snapshot of 997 numbered calls with --keep; ${snapshots[0]} is the file
record_kept() {
	numbered_event
	recorder_start "${event[@]}" -e sched:sched_wakeup -a --keep=60s,32M --switch-output \
		-o "$work/kept"
	numbered_calls 1 997
	control snapshot || error "no snapshot"
	recorder_stop "$work/kept"
}

# record_addresses: record kmem:kfree to $work/addresses; its call_site is an unsigned number and an
# address of the kernel
record_addresses() {
	if has_tracepoint kmem:kfree; then
		perf_record -o "$work/addresses" -e kmem:kfree -- true
	else
		inconclusive "no kmem:kfree"
		return 1
	fi
}

# convert_pipe: record 499 numbered calls to a pipe, of which $work/piped is a copy, and convert
# that from a pipe to a pipe
convert_pipe() {
	numbered_event
	"$PERF" record -a -o - "${event[@]}" \
		-- sh -c "'$work/$comm' --threads 1 --count 499 --idle > '$work/issued'" \
		2> "$work/record.err" | cat > "$work/piped"
	"$PERF" data convert -i - "--to-$format=-" < <(cat "$work/piped") 2> "$work/convert.err" |
		cat > "$output"
	[ "${PIPESTATUS[0]}" = 0 ] && return
	error "cannot convert a pipe: $(< "$work/convert.err")"
	return 1
}
