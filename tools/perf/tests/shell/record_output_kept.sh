#!/bin/bash
# perf record --switch-max-files, --switch-max-size, --max-size: which files are kept
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 120

. "$(dirname "$0")/lib/recorder.sh"

need perf numbered shift_clock

out=$work/out/data
copy=$work/copy_file		# a command for --exec-snapshot
cat > "$copy" <<-'END'
	#!/bin/sh
	cp "$1" "$1.copy"
END
chmod +x "$copy"

# next TITLE: begin a subtest with an empty output directory
next() {
	subtest "$*"
	rm -rf "$work/out"
	mkdir "$work/out"
}

# record_one [record options]: write one completed file, $work/out/data.<timestamp>
record_one() {
	perf_record -e cpu-clock:u -o "$out" --timestamp-filename "$@" -- true
}

# kept_are FILE...: check that these are the completed files
kept_are() {
	find_snapshots "$out"
	[ "${snapshots[*]}" = "$*" ] || error "kept ${snapshots[*]##*/}, not ${*##*/}"
}

next "files of earlier runs count, and the oldest are deleted first"
for ((i = 0; i < 5; i++)); do
	record_one
done
find_snapshots "$out"
earlier=("${snapshots[@]}")
record_one --switch-max-files=3
find_snapshots "$out"
kept_are "${earlier[@]:3}" "${snapshots[-1]}"
[ "${snapshots[-1]}" != "${earlier[-1]}" ] || error "the new file is not kept"
readable "${snapshots[@]}" || error "a file cannot be read"

next "files of earlier runs are older than those of this run, whatever their names and times"
record_one
find_snapshots "$out"
mv "${snapshots[0]}" "$out.9999010100000000"
touch -d 2099-01-01 "$out.9999010100000000"
record_one --switch-max-files=1
[ ! -e "$out.9999010100000000" ] || error "the older file is kept"

next "the wall clock is set back: the oldest files are deleted, not the newest"
for ((i = 0; i < 3; i++)); do
	record_one
done
find_snapshots "$out"
for ((i = 0; i < 3; i++)); do
	mv "${snapshots[i]}" "$out.999901010000000$i"
	touch -d 2099-01-01 "$out.999901010000000$i"
done
echo 0 > "$work/shift"
wrapper=(env LD_PRELOAD="$BUILD/tests/shift_clock" CLOCK_SHIFT_FILE="$work/shift")
recorder_start -e page-faults/overwrite/u -o "$out" --switch-output --switch-max-files=5 -- \
	sleep 1000
