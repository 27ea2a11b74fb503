#!/bin/bash
# perf record: attributes have the smallest published size, and older perf reads the file
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# tags: parallel
#
# The attributes in a file have the smallest published size that holds all fields which are set, so
# that an older perf opens every file whose fields it knows.
#
# Environment: PERF, the perf under test; OLD_PERF, the one that must read its files.

. "$(dirname "$0")/lib/harness.sh"

need perf
perf=$(command -v "$PERF")
old=$(command -v "${OLD_PERF:-/usr/bin/perf}")
if [ -z "${old}" ] || ! "${old}" --version >/dev/null 2>&1; then
	skip "no older perf: ${OLD_PERF:-/usr/bin/perf}"
fi

tmp=${work}

# flat WORDS...: on one line, with one space between words.
flat() {
	echo "$*" | tr -s ' \n' ' ' | sed 's/ $//'
}

failed() {
	error "$(flat "$@")"
	sed 's/^/#     /' "${tmp}/log" 2>/dev/null | tail -n 5
}

# run COMMAND...: run perf with a time limit
run() {
	timeout 300 "$@" 2>"${tmp}/log"
}

# Tens of milliseconds of user time, a few context switches.
cat >"${tmp}/busy" <<'BUSY'
#!/bin/bash
for ((i = 0; i < 15000; i++)); do :; done
sleep 0.01
BUSY
chmod +x "${tmp}/busy"

# field OFFSET BYTES FILE: print the unsigned number there, or 0
field() {
	local value

	value=$(od -An -t "u$2" -j "$1" -N "$2" "$3" 2>/dev/null | tr -d ' ')
	echo "${value:-0}"
}

# attr_size FILE: print the size of an attribute in the file [bytes]. The header counts the 16 bytes
# of the id section that follows each attribute.
attr_size() {
	echo $(($(field 16 8 "$1") - 16))
}

# events PERF FILE: print the number of samples of each event, or nothing if the file is refused
events() {
	run "$1" script "${no_symbols[@]}" -F event -i "$2" | tr -d ' ' | sort | uniq -c
}

# samples PERF FILE: print the number of samples that perf report finds
samples() {
	run "$1" report "${no_symbols[@]}" --stats -i "$2" |
		sed -n 's/^ *SAMPLE events: *\([0-9]*\).*/\1/p' | head -n 1
}

# same_reading FILE [MIN]: check that both perfs find the same samples, at least MIN
same_reading() {
	local file=$1 min=${2:-1}
	local ours theirs n

	ours=$(events "${perf}" "${file}")
	theirs=$(events "${old}" "${file}")
	n=$(samples "${perf}" "${file}")
	note "$(flat "${n:-no} samples:" "${ours}")"
	if [ "${n:-0}" -lt "${min}" ]; then
		failed "${n:-no} samples, wanted ${min}"
		return 1
	fi
	if [ "${ours}" != "${theirs}" ]; then
		failed "script of the older perf differs:" "${theirs:-nothing}" "| ours:" "${ours}"
		return 1
	fi
	theirs=$(samples "${old}" "${file}")
	if [ "${n:-0}" != "${theirs:-0}" ]; then
		failed "report of the older perf has ${theirs:-no} of ${n:-no} samples"
		return 1
	fi
	return 0
}

# check_file FILE SIZE [MIN]: check that attributes have SIZE bytes, wherever they are written, and
# that the older perf reads the file as ours does
check_file() {
	local file=$1 size=$2 min=${3:-1}
	local is desc ours theirs

	is=$(attr_size "${file}")
	if [ "${is}" != "${size}" ]; then
		failed "attr size ${is}, not ${size}"
		return
	fi
	desc=$(run "${perf}" evlist -v -i "${file}" | grep -o ' size: [0-9]*' | sort -u)
	if [ "${desc}" != " size: ${size}" ]; then
		failed "evlist says" "${desc:-nothing}" "and not size: ${size}"
		return
	fi
	same_reading "${file}" "${min}" || return

	# Where the file has no names, the older perf appends the default modifier.
	ours=$(run "${perf}" evlist -i "${file}")
	theirs=$(run "${old}" evlist -i "${file}" | sed 's/:HG$//')
	if [ -z "${ours}" ] || [ "${ours}" != "${theirs}" ]; then
		failed "evlist of the older perf differs:" "${theirs:-nothing}"
		return
	fi
	if ! run "${old}" report "${no_symbols[@]}" --stdio -i "${file}" >/dev/null; then
		failed "report of the older perf fails"
		return
	fi
}

