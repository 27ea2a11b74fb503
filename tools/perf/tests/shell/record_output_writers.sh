#!/bin/bash
# perf record --io, --aio, -z: every back end writes all events; without io_uring another one is used
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 180

. "$(dirname "$0")/lib/numbered.sh"

need_numbered deny

out=$work/data
numbered_event

# The rings hold all of these calls: none is lost, however late they are drained.
record() {
	subtest "record ${options[*]:-without options}$about"
	"$@" record -v -a -m 2048 "${event[@]}" -o "$out" "${options[@]}" -- "$work/$comm" --idle \
		--count 5003 \
		> "$work/issued" 2> "$work/record.err" || error "perf record exits with status $?"
}

# saved BACK_END: check that this one wrote the file, and that the file has all calls
saved() {
	grep -q "^Writing to $out by $1\.\$" "$work/record.err" ||
		error "not written by $1: $(grep '^Writing to' "$work/record.err")"
	all_there "$out"
	readable "$out" || error "the file cannot be read"
	rm -f "$out" "$out.old"
}

about=
uring=uring
"$PERF" record -v -o /dev/null --io=uring -- true 2>&1 | grep -q '^--io=uring:' && uring=sync
note "back end instead of io_uring: $uring"

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
grep -q '^# compressed : Zstd, level = 1, ratio = [1-9]' "$work/header" ||
	error "not compressed: $(grep compr "$work/header")"
saved $uring

# Stacks of noise, which can hardly be compressed
subtest "record -z of noise"
options=(-z -m 32M --call-graph "dwarf,4096")
perf_record -a "${event[@]}" -o "$out" "${options[@]}" -- "$work/$comm" --threads 1 --noise \
	--count 2003
(($(stat -c %s "$out") > 2003 * 3072)) || inconclusive "the file is smaller than the noise"
all_there "$out"
if [ "$old_perf" ]; then
	seen=$("$old_perf" script -f -i "$out" -F event 2> "$work/script.err" | wc -l)
	[ "$seen" = 2003 ] ||
		error "$("$old_perf" --version) finds $seen samples: $(cat "$work/script.err")"
fi
rm -f "$out"

# written_directly OPTION...: record, and print how many blocks io_uring has written directly
written_directly() {
	"$PERF" record -v -a -m 32M --call-graph "dwarf,4096" "${event[@]}" -o "$out" "$@" -- \
		"$work/$comm" --threads 1 --noise --count 2003 > "$work/issued" \
		2> "$work/record.err" &&
		numbered_check "$out" -- --quiet --from-start --expect "$work/issued" > /dev/null &&
		sed -n 's/^File queue: .* chunks (\([0-9]*\) direct.*/\1/p' "$work/record.err"
	rm -f "$out"
}

# Linux 6.1 tells which files take direct I/O, first for these file systems.
subtest "full blocks are written directly, unless the file is read back"
if [ $uring = sync ]; then
	inconclusive "no io_uring"
elif ! stat -f -c %T "$work" | grep -qx -e ext2/ext3 -e xfs -e f2fs ||
	[ "$(printf '%s\n' 6.1 "$(uname -r)" | sort -V | head -n 1)" != 6.1 ]; then
	inconclusive "$(stat -f -c %T "$work") on Linux $(uname -r) may not tell that it takes direct I/O"
else
	nr=$(written_directly -B)
	((nr > 0)) || error "-B: '$nr' blocks were written directly"
	nr=$(written_directly)
	[ "$nr" = 0 ] || error "read back: '$nr' blocks were written directly"
fi

options=(-z19 --switch-output=100K --no-buildid)
record "$PERF"
find_snapshots "$out"
[ ! -e "$out" ] || snapshots+=("$out")
readable "${snapshots[@]}" || error "a file cannot be read"
all_there "${snapshots[@]}"
rm -f "$out"*

# Several writes in flight while files are switched
options=(--aio=4 --switch-output=1M)
record "$PERF"
reports "^Writing to $out by aio"
find_snapshots "$out"
[ ! -e "$out" ] || snapshots+=("$out")
((${#snapshots[@]} > 0)) || error "no files"
all_there "${snapshots[@]}"
rm -f "$out"*

options=(--aio=9)
record "$PERF"
reports -- '--aio: cannot use 9 control blocks, only 1 to 4. Using 4'
saved aio

about=", io_uring refused"
options=()
record "$BUILD/tests/deny" io_uring_setup -- "$PERF"
reports '^io_uring is not available: Operation not permitted'
saved sync
options=(--io=uring)
record "$BUILD/tests/deny" io_uring_setup -- "$PERF"
reports '^Cannot use --io=uring: Operation not permitted'
saved sync

options=()
about=", record.io = sync"
printf '[record]\n\tio = sync\n' > "$work/config"
PERF_CONFIG=$work/config record "$PERF"
saved sync
about=", record.aio = 2"
printf '[record]\n\taio = 2\n' > "$work/config"
PERF_CONFIG=$work/config record "$PERF"
saved aio
subtest "invalid values in perfconfig"
for setting in "io = slow" "aio = many"; do
	printf '[record]\n\t%s\n' "$setting" > "$work/config"
	PERF_CONFIG=$work/config "$PERF" record -o "$out" -- true 2> "$work/record.err" &&
		error "record.$setting is accepted"
	grep -q "record.$setting: not a value of --" "$work/record.err" ||
		error "record.$setting: no message"
done

subtest "invalid values of options"
for option in --io=fast --aio=many --aio=-1 --write-buffer=10K --write-buffer=many \
	--write-buffer=9999999G; do
	"$PERF" record "$option" -o "$out" -- true 2> "$work/record.err"
	[ $? = 129 ] || error "$option is accepted"
	grep -qe "^$option: " "$work/record.err" || error "$option: no message"
done

finish
