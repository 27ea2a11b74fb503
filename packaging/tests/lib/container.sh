# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # used, and set, by those who source this
# Install our packages in a clean Debian, the same as that of this machine, and boot it in a
# container with systemd as PID 1.
#
# The Debian is build/chroot/SUITE, below an overlay in memory. The container has a network of its
# own without a way out, so that its daemons meet no others. Its kernel is that of this machine.
#
#	mount_container			mount it at $root
#	install_packages PACKAGE...	by apt; a path is one on this machine
#	inside COMMAND...		run a command in it before it is booted
#	boot_container			boot it
#	manager COMMAND...		run a command in the booted container
#
# Each skips the test, or the current result, if what it needs is missing.

. "$top/tools/perf/tests/shell/lib/harness.sh"

unset MAKEFLAGS MFLAGS MAKELEVEL
export BUILD
root=$work/root
upper=$work/memory/upper	# what differs from the clean Debian

mount_container() {
	local suite

	[ "$(id -u)" = 0 ] || skip "needs root"
	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
	"$top/scripts/install-deps" deb > "$work/log" 2>&1 ||
		skip "cannot install debhelper: $(tail -n 1 "$work/log")"
	"$top/scripts/prepare-chroot" "$suite" > "$work/log" 2>&1 || skip "$(tail -n 1 "$work/log")"
	mkdir -p "$root" "$work/memory" "$BUILD/chroot/archives"
	mount -t tmpfs tmpfs "$work/memory" || skip "cannot mount a tmpfs"
	mounted=("$work/memory")
	mkdir "$upper" "$work/memory/work"
	mount -t overlay overlay "$root" \
		-o "lowerdir=$BUILD/chroot/$suite,upperdir=$upper,workdir=$work/memory/work" ||
		skip "cannot mount an overlay"
	mounted=("$root" "${mounted[@]}")
	mount --bind "$BUILD/chroot/archives" "$root/var/cache/apt/archives"
	mounted=("$root/var/cache/apt/archives" "${mounted[@]}")
}

inside() {
	DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
}

install_packages() {
	local package packages=()

	for package; do
		case $package in
		/*)	cp "$package" "$root/root/" && package=/root/${package##*/} ;;
		esac
		packages+=("$package")
	done
	cp /etc/resolv.conf "$root/etc/"
	if ! inside sh -c 'apt-get update && exec apt-get install -y --no-install-recommends "$@"' \
		- "${packages[@]}" > "$work/log" 2>&1; then
		if grep -qE 'Could not|Failed to fetch|Unable to fetch' "$work/log"; then
			inconclusive "no network: $(grep -m 1 -E 'Could not|Failed|Unable' "$work/log")"
			finish
		fi
		fatal "$(tail -n 20 "$work/log")"
	fi
}

manager() {
	nsenter -t "$init" -m -u -i -n -p -C "$@"
}

booted() {
	# Some units of Debian 13 fail in a container: degraded.
	init=$(pgrep -P "$nspawn") || return
	manager systemctl is-system-running > "$work/log" 2>&1
	grep -qx 'running\|degraded' "$work/log"
}

boot_container() {
	mkdir -p "$root/var/lib/private" && chmod 700 "$root/var/lib/private"
	SYSTEMD_NSPAWN_API_VFS_WRITABLE=yes unshare --net systemd-nspawn --register=no --keep-unit \
		--boot --directory "$root" --console=pipe --capability=all \
		--system-call-filter="perf_event_open bpf" --bind=/sys/kernel/tracing \
		> "$work/nspawn.log" 2>&1 < /dev/null &
	nspawn=$!
	if ! command -v systemd-nspawn > /dev/null || ! wait_until 60 booted; then
		inconclusive "systemd does not run in a container: $(tail -n 1 "$work/nspawn.log" \
			"$work/log" 2>&1)"
		finish
	fi
}
