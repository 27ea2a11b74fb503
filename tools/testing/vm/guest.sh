# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What tests of perf record in the guest share: sourced first, outside and inside.
# shellcheck disable=SC2154		# $work comes from recording.sh

top=$(realpath "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../../..")
export TOP=${TOP:-$top} BUILD=${BUILD:-$top/build}

no_tests() {
	echo "1..0 # SKIP $1"
	exit 4
}

# Outside: skip the test if there is no guest.
need_guest() {
	[ -e "${KERNEL:-$BUILD/kernel}/arch/x86/boot/bzImage" ] || no_tests "there is no guest kernel (make kernel)"
	command -v qemu-system-x86_64 > /dev/null || no_tests "there is no qemu-system-x86_64 (make deps)"
	[ -x "$BUILD/perf/perf" ] || no_tests "there is no perf (make perf)"
}

# Results in TAP. What a check prints becomes comments; also if it ends the test, with
# trap 'tell; cleanup' EXIT.
exec {tap}>&1
tell() {
	[ ! -e "$work/said_by_check" ] || sed 's/^/# /' "$work/said_by_check" >&"$tap"
	rm -f "$work/said_by_check"
}

nr=0
check() {
	local what=$1 not='' start=$SECONDS

	shift
	nr=$((nr + 1))
	rm -f "$work/said"
	"$@" > "$work/said_by_check" 2>&1 || not='not '
	echo "${not}ok $nr - $what"
	[ -z "$not" ] || recorder_said >> "$work/said_by_check"
	echo "$((SECONDS - start)) s" >> "$work/said_by_check"
	tell
}