# check_desc FILE SIZE: check the size in the event descriptions. It is independent of the
# attributes, and perf inject copies it: only for recorded files.
check_desc() {
	local file=$1 size=$2
	local reader desc

	for reader in "${perf}" "${old}"; do
		desc=$(run "${reader}" report --header-only -I -i "${file}" |
		       grep '^# event :' | grep -o ' size = [0-9]*' | sort -u)
		if [ "${desc}" != " size = ${size}" ]; then
			failed "${reader} finds" "${desc:-nothing}" "in the event descriptions"
			return
		fi
	done
}

# session NAME SIZE MIN ARGS...: record with ARGS, then check the file
session() {
	local name=$1 size=$2 min=$3

	shift 3
	subtest "${name}"
	if ! run "${perf}" record -q -o "${tmp}/data" "$@" "${tmp}/busy" >/dev/null; then
		inconclusive "cannot record: $(grep -m 1 . "${tmp}/log")"
		return
	fi
	check_file "${tmp}/data" "${size}" "${min}"
	check_desc "${tmp}/data" "${size}"
}

# All sessions need this one.
if ! run "${perf}" record -q -e task-clock -o "${tmp}/ours" "${tmp}/busy" >/dev/null; then
	skip "cannot record task-clock: $(grep -m 1 . "${tmp}/log")"
fi

regs=$(run "${perf}" record --user-regs='?' 2>&1; cat "${tmp}/log")
regs=$(echo "${regs}" | tr '[:upper:]' '[:lower:]' | grep -ow -e sp -e r1 | head -n 1)

session "task-clock" 64 1 -e task-clock
session "two events" 64 2 -e task-clock -e cpu-clock
session "system wide" 64 1 -a -e cpu-clock
session "call graph" 64 1 -g -e task-clock
session "breakpoint with a length" 72 0 -e mem:0x1000/4:rw
session "-k monotonic" 96 1 -k monotonic -e task-clock
session "call graph from dwarf" 96 1 --call-graph dwarf,1024 -e task-clock
if [ -n "${regs}" ]; then
	session "user registers" 96 1 --user-regs="${regs}" -e task-clock
	session "registers at the interrupt" 104 1 --intr-regs="${regs}" -e task-clock
else
	subtest "user registers"
	inconclusive "perf knows none of this architecture"
fi
session "max-stack" 112 1 -e task-clock/call-graph=fp,max-stack=8/
session "the largest decides, last" 112 2 -e cpu-clock -e task-clock/call-graph=fp,max-stack=8/
session "the largest decides, first" 112 2 -e task-clock/call-graph=fp,max-stack=8/ -e cpu-clock

if [ "$(id -u)" != 0 ]; then
	subtest "tracepoints"
	inconclusive "needs root"
else
	session "tracepoints" 64 1 -a --bpf-ring=no -e 'sched:*'
	session "tracepoints and -k monotonic" 96 2 -a -k monotonic -e 'sched:*' -e cpu-clock
fi

# An attribute that needs the last field is written with it.
subtest "config3"
if run "${perf}" record -q -o "${tmp}/data" -e cpu-clock/config3=5/ "${tmp}/busy" >/dev/null; then
	is=$(attr_size "${tmp}/data")
	config3=$(field $(($(field 24 8 "${tmp}/data") + 128)) 8 "${tmp}/data")
	if [ "${is}" != 136 ] || [ "${config3}" != 5 ]; then
		failed "attr size ${is}, not 136, or ${config3} in it, not 5"
	fi
else
	inconclusive "the kernel refuses it"
fi

# Pipes, between the two perfs and within one
subtest "pipe"
run "${perf}" record -q -e task-clock -e cpu-clock -o - "${tmp}/busy" >"${tmp}/pipe"
same_reading "${tmp}/pipe" 2

subtest "pipe into the older perf"
run "${perf}" record -q -e task-clock -o - "${tmp}/busy" |
	run "${old}" script -i - | grep -q task-clock || failed "no samples"

# An attribute of an older perf may be shorter: the bytes that follow are not part of it. This is
# checked below, by the size that perf inject writes.
subtest "pipe from the older perf"
if run "${old}" record -q -e task-clock -e cpu-clock -o - "${tmp}/busy" >"${tmp}/oldpipe"; then
	same_reading "${tmp}/oldpipe" 2
else
	inconclusive "the older perf cannot record to a pipe"
fi

# perf inject: from and to files and pipes, of either perf by either perf