wrapper=()
names=()
for hours in 0 1 -1 -2 -2; do
	echo "$((hours * 3600))000000000" > "$work/shift"
	control snapshot || error "no snapshot"
	name=${answer#ack } name=${name%% *}
	names+=("$name")
done
recorder_stop "$out"
for name in "${names[@]:1}"; do
	[ -e "$name" ] || error "${name##*/} was deleted, one of the last 5 files"
done
[ "${#snapshots[@]}" = 5 ] || error "${#snapshots[@]} files, not 5: ${snapshots[*]##*/}"

next "other files are neither counted nor deleted"
record_one
find_snapshots "$out"
one=${snapshots[0]}
others=("$out.20261123" "$out.2026112300000000x" "$out.2026112300000000-" "$out.2026112300000000-1x"
	"$out.old" "$work/out/data2.2026112300000000" "$work/out/other")
for i in "${others[@]}"; do
	cp "$one" "$i"
done
echo "not a recording" > "$out.2026112300000001"
mkdir "$out.2026112300000002"
touch "$out.2026112300000002/data" "$out.2026112300000002/important"
ln -s "$work/out/other" "$out.2026112300000003"
mkfifo "$out.2026112300000004"
cp "$one" "$out.2026112300000005"
others+=("$out".202611230000000[1-5])
if [ "$(id -u)" = 0 ]; then
	cp "$one" "$out.2026112300000006"
	chown 65534 "$out.2026112300000006"
	others+=("$out.2026112300000006")
fi
touch -d '2 days ago' "${others[@]}"
exec {locked}< "$out.2026112300000005"
flock "$locked"
record_one --switch-max-files=1
exec {locked}<&-
[ ! -e "$one" ] || error "the earlier file is kept"
for i in "${others[@]}" "$out.2026112300000002/important"; do
	[ -e "$i" ] || error "${i##*/} was deleted"
done
record_one --switch-max-files=1
[ ! -e "$out.2026112300000005" ] ||
	error "the file is kept although no recorder writes to it any more"

next "files with a number behind the timestamp, and directories"
record_one
find_snapshots "$out"
mv "${snapshots[0]}" "$out.2026112300000001-12"
cp -r "$work/out" "$work/copy"
mkdir "$out.2026112300000002"
mv "$work/copy/data.2026112300000001-12" "$out.2026112300000002/data"
record_one --switch-max-files=1
[ ! -e "$out.2026112300000001-12" ] || error "the file with a number is kept"
[ ! -e "$out.2026112300000002" ] || error "the directory is kept"

next "a relative name, and the default name"
(
	cd "$work/out" || exit
	for ((i = 0; i < 3; i++)); do
		"$PERF" record -e cpu-clock:u --timestamp-filename --switch-max-files=2 \
			-- true > "$work/true.out" 2> "$work/record.err"
		"$PERF" record -e cpu-clock:u -o rel --timestamp-filename --switch-max-files=1 \
			-- true 2> "$work/record.err"
	done
)
for i in perf.data:2 rel:1; do
	find_snapshots "$work/out/${i%:*}"
	[ "${#snapshots[@]}" = "${i#*:}" ] || error "${#snapshots[@]} files ${i%:*}, not ${i#*:}"
done

next "--switch-max-size deletes the oldest files, but never the newest"
for ((i = 0; i < 4; i++)); do
	record_one
done
find_snapshots "$out"
earlier=("${snapshots[@]}")
truncate -s 1M "${earlier[@]}"
record_one --switch-max-size=3M
kept_are "${earlier[@]:2}" "$(find "$work/out" -newer "${earlier[3]}" -name 'data.2*')"
record_one --switch-max-size=1B
find_snapshots "$out"
[ "${#snapshots[@]}" = 1 ] || error "${#snapshots[@]} files, not the newest"

next "--exec-snapshot: files that the command has compressed count, those of earlier runs as well"
for ((i = 0; i < 4; i++)); do
	record_one --exec-snapshot gzip
done
find_snapshots "$out"
earlier=("${snapshots[@]}")
[[ ${#earlier[@]} = 4 && ${earlier[0]} = *.gz ]] || error "not compressed: ${earlier[*]##*/}"
truncate -s 1M "${earlier[@]}"
echo note > "${earlier[0]%.gz}.txt"
others=("$out.2026112300000000x.gz" "$out.old.gz" "$work/out/data2.2026112300000000.gz")
touch -d '2 days ago' "${others[@]}"
mkdir "$out.2026112300000000.d"
ln -s "${earlier[0]}" "$out.2026112300000001.gz"
record_one --switch-max-files=1
[ -e "${earlier[0]}" ] || error "compressed files are deleted without --exec-snapshot"
record_one --exec-snapshot gzip --switch-max-size=3M
for i in "${earlier[@]:0:2}" "${earlier[0]%.gz}.txt"; do
	[ ! -e "$i" ] || error "${i##*/} is kept"
done
for i in "${earlier[@]:2}" "${others[@]}" "$out.2026112300000000.d" "$out.2026112300000001.gz"; do
	[ -e "$i" ] || [ -L "$i" ] || error "${i##*/} was deleted"
done

next "--exec-snapshot: a file and what the command made of it are one file of --switch-max-files"
for ((i = 0; i < 3; i++)); do
	record_one --exec-snapshot "$copy" --switch-max-files=2
done
find_snapshots "$out"
[[ ${#snapshots[@]} = 4 && ${snapshots[1]} = "${snapshots[0]}.copy" ]] ||
	error "${#snapshots[@]} files, not two and their copies: ${snapshots[*]##*/}"

next "--exec-snapshot: a file is not deleted while its command runs"
mkfifo "$work/blocked"
cat > "$work/hook" <<-END
	#!/bin/sh
	read -r line < "$work/blocked"
END
chmod +x "$work/hook"
recorder_start -e page-faults/overwrite/u -o "$out" --switch-output --switch-max-files=1 \
	--exec-snapshot "$work/hook" -- sleep 1000
names=()
for ((i = 0; i < 3; i++)); do
	control snapshot || error "no snapshot"
	name=${answer#ack } names+=("${name%% *}")
done
find_snapshots "$out"
[ "${snapshots[*]}" = "${names[*]}" ] ||
	error "left: ${snapshots[*]##*/}, and commands run for ${names[*]##*/}"
exec {blocked}<> "$work/blocked"
yes >&"$blocked" &
hooks_ended() {
	! pgrep -P "$recorder" -f "$work/hook" > "$work/hooks"
}
wait_until 20 hooks_ended || error "the commands do not end"
control snapshot || error "no snapshot"
find_snapshots "$out"
[ "${#snapshots[@]}" = 1 ] || error "${#snapshots[@]} files are left after the commands"
recorder_stop
exec {blocked}<&-

next "record.switch-max-size in perfconfig"
for ((i = 0; i < 4; i++)); do
	record_one
done
printf '[record]\n\tswitch-max-size = 1B\n' > "$work/config"
PERF_CONFIG=$work/config record_one
find_snapshots "$out"
[ "${#snapshots[@]}" = 1 ] || error "${#snapshots[@]} files, not the newest"
printf '[record]\n\tswitch-max-size = many\n' > "$work/config"
PERF_CONFIG=$work/config "$PERF" record -e cpu-clock:u -o "$out" -- true 2> "$work/record.err" &&
	error "a wrong size in perfconfig is accepted"
reports 'record.switch-max-size = many: not a value of --switch-max-size'

next "without --switch-output there is a warning"
for i in files=3 size=1M; do
	perf_record -e cpu-clock:u -o "$out" --switch-max-$i -- true
	reports 'have no effect without --switch-output'
done

# calls COUNT [record options]: stream so many calls, in files of a megabyte
calls() {
	perf_record -o "$out" -m 64 --switch-output=1M -e raw_syscalls:sys_enter/no-overwrite/ \
		"${@:2}" -- "$BUILD/tests/numbered" --threads 1 --rate 200000 --count "$1"
}

next "--max-size counts the files that are kept"
if [ "$(id -u)" = 0 ] && grep -qs . /sys/kernel/tracing/events/raw_syscalls/sys_enter/id; then
	# A file is as large as what is read at once: on a busy machine, several MB.
	calls 300003 --max-size=16M --switch-max-files=1
	! grep -q 'limit' "$work/record.err" || error "deleted files count"
	written=$(sed -n 's/.*Captured and wrote \([0-9]*\).* MB .*/\1/p' "$work/record.err")
	((written >= 16)) || inconclusive "$written MB: the limit was never passed"
	calls 100003 --max-size=3M
	reports 'Size limit of 3.000 MB reached'
else
	inconclusive "needs root and tracepoints"
fi

finish
