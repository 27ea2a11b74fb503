#!/bin/bash
# perf record --keep-share: a flood in one cgroup does not evict the history of another
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 120
# tags: parallel

. "$(dirname "$0")/lib/numbered.sh"

need_numbered
numbered_event

mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$mount" ] || skip "cgroup2 is not mounted"
grep -qE '^perf_event	0' /proc/cgroups || skip "perf_event is not part of cgroup2"
flood=$mount/$'\e'flood$$ quiet=$mount/quiet$$	# a terminal would act on the first name
mkdir "$flood" "$quiet" 2> "$work/mkdir.err" ||
	skip "cannot create cgroups: $(cat "$work/mkdir.err")"

remove_cgroups() {
	cleanup
	rmdir "$flood" "$quiet"
}
trap remove_cgroups EXIT

# in_cgroup CGROUP COMMAND...: run it there
in_cgroup() (
	echo "$BASHPID" > "$1/cgroup.procs"
	shift
	exec "$@"
)

# record [record options]: record a quiet workload beside a flood
record() {
	local quiet_pid flood_pid

	rm -f "$work"/data*
	recorder_start -v -a "${event[@]}" -o "$work/data" --switch-output --summary=json \
		--keep-share=cgroup "$@"
	in_cgroup "$quiet" "$work/$comm" --idle --threads 1 --tag 1 --rate 100 --duration 600 \
		> "$work/issued" &
	quiet_pid=$!
	in_cgroup "$flood" "$work/$comm" "${flood_options[@]}" --threads 2 --tag 2 > "$work/flood" &
	flood_pid=$!
	started+=("$quiet_pid" "$flood_pid")
	wait "$flood_pid" || fatal "the flood failed"
	# shellcheck disable=SC2046 # one process
	kill -TERM $(cat "$quiet/cgroup.procs")
	wait "$quiet_pid" || fatal "the quiet workload failed"
	control snapshot || error "no snapshot"
	recorder_stop "$work/data"
	grep '"kept"' "$work/record.err" | head -n 1 > "$work/snapshot"
	note "$(cut -c 1-600 "$work/snapshot")"
}

# value NAME: print the first number of this name in the summary of the first snapshot
value() {
	sed -nE "s/[^]]*\"$1\":([0-9.]+).*/\\1/p" "$work/snapshot"
}

# since SECONDS CGROUP: print the calls of the cgroup in the last SECONDS of the snapshot
since() {
	awk -v newest="$(value newest)" -v seconds="$1" -v cgroup="$2" '
		index($0, cgroup) && $1 + 0 > newest - seconds + 0.000001 {
			sub(/^[^(]*/, "")
			print
		}' "$work/all"
}

# check_share: both workloads' calls are there for the stated times, and the others are counted
check_share() {
	local issued dropped kept

	grep -q "\"cgroup\":\"/quiet$$\"" "$work/snapshot" && error "the quiet cgroup lost samples"
	! grep -q '"lost":[1-9]' "$work/record.err" ||
		{ inconclusive "events were lost in three runs"; return; }
	grep -q "\"cgroup\":\"/\\\\u001bflood$$\"" "$work/snapshot" ||
		{ inconclusive "the flood has lost nothing alone: $(cat "$work/snapshot")"; return; }
	fields "${snapshots[0]}" time,cgroup,trace --ns > "$work/all" ||
		error "the file cannot be read"
	"$PERF" script "${no_symbols[@]}" -f -i "${snapshots[0]}" 2> "$work/script.err" |
		grep "BPF string: .*, /?flood$$ " > /dev/null ||
		error "the snapshot does not name the flood, or not by printable characters"
	issued=$(awk '$1 == "thread" { n += $NF } END { print n }' "$work/flood" "$work/issued")
	dropped=$(sed -nE '/"end"/s/.*"dropped_samples":([0-9]+).*/\1/p' "$work/record.err")
	kept=$(grep -cE "/(.flood|quiet)$$" "$work/all")
	note "$issued calls, $dropped dropped, $kept kept"
	((issued == dropped + kept)) ||
		error "of $issued calls, $((dropped + kept)) are accounted for"
	since "$(value complete)" "${flood#"$mount"}" | "$BUILD/tests/numbered_check" --quiet ||
		error "calls of the flood are missing in the stated time"
	since "$(value others_complete)" "/quiet$$" | "$BUILD/tests/numbered_check" --quiet ||
		error "calls of the quiet workload are missing in the stated time"
	((dropped == $(value dropped_samples))) ||
		{ inconclusive "the compressor got too little CPU time: whole blocks were dropped"; return; }
	since 1000 "/quiet$$" | "$BUILD/tests/numbered_check" --quiet --from-start \
		--expect "$work/issued" ||
		error "calls of the quiet workload are missing"
	awk -v flood="$(value complete)" -v others="$(value others_complete)" \
		'BEGIN { exit !(flood < others) }' ||
		error "the flood reaches back as far as the others"
}

subtest "the quiet workload's history is whole, the flood's is short"
flood_options=(--noise --rate 2500 --count 8009)
lossless record --call-graph dwarf,4096 --keep=60s,48M --write-buffer=1M
check_share

subtest "the same with a file that outlives the recorder"
lossless record --call-graph dwarf,4096 --keep=60s,32M --write-buffer=1M --keep-file="$work/box"
check_share

if [ -n "${NIGHT-}" ]; then
	subtest "records that are packed"
	flood_options=(--rate 0 --count 15000017)
	lossless record --keep=60s,40M --write-buffer=1M
	check_share
fi

subtest "samples that BPF writes have their cgroup"
rm -f "$work"/data*
if bpf_ring_works -a --all-cgroups -e raw_syscalls:sys_enter; then
	recorder_start -a --bpf-ring=yes -e raw_syscalls:sys_enter -o "$work/data" --keep=60s,64M \
		--keep-share=cgroup
	in_cgroup "$quiet" "$work/$comm" --threads 1 --tag 7 --count 1009 > "$work/issued" ||
		fatal "the workload failed"
	recorder_stop
	fields "$work/data" comm,cgroup,trace | grep "$comm" > "$work/all"
	grep "/quiet$$" "$work/all" | sed 's/^[^(]*//' |
		"$BUILD/tests/numbered_check" --quiet --from-start --expect "$work/issued" ||
		error "calls of the cgroup are missing"
else
	inconclusive "$no_bpf_ring"
fi

subtest "--keep-share needs --keep, compression, and a word that it knows"
for options in --keep-share=cgroup "--keep --keep-share=cgroup -z0" "--keep --keep-share=user"; do
	# shellcheck disable=SC2086 # several options
	"$PERF" record -a -e cpu-clock $options -o "$work/data" -- true > "$work/record.out" \
		2> "$work/record.err" &&
		error "accepted: $options"
	grep -q -- '--keep-share' "$work/record.err" || error "$options: $(cat "$work/record.err")"
done

finish
