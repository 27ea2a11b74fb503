#!/bin/bash
# perf.data is readable by older perf
# SPDX-License-Identifier: GPL-2.0-only
#
# The attributes in a file take the smallest published size that holds what is
# set in them, so that an older perf opens every file it knows the fields of.
#
# Environment: PERF, the perf under test; OLD_PERF, the one that must read what
# it writes; VERBOSE=1, show what is compared.

set -u

perf=$(command -v "${PERF:-perf}")
old=$(command -v "${OLD_PERF:-/usr/bin/perf}")

if [ -z "${perf}" ]; then
	echo "FAIL: no perf to test: ${PERF:-perf}"
	exit 1
fi
if [ -z "${old}" ] || ! "${old}" --version >/dev/null 2>&1; then
	echo "SKIP: no older perf: ${OLD_PERF:-/usr/bin/perf}"
	exit 2
fi

tmp=$(mktemp -d /tmp/perf-attr-size.XXXXXX) || exit 1

cleanup() {
	rm -rf "${tmp}"
	trap - EXIT
}
trap cleanup EXIT
trap 'cleanup; exit 1' TERM INT

checked=0
failed=0

# flat WORDS...: on one line, with one space between words.
flat() {
	echo "$*" | tr -s ' \n' ' ' | sed 's/ $//'
}

fail() {
	echo "FAIL: $(flat "$@")"
	sed 's/^/    /' "${tmp}/log" 2>/dev/null | tail -n 5
	failed=$((failed + 1))
}

# Every perf is run through these: a hang is a failure and not a lost machine.
run() {
	timeout 60 "$@" 2>"${tmp}/log"
}

note() {
	[ "${VERBOSE:-0}" = 0 ] || echo "    $(flat "$@")"
}

# A quarter of a second of user time, a few context switches.
cat >"${tmp}/busy" <<'BUSY'
#!/bin/bash
for ((i = 0; i < 60000; i++)); do :; done
sleep 0.01
BUSY
chmod +x "${tmp}/busy"

# field OFFSET BYTES FILE: the unsigned number there, or 0.
field() {
	local value

	value=$(od -An -t "u$2" -j "$1" -N "$2" "$3" 2>/dev/null | tr -d ' ')
	echo "${value:-0}"
}

# attr_size FILE: bytes of an attribute in it. The header counts the section of
# the ids that follows each, 16 bytes.
attr_size() {
	echo $(($(field 16 8 "$1") - 16))
}

# events PERF FILE: number of samples of each event, or nothing if the file is
# refused.
events() {
	run "$1" script -F event -i "$2" | tr -d ' ' | sort | uniq -c
}

# samples PERF FILE: number of samples in all, as "perf report" has them.
samples() {
	run "$1" report --stats -i "$2" |
		sed -n 's/^ *SAMPLE events: *\([0-9]*\).*/\1/p' | head -n 1
}

# same_reading NAME FILE [MIN]: both perfs see the same, and at least MIN
# samples.
same_reading() {
	local name=$1 file=$2 min=${3:-1}
	local ours theirs n

	ours=$(events "${perf}" "${file}")
	theirs=$(events "${old}" "${file}")
	n=$(samples "${perf}" "${file}")
	note "${name}: ${n:-no} samples:" "${ours}"
	if [ "${n:-0}" -lt "${min}" ]; then
		fail "${name}: ${n:-no} samples, wanted ${min}"
		return 1
	fi
	if [ "${ours}" != "${theirs}" ]; then
		fail "${name}: script of the older perf differs:" "${theirs:-nothing}" "| ours:" "${ours}"
		return 1
	fi
	theirs=$(samples "${old}" "${file}")
	if [ "${n:-0}" != "${theirs:-0}" ]; then
		fail "${name}: report of the older perf has ${theirs:-no} of ${n:-no} samples"
		return 1
	fi
	return 0
}

