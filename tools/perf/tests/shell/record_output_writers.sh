#!/bin/bash
# perf record: each trace writer saves every event, and where io_uring is refused another one does
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 180

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

need_numbered deny_io_uring

out=$work/data
numbered_event

# The rings hold all of these calls, however late the recorder comes
record() {
	echo "--- ${*/#$PERF/perf}"
	"$@" record -v -a -m 2048 "${event[@]}" -o "$out" "${options[@]}" -- "$work/$comm" --count 10007 \
		> "$work/issued" 2> "$work/record.err" || wrong "it ends with status $?"
}

# saved WRITER: by that one, and all of it
saved() {
	grep -q "^Writing to $out by $1\.\$" "$work/record.err" ||
		wrong "not written by $1: $(grep '^Writing to' "$work/record.err")"
	numbered_check "$out" -- --quiet --from-start --expect "$work/issued" || wrong "faults"
	readable "$out" || wrong "the file cannot be read"
	rm -f "$out" "$out.old" "$work/said"
}


uring=uring
"$PERF" record -v -o /dev/null --io=uring -- true 2>&1 | grep -q '^--io=uring:' && uring=sync
echo "io_uring: $uring"

for io in sync aio uring; do
	options=("--io=$io" --write-buffer=1M)
	record "$PERF"
	[ $io = uring ] && io=$uring
	saved $io
done

options=()
record "$PERF"
saved $uring

options=(-z --write-buffer=1M)
record "$PERF"
"$PERF" script -f --header-only -i "$out" > "$work/header" 2>&1
grep -q '^# compressed : Zstd, level = 1, ratio = [1-9]' "$work/header" || wrong "not compressed: $(grep compr "$work/header")"
saved $uring

# What can hardly be compressed
options=(-z -m 32M --call-graph "dwarf,4096")
"$PERF" record -a "${event[@]}" -o "$out" "${options[@]}" -- "$work/$comm" --threads 1 --noise --count 2003 \
	> "$work/issued" 2> "$work/record.err" || wrong "it ends with status $?"
(($(stat -c %s "$out") > 2003 * 3072)) || wrong "no noise is in the file: this shows nothing"
numbered_check "$out" -- --quiet --from-start --expect "$work/issued" || wrong "faults"
if [ "$old_perf" ]; then
	seen=$("$old_perf" script -f -i "$out" -F event 2> "$work/script.err" | wc -l)
	[ "$seen" = 2003 ] || wrong "$("$old_perf" --version) sees $seen samples: $(cat "$work/script.err")"
fi
rm -f "$out"

options=(-z19 --switch-output=100K --no-buildid)
record "$PERF"
find_snapshots "$out"
[ ! -e "$out" ] || snapshots+=("$out")
readable "${snapshots[@]}" || wrong "a file cannot be read"
numbered_check "${snapshots[@]}" -- --quiet --from-start --expect "$work/issued" || wrong "faults"
rm -f "$out"*

echo "--- with several writes under way, and files that are switched"
options=(--aio=4 --switch-output=1M)
record "$PERF"
grep -q "^Writing to $out by aio" "$work/record.err" || wrong "--aio is not aio"
find_snapshots "$out"
[ ! -e "$out" ] || snapshots+=("$out")
((${#snapshots[@]} > 0)) || wrong "no files"
numbered_check "${snapshots[@]}" -- --quiet --from-start --expect "$work/issued" || wrong "faults"
rm -f "$out"*

options=(--aio=9)
record "$PERF"
grep -q 'AIO: 9 control blocks are not possible, 1 to 4 are. Using 4' "$work/record.err" || wrong "--aio=9: no warning"
saved aio

echo "--- where io_uring is refused"
options=()
record "$BUILD/tests/deny_io_uring" "$PERF"
grep -q '^No io_uring here: Operation not permitted' "$work/record.err" || wrong "-v does not say why"
saved sync
options=(--io=uring)
record "$BUILD/tests/deny_io_uring" "$PERF"
grep -q '^--io=uring: Operation not permitted' "$work/record.err" || wrong "no warning"
saved sync

echo "--- perfconfig"
options=()
printf '[record]\n\tio = sync\n' > "$work/config"
PERF_CONFIG=$work/config record "$PERF"
saved sync
printf '[record]\n\taio = 2\n' > "$work/config"
PERF_CONFIG=$work/config record "$PERF"
saved aio
printf '[record]\n\tio = slow\n' > "$work/config"
PERF_CONFIG=$work/config "$PERF" record -o "$out" -- true 2> "$work/record.err" && wrong "record.io = slow is taken"
grep -q 'record.io = slow: must be' "$work/record.err" || wrong "record.io = slow: no message"
printf '[record]\n\taio = many\n' > "$work/config"
PERF_CONFIG=$work/config "$PERF" record -o "$out" -- true 2> "$work/record.err" && wrong "record.aio = many is taken"
grep -q 'record.aio = many: not a number' "$work/record.err" || wrong "record.aio = many: no message"

echo "--- what is none"
for option in --io=fast --aio=many --aio=-1 --write-buffer=10K --write-buffer=many --write-buffer=9999999G; do
	"$PERF" record "$option" -o "$out" -- true 2> "$work/record.err"
	[ $? = 129 ] || wrong "$option is taken"
	grep -qe "^$option: " "$work/record.err" || wrong "$option: no message"
done

finish
