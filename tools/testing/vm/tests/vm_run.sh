#!/bin/bash
# tools/testing/vm/run: commands in the guest, their exit status, and errors of its kernel
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 400
# tags: parallel
# needs: kernel
#
# Environment: KERNEL, the kernel to boot; PERF, the perf to run in it.

set -u

here=$(dirname "$(realpath "$0")")
top=${here%/tools/testing/vm/tests}
export BUILD=${BUILD:-${top}/build}
export VM_DIR=${BUILD}/vm/selftest VM_TIMEOUT=600
image=${KERNEL:-${BUILD}/kernel}/vmlinux

skip() {
	echo "1..0 # SKIP $1"
	exit 2
}

[ -e "${image}" ] || skip "no ${image} (make kernel)"
command -v qemu-system-x86_64 >/dev/null || skip 'no qemu-system-x86_64 (make deps)'

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

# guest COMMAND: run it in the guest; set out, err, status and seconds
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

has() {			# has LINE: did the guest print it?
	grep -qxF -e "$1" <<<"${out}"
}

runner_printed() {	# runner_printed TEXT: is it in the messages of run?
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
cat <(echo substitution)
echo 0 >/sys/devices/system/cpu/cpu1/online && echo "cpus $(nproc)"
echo 1 >/sys/devices/system/cpu/cpu1/online
head -c 3000000 /dev/zero | tr "\0" "x" && echo
printf "no newline at the end"'
check 'command succeeds' [ "${status}" = 0 ]
check 'the guest has two CPUs' has 'cpus 2'
check 'a CPU goes offline' has 'cpus 1'
check 'working directory is the checkout' has "cwd ${top}"
check 'environment' has "home /root, out ${VM_DIR}/out"
check 'stderr is printed' has stderr
check 'stdout is not a terminal' has 'no terminal'
check 'all file systems are mounted' [ "${out}" = "${out/not mounted/}" ]
check 'the guest sees the checkout' has 'same checkout'
check 'the checkout is writable in the guest' has changed
check 'a write in the guest does not change the host' grep -q '^help:' "${top}/Makefile"
check 'a write to VM_OUT changes the host' grep -qx result "${VM_DIR}/out/result"
check 'process substitution works' has substitution
check '3 MB of output arrive' [ ${#out} -gt 3000000 ]
check 'the last line without a newline arrives' [ "${out%no newline at the end}" != "${out}" ]

guest 'sleep 1000 & exit 7'
check 'exit status of the command' [ "${status}" = 7 ]
check 'run does not wait for background processes' [ "${seconds}" -lt 500 ]

guest 'echo "WARNING: a test" >/dev/kmsg'
check 'exit status is 1 after a WARNING' [ "${status}" = 1 ]
check 'the WARNING is printed' runner_printed 'WARNING: a test'

guest 'echo c >/proc/sysrq-trigger; sleep 1000'
check 'exit status is 1 after a panic' [ "${status}" = 1 ]
check 'the panic is printed' runner_printed 'Kernel panic'
check 'run ends at once after a panic' [ "${seconds}" -lt 500 ]

# On a busy machine the boot takes longer.
for limit in 15 60 240; do
	VM_TIMEOUT=${limit} guest 'echo started; sleep 1000'
	! has started || break
done
check 'exit status is 124 at the time limit' [ "${status}" = 124 ]
check 'output before the time limit is printed' has started

VM_ICOUNT=1 guest 'echo "cpus $(nproc)"; sleep 300'
check 'a guest that counts instructions does not wait for time' [ "${status}" = 0 ]
check 'a guest that counts instructions has one CPU' has 'cpus 1'

# A QEMU that dies during its first boots, as many as the file deaths has lines
mkdir -p "${VM_DIR}/bin"
cat >"${VM_DIR}/bin/qemu-system-x86_64" <<'EOF'
#!/bin/bash
if [ -s "${VM_DIR}/deaths" ]; then
	sed -i 1d "${VM_DIR}/deaths"
	echo 'Linux version' >"${VM_DIR}/console.log"
	kill -SEGV $$
fi
PATH=${PATH#*:} exec qemu-system-x86_64 "$@"
EOF
chmod +x "${VM_DIR}/bin/qemu-system-x86_64"
echo 1 >"${VM_DIR}/deaths"
PATH=${VM_DIR}/bin:${PATH} guest 'exit 3'
check 'run boots again if QEMU dies during the boot' [ "${status}" = 3 ]
check 'it prints how QEMU ended' \
	runner_printed 'QEMU was killed by signal 11 during the boot: booting again'
seq 9 >"${VM_DIR}/deaths"
PATH=${VM_DIR}/bin:${PATH} guest 'exit 3'
check 'run gives up after five boots' [ "$(wc -l <"${VM_DIR}/deaths")" = 4 ]
check 'exit status is 1 if QEMU always dies' [ "${status}" = 1 ]
check 'the last line tells how QEMU ended' \
	runner_printed 'the guest ended before the command did: QEMU was killed by signal 11'

if [ -x "${PERF:=${BUILD}/perf/perf}" ]; then
	guest "cd /tmp &&
		'${PERF}' record -o perf.data -a -e sched:sched_switch/overwrite/ sleep 1 &&
		'${PERF}' script -i perf.data | grep -c sched:sched_switch"
	check 'perf record in the guest' [ "${status}" = 0 ]
	check 'perf script in the guest' [ "$(tail -n 1 <<<"${out}")" -gt 10 ]
else
	result 0 "perf # SKIP no ${PERF}"
fi

# Each of these writes patches some hundred places; see poke_twice.awk.
what='tracepoints are enabled and disabled for 100 s while both CPUs run'
if [ -n "${NIGHT-}" ]; then
	# shellcheck disable=SC2016 # expanded in the guest
	VM_TIMEOUT=200 guest '(while :; do /bin/true; done) &
		(while :; do read -r line </proc/self/stat; done) &
		while [ $SECONDS -lt 100 ]; do
			for value in 1 0; do
				echo $value >/sys/kernel/tracing/events/sched/enable
				echo $value >/sys/kernel/tracing/events/raw_syscalls/enable
			done
		done'
	check "${what}" [ "${status}" = 0 ]
else
	result 0 "${what} # SKIP takes long: make test-night"
fi

echo "1..${count}"