# check_file NAME FILE SIZE [MIN]: attributes have SIZE bytes, wherever they are
# written, and the older perf reads the file as ours does.
check_file() {
	local name=$1 file=$2 size=$3 min=${4:-1}
	local is desc ours theirs

	checked=$((checked + 1))
	is=$(attr_size "${file}")
	if [ "${is}" != "${size}" ]; then
		fail "${name}: attr size ${is}, not ${size}"
		return
	fi
	desc=$(run "${perf}" evlist -v -i "${file}" | grep -o ' size: [0-9]*' | sort -u)
	if [ "${desc}" != " size: ${size}" ]; then
		fail "${name}: evlist says" "${desc:-nothing}" "and not size: ${size}"
		return
	fi
	same_reading "${name}" "${file}" "${min}" || return

	ours=$(run "${perf}" evlist -i "${file}")
	theirs=$(run "${old}" evlist -i "${file}")
	if [ -z "${ours}" ] || [ "${ours}" != "${theirs}" ]; then
		fail "${name}: evlist of the older perf differs:" "${theirs:-nothing}"
		return
	fi
	if ! run "${old}" report --stdio -i "${file}" >/dev/null; then
		fail "${name}: report of the older perf fails"
		return
	fi
	echo "ok: ${name}: attr size ${size}"
}

# The event descriptions have a size of their own, which a copied feature
# section keeps: only for files that were recorded.
check_desc() {
	local name=$1 file=$2 size=$3
	local reader desc

	for reader in "${perf}" "${old}"; do
		desc=$(run "${reader}" report --header-only -I -i "${file}" |
		       grep '^# event :' | grep -o ' size = [0-9]*' | sort -u)
		if [ "${desc}" != " size = ${size}" ]; then
			fail "${name}: ${reader} finds" "${desc:-nothing}" "in the event descriptions"
			return
		fi
	done
}

# session NAME SIZE MIN ARGS...: record with ARGS, then check the file.
session() {
	local name=$1 size=$2 min=$3

	shift 3
	if ! run "${perf}" record -q -o "${tmp}/data" "$@" "${tmp}/busy" >/dev/null; then
		echo "skip: ${name}: cannot be recorded here: $(grep -m 1 . "${tmp}/log")"
		return
	fi
	check_file "${name}" "${tmp}/data" "${size}" "${min}"
	check_desc "${name}" "${tmp}/data" "${size}"
}

# The one session that nothing can do without.
if ! run "${perf}" record -q -e task-clock -o "${tmp}/ours" "${tmp}/busy" >/dev/null; then
	echo "SKIP: task-clock cannot be recorded: $(grep -m 1 . "${tmp}/log")"
	exit 2
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
	echo "skip: user registers: none known on this architecture"
fi
session "max-stack" 112 1 -e task-clock/call-graph=fp,max-stack=8/
session "the largest decides, last" 112 2 -e cpu-clock -e task-clock/call-graph=fp,max-stack=8/
session "the largest decides, first" 112 2 -e task-clock/call-graph=fp,max-stack=8/ -e cpu-clock

if [ "$(id -u)" != 0 ]; then
	echo "skip: tracepoints: need root"
else
	session "tracepoints" 64 1 -a -e 'sched:*'
	session "tracepoints and -k monotonic" 96 2 -a -k monotonic -e 'sched:*' -e cpu-clock
fi

# What does need the last field is written with it, whoever can read that.
if run "${perf}" record -q -o "${tmp}/data" -e cpu-clock/config3=5/ "${tmp}/busy" >/dev/null; then
	checked=$((checked + 1))
	is=$(attr_size "${tmp}/data")
	config3=$(field $(($(field 24 8 "${tmp}/data") + 128)) 8 "${tmp}/data")
	if [ "${is}" != 136 ] || [ "${config3}" != 5 ]; then
		fail "config3: attr size ${is}, not 136, or ${config3} in it, not 5"
	else
		echo "ok: config3: attr size 136"
	fi
else
	echo "skip: config3: the kernel refuses it"
fi

# Pipes, between the two perfs and within one.
run "${perf}" record -q -e task-clock -e cpu-clock -o - "${tmp}/busy" >"${tmp}/pipe"
checked=$((checked + 1))
same_reading "pipe" "${tmp}/pipe" 2 && echo "ok: pipe"

