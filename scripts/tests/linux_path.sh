#!/bin/bash
# make tree LINUX=PATH: a folder, a tarball or a git checkout is prepared, and errors name the reason
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 600
#
# Works in a copy of this checkout. The Linux that is prepared there consists of the files of this
# base that our files and patches change; all of Linux would take a minute.

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
. "$top/tools/perf/tests/shell/lib/harness.sh"

base=${BASE:-6.12}
tested=$BUILD		# the tree to compare with
unset BASE BUILD LINUX_SOURCE MAKEFLAGS MFLAGS MAKELEVEL
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@localhost
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@localhost

checkout=$work/checkout
linux=$checkout/build/custom/linux
mkdir "$checkout"
git -c safe.directory='*' -C "$top" ls-files -z --cached --others --exclude-standard |
	tar -C "$top" --null -T - --ignore-failed-read -c 2> /dev/null | tar -C "$checkout" -x
git -C "$checkout" init -q
mapfile -t touched < <(find "$tested/pristine/old" "$tested/pristine/new" -type f -printf '%P\n')

# prepare PATH [VARIABLE...]: run make tree LINUX=PATH; its output is in $work/output
prepare() {
	make -s -C "$checkout" tree LINUX="$1" BASE="$base" "${@:2}" > "$work/output" 2>&1 \
		< /dev/null
}

# ready PATH: prepare PATH; the tree has the same files as that of this base
ready() {
	prepare "$1" || error "status $?: $(cat "$work/output")"
	diff <(checksums "$tested/linux") <(checksums "$linux") | sed 's/^/# /'
	[ "${PIPESTATUS[0]}" = 0 ] || error "LINUX=$1: the files above differ"
}

checksums() {
	(cd "$1" && sha256sum "${touched[@]}")
}

# refused PATH PATTERN...: preparing PATH fails, and for each pattern a line of the output matches
refused() {
	local pattern

	! prepare "$1" || error "LINUX=$1 was accepted"
	for pattern in "${@:2}"; do
		grep -qE "^(prepare-tree:|   ) $pattern\$" "$work/output" ||
			error "no message like '$pattern', but: $(cat "$work/output")"
	done
	! grep -q Traceback "$work/output" || error "Python traceback"
}

cp -a "$tested/pristine/old" "$work/folder"
[ "${#touched[@]}" -gt 100 ] || fatal "only ${#touched[@]} files in $tested/pristine"

subtest "a folder"
touch -d '2001-01-01' "$checkout/tools/perf/recording/run.c"
ready "$work/folder"
[ "$(stat -c %y "$checkout/tools/perf/recording/run.c" | cut -c1-4)" = 2001 ] ||
	error "the date of a file that replaces none has changed: other bases are built again"

subtest "a tarball"
tar -C "$work" -cJf "$work/linux.tar.xz" folder
ready "$work/linux.tar.xz"

subtest "a git checkout: its HEAD, without changes that are not committed"
git -C "$work/folder" init -q
git -C "$work/folder" add -Af
git -C "$work/folder" commit -qm one
echo 'not committed' >> "$work/folder/kernel/events/Makefile"
ready ../folder

subtest "nothing to do"
prepare ../folder
[ ! -s "$work/output" ] || error "prepared again: $(cat "$work/output")"

subtest "a git checkout: the next commit"
git -C "$work/folder" commit -qam two
prepare "$work/folder" || error "status $?: $(cat "$work/output")"
grep -q 'not committed' "$linux/kernel/events/Makefile" || error "kernel/events/Makefile is old"
git -C "$work/folder" reset -q --hard HEAD~

subtest "LINUX=PATH is that of mainline unless BASE is given"
for variables in "" BASE=6.12; do
	# shellcheck disable=SC2016,SC2086 # make expands it; none or one word
	make -s -C "$checkout" LINUX="$work/folder" $variables --eval='base: ; @echo $(BASE)' base
done > "$work/output"
[ "$(cat "$work/output")" = $'mainline\n6.12' ] || error "BASE is $(cat "$work/output")"

subtest "errors: the path"
refused "$work/nothing" "LINUX=$work/nothing: no such file or folder"
refused "$work/checkout" "LINUX=$work/checkout: not a Linux tree"
git init -q "$work/empty"
refused "$work/empty" "LINUX=$work/empty: not a Linux tree"
mkdir -p "$work/unborn/kernel/events"
touch "$work/unborn/kernel/events/core.c"
git init -q "$work/unborn"
refused "$work/unborn" "LINUX=$work/unborn: .*HEAD.*"

subtest "errors: the tarball"
echo text > "$work/text.tar.xz"
refused "$work/text.tar.xz" "tar failed with status 2"
tar -C "$work/folder" -cf "$work/flat.tar" kernel
refused "$work/flat.tar" "LINUX=$work/flat.tar: not a Linux tree.*"
head -c 20000 "$work/linux.tar.xz" > "$work/short.tar.xz"
refused "$work/short.tar.xz" "tar failed with status 2"

subtest "errors: no such base"
! prepare "$work/folder" BASE=5.10 || error "BASE=5.10 was accepted"
grep -q 'BASE=5.10: LINUX-BASE has no such base' "$work/output" || error "$(cat "$work/output")"

subtest "errors: a patch that does not apply, with its file and hunk, and the next run"
cp -a "$work/folder" "$work/changed"
rm -rf "$work/changed/.git" "$work/changed/kernel/events/Makefile"
sed -i s/./changed/ "$work/changed/tools/perf/builtin.h"
refused "$work/changed" \
	'patches/perf-events-build-ring-kunit.patch does not apply to changed \(.*\):' \
	'kernel/events/Makefile: this Linux has no such file' \
	'patches/(mainline/)?perf-add-perf-loss.patch does not apply to changed \(.*\):' \
	'tools/perf/builtin.h: Hunk #1 FAILED.*'
ready "$work/folder"
finish