# injected NAME BY IN SIZE ARGS...: inject from file to file, check the attributes and the number of
# samples
injected() {
	local name=$1 by=$2 in=$3 size=$4
	local before after

	shift 4
	subtest "${name}"
	rm -f "${tmp}/out"
	if ! run "${by}" inject "$@" -i "${in}" -o "${tmp}/out"; then
		failed "perf inject fails"
		return
	fi
	# Mainline takes the end of an older perf's features for a feature that it has added.
	run "${perf}" script -F event -i "${tmp}/out" >/dev/null
	if grep -q 'Invalid HEADER_.*: section too small (0)' "${tmp}/log"; then
		inconclusive "perf misreads the features: $(grep -m 1 Invalid "${tmp}/log")"
		return
	fi
	before=$(samples "${perf}" "${in}")
	after=$(samples "${perf}" "${tmp}/out")
	if [ "${before:-none}" != "${after:-0}" ]; then
		failed "${after:-no} of ${before:-no} samples in the output"
		return
	fi
	check_file "${tmp}/out" "${size}"
}

# piped NAME BY IN: inject from a file, or the content of a pipe, to a pipe
piped() {
	local name=$1 by=$2 in=$3
	local before after at have want

	subtest "${name}"
	if ! run "${by}" inject -b -i "${in}" -o - >"${tmp}/out"; then
		failed "perf inject fails"
		return
	fi
	before=$(events "${perf}" "${in}")
	after=$(events "${perf}" "${tmp}/out")
	if [ -z "${before}" ] || [ "${before}" != "${after}" ]; then
		failed "${before:-nothing}" "becomes" "${after:-nothing}"
		return
	fi
	# A pipe is copied. The attributes of a file become records: attr.size bytes, then the ids,
	# and no other byte.
	if [ "$(field 8 8 "${in}")" != 16 ]; then
		at=$(($(field 24 8 "${in}") + $(attr_size "${in}")))
		want=$(field $((at + 8)) 8 "${in}")
		have=$(($(field 22 2 "${tmp}/out") - 8 - $(field 28 4 "${tmp}/out")))
		if [ "$(field 16 4 "${tmp}/out")" != 64 ] || [ "${have}" != "${want}" ]; then
			failed "${have} bytes after the first attr, not ${want} of ids"
			return
		fi
	fi
	same_reading "${tmp}/out"
}

run "${perf}" record -q -e task-clock -e cpu-clock -o "${tmp}/ours" "${tmp}/busy" >/dev/null
run "${perf}" record -q -k monotonic -e task-clock -e cpu-clock -o "${tmp}/ours96" "${tmp}/busy" \
	>/dev/null

injected "inject, ours by ours" "${perf}" "${tmp}/ours" 64 -b
injected "inject, -k monotonic" "${perf}" "${tmp}/ours96" 96 -b
cp "${tmp}/out" "${tmp}/again"
injected "inject, a second time" "${perf}" "${tmp}/again" 96 -b
injected "inject --itrace=i, which adds events" "${perf}" "${tmp}/ours" 64 --itrace=i
piped "inject to a pipe, ours by ours" "${perf}" "${tmp}/ours"
piped "inject from pipe to pipe, ours by ours" "${perf}" "${tmp}/pipe"
injected "inject from a pipe, ours by ours" "${perf}" "${tmp}/pipe" 64 -b

if run "${old}" record -q -e task-clock -e cpu-clock -o "${tmp}/old" "${tmp}/busy" >/dev/null; then
	injected "inject, theirs by ours" "${perf}" "${tmp}/old" 64 -b
	piped "inject to a pipe, theirs by ours" "${perf}" "${tmp}/old"
fi
if [ -s "${tmp}/oldpipe" ]; then
	injected "inject from a pipe, theirs by ours" "${perf}" "${tmp}/oldpipe" 64 -b
	piped "inject from pipe to pipe, theirs by ours" "${perf}" "${tmp}/oldpipe"
fi

# The older perf writes attributes of its own size.
subtest "inject, ours by theirs"
if [ "$(field 76 4 "${tmp}/ours")" != 0 ]; then
	# The older perf cannot complete the header of a file with features above 31.
	inconclusive "the older perf cannot copy the features that mainline has added"
elif run "${old}" inject -b -i "${tmp}/ours" -o "${tmp}/out"; then
	same_reading "${tmp}/out" 2
else
	failed "perf inject fails"
fi

note "the older perf is $("${old}" --version)"
finish
