# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # used, and set, by those who source this
# Create cgroups in which perf counts.

# make_cgroups SUFFIX...: create $root/$box with each suffix. Fails if perf does not count in
# cgroup2, or if they cannot be created.
made_cgroups=()
make_cgroups() {
	local suffix

	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	box=perf-test-$$
	[ -n "$root" ] && ! grep -q ' cgroup .*perf_event' /proc/mounts || return
	for suffix; do
		mkdir "$root/$box$suffix" 2> /dev/null || return
		made_cgroups=("$root/$box$suffix" "${made_cgroups[@]}")
	done
}

remove_cgroups() {
	local dir

	for dir in "${made_cgroups[@]}"; do
		[ ! -e "$dir" ] || rmdir "$dir" || return
	done
}
