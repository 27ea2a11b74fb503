#!/bin/bash
# The guest runs commands, and tells when they or its kernel fail
# SPDX-License-Identifier: GPL-2.0-only
# needs: kernel
# timeout: 400
#
# Environment: KERNEL, the kernel to boot; PERF, the perf to run in it.

set -u

here=$(dirname "$(realpath "$0")")
top=${here%/tools/testing/vm/tests}
export BUILD=${BUILD:-${top}/build}
export VM_DIR=${BUILD}/vm/selftest VM_TIMEOUT=120
image=${KERNEL:-${BUILD}/kernel}/arch/x86/boot/bzImage

skip() {
	echo "1..0 # SKIP $1"
	exit 4
}

[ -e "${image}" ] || skip "no ${image}: make kernel builds it"
command -v qemu-system-x86_64 >/dev/null || skip 'no qemu-system-x86_64: make deps installs it'

count=0
result() {		# result STATUS DESCRIPTION: a line of TAP
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok ${count} - $2"
	else
		echo "not ok ${count} - $2"
	fi
}

check() {		# check DESCRIPTION COMMAND...
	local what=$1
	shift
	"$@"
	result $? "${what}"
}

# guest COMMAND: runs it in the guest; sets out, err, status and seconds
guest() {
	local start=${SECONDS}

	out=$("${here}/../run" "$1" 2>"${VM_DIR}/stderr")
	status=$?
	err=$(cat "${VM_DIR}/stderr")
	seconds=$((SECONDS - start))
	echo "# guest: ${1%%$'\n'*}: status ${status}, ${seconds} s"
	if [ -n "${out}${err}" ]; then
		printf '%s\n' "${out}" "${err}" | sed '/^$/d; s/^\(.\{100\}\).*/\1 .../; s/^/# | /'
	fi
}

has() {			# has LINE: the guest printed it
	grep -qxF -e "$1" <<<"${out}"
}

said() {		# said TEXT: so did the runner
	grep -qF -e "$1" <<<"${err}"
}

mkdir -p "${VM_DIR}/out"
rm -f "${VM_DIR}"/out/*
echo 'TAP version 13'

# shellcheck disable=SC2016 # for the guest's shell
guest 'true; echo "cpus $(nproc)"
echo "cwd $PWD"
echo "home $HOME, out $VM_OUT"
echo stderr >&2
test -t 1 || echo "no terminal"
for dir in /proc /sys /dev /dev/pts /dev/shm /tmp /run /sys/kernel/debug /sys/kernel/tracing \
	   /sys/fs/bpf /sys/fs/cgroup; do
	mountpoint -q $dir || echo "not mounted: $dir"
done
cmp "$TOP/Makefile" Makefile && echo "same checkout"
echo changed >Makefile && cat Makefile
echo result >"$VM_OUT/result"
ip link show lo | grep -q ,UP && echo "loopback is up"
cat <(echo substitution)
echo 0 >/sys/devices/system/cpu/cpu1/online && echo "cpus $(nproc)"
echo 1 >/sys/devices/system/cpu/cpu1/online
head -c 3000000 /dev/zero | tr "\0" "x" && echo
printf "no newline at the end"'
check 'a command that succeeds' [ "${status}" = 0 ]
check 'two CPUs' has 'cpus 2'
check 'one goes offline' has 'cpus 1'
check 'runs in the checkout' has "cwd ${top}"
check 'its environment' has "home /root, out ${VM_DIR}/out"
check 'stderr is seen' has stderr
check 'stdout is no terminal' has 'no terminal'
check 'all is mounted' [ "${out}" = "${out/not mounted/}" ]
check 'the checkout is there' has 'same checkout'
check 'and can be written to' has changed
check 'but is not changed here' grep -q '^help:' "${top}/Makefile"
check 'but for VM_OUT' grep -qx result "${VM_DIR}/out/result"
check 'loopback is up' has 'loopback is up'
check 'process substitution' has substitution
check 'output is whole' [ ${#out} -gt 3000000 ]
check 'to its last byte' [ "${out%no newline at the end}" != "${out}" ]

guest 'sleep 1000 & exit 7'
check 'the exit status is the command'"'"'s' [ "${status}" = 7 ]
check 'what it leaves behind is not waited for' [ "${seconds}" -lt 60 ]

guest 'echo "WARNING: a test" >/dev/kmsg'
check 'a WARNING on the console fails' [ "${status}" = 1 ]
check 'and is shown' said 'WARNING: a test'

guest 'echo c >/proc/sysrq-trigger; sleep 1000'
check 'a panic fails' [ "${status}" = 1 ]
check 'and is shown' said 'Kernel panic'
check 'at once' [ "${seconds}" -lt 60 ]

VM_TIMEOUT=15 guest 'echo started; sleep 1000'
check 'the time limit' [ "${status}" = 124 ]
check 'with what was printed before' has started

if [ -x "${PERF:=${BUILD}/perf/perf}" ]; then
	guest "cd /tmp && '${PERF}' record -o perf.data -a -e sched:sched_switch/overwrite/ sleep 1 &&
		'${PERF}' script -i perf.data | grep -c sched:sched_switch"
	check 'perf keeps the last events in a ring' [ "${status}" = 0 ]
	check 'and reads them' [ "$(tail -n 1 <<<"${out}")" -gt 10 ]
else
	result 0 "perf # SKIP no ${PERF}"
fi

echo "1..${count}"
