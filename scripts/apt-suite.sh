# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2154 # sourced: $work is the caller's
# Use packages of another suite of Debian, without installing them. The lists and sources of apt
# stay unchanged.
#
# The caller sets $work, a folder that with_lists() and its callers fill.

mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
keys=/usr/share/keyrings/debian-archive-keyring.gpg

# give_up REASON...: report why the packages are not available, and exit with status 2
give_up() {
	echo "$(basename "$0"): $*" >&2
	exit 2
}

# with_lists APT-COMMAND...: run an apt command that knows only the suites of read_lists()
with_lists() {
	command=$1
	shift
	"$command" -q -o Dir::Etc::sourcelist="$work/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null \
		-o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" \
		-o APT::Sandbox::User=root -o Acquire::Retries=1 "$@"
}

# apt_errors: print the first error of the last apt command, which wrote to $work/log
apt_errors() {
	grep '^[EW]:' "$work/log" | head -n 1
}

# read_lists SUITE...: empty $work, and download the lists of packages
read_lists() {
	rm -rf "$work"
	mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
	for suite; do
		echo "deb [signed-by=$keys] $mirror $suite main"
	done >"$work/sources.list"
	with_lists apt-get update --error-on=any >"$work/log" 2>&1 ||
		give_up "cannot read the lists of $*: $(apt_errors)"
}