if run "${perf}" record -q -e task-clock -o - "${tmp}/busy" |
   run "${old}" script -i - | grep -q task-clock; then
	echo "ok: pipe into the older perf"
else
	fail "pipe into the older perf: no samples"
fi

# An older perf's attribute may be shorter: what follows it is not part of it,
# which shows below, in the size that "perf inject" writes.
if run "${old}" record -q -e task-clock -e cpu-clock -o - "${tmp}/busy" >"${tmp}/oldpipe"; then
	checked=$((checked + 1))
	same_reading "pipe from the older perf" "${tmp}/oldpipe" 2 &&
		echo "ok: pipe from the older perf"
fi

# perf inject: from and to files and pipes, of either perf by either perf.
# injected NAME BY IN SIZE ARGS...: file to file. The number of samples is that
# of the input.
injected() {
	local name=$1 by=$2 in=$3 size=$4
	local before after

	shift 4
	rm -f "${tmp}/out"
	if ! run "${by}" inject "$@" -i "${in}" -o "${tmp}/out"; then
		fail "${name}: perf inject fails"
		return
	fi
	before=$(samples "${perf}" "${in}")
	after=$(samples "${perf}" "${tmp}/out")
	if [ "${before:-none}" != "${after:-0}" ]; then
		fail "${name}: ${after:-no} samples come out of ${before:-no}"
		return
	fi
	check_file "${name}" "${tmp}/out" "${size}"
}

# piped NAME BY IN: IN, a file or the contents of a pipe, to a pipe.
piped() {
	local name=$1 by=$2 in=$3
	local before after at have want

	checked=$((checked + 1))
	if ! run "${by}" inject -b -i "${in}" -o - >"${tmp}/out"; then
		fail "${name}: perf inject fails"
		return
	fi
	before=$(events "${perf}" "${in}")
	after=$(events "${perf}" "${tmp}/out")
	if [ -z "${before}" ] || [ "${before}" != "${after}" ]; then
		fail "${name}:" "${before:-nothing}" "becomes" "${after:-nothing}"
		return
	fi
	# A pipe is passed on as it is. The attributes of a file become records:
	# attr.size bytes, then the ids, and not a byte more.
	if [ "$(field 8 8 "${in}")" != 16 ]; then
		at=$(($(field 24 8 "${in}") + $(attr_size "${in}")))
		want=$(field $((at + 8)) 8 "${in}")
		have=$(($(field 22 2 "${tmp}/out") - 8 - $(field 28 4 "${tmp}/out")))
		if [ "$(field 16 4 "${tmp}/out")" != 64 ] || [ "${have}" != "${want}" ]; then
			fail "${name}: ${have} bytes behind the first attr, not ${want} of ids"
			return
		fi
	fi
	same_reading "${name}" "${tmp}/out" && echo "ok: ${name}"
}

run "${perf}" record -q -e task-clock -e cpu-clock -o "${tmp}/ours" "${tmp}/busy" >/dev/null
run "${perf}" record -q -k monotonic -e task-clock -e cpu-clock -o "${tmp}/ours96" "${tmp}/busy" >/dev/null

injected "inject, ours by ours" "${perf}" "${tmp}/ours" 64 -b
injected "inject, -k monotonic" "${perf}" "${tmp}/ours96" 96 -b
cp "${tmp}/out" "${tmp}/again"
injected "inject, a second time" "${perf}" "${tmp}/again" 96 -b
injected "inject, with room for new events" "${perf}" "${tmp}/ours" 64 --itrace=i
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

# What the older perf makes of our file has the size the older perf writes.
checked=$((checked + 1))
if run "${old}" inject -b -i "${tmp}/ours" -o "${tmp}/out"; then
	same_reading "inject, ours by theirs" "${tmp}/out" 2 && echo "ok: inject, ours by theirs"
else
	fail "inject, ours by theirs: perf inject fails"
fi

echo "${checked} checked, ${failed} failed, older perf is $("${old}" --version)"
[ "${failed}" = 0 ]
