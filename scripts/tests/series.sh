#!/bin/bash
# make series: git am turns linux-source into build/linux, and blame keeps upstream's lines
# SPDX-License-Identifier: GPL-2.0-only
# tags: fast parallel
#
# The repository contains only the files concerned: all of Linux would take a minute.
set -eu

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
build=${BUILD:-$top/build}
linux=$build/linux
pristine=$build/pristine
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@localhost
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@localhost

"$top/scripts/make-series"

work=$(mktemp -d "$build/series-am.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
git init -q
cp -a "$pristine/old/." .
git add -Af
git commit -qm base
git am -q --empty=drop "$build"/series/*/*.patch

# Replace all files with those of $linux: git then lists what differs, also in the mode, what no
# patch creates, and what should not be there.
find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -r {} +
mapfile -t paths < <(find "$pristine/old" "$pristine/new" -type f -printf '%P\n')
(cd "$linux" && printf '%s\0' "${paths[@]}" | xargs -0 cp -L --preserve=mode --parents -t "$work")
git add -Af
differing=$(git diff --cached --name-status)
echo "${#paths[@]} files; these differ from $linux: ${differing:-none}"

# A ^ marks lines of the first commit. Mainline has another address in one of them.
kept=$(git blame -s kernel/events/ring_buffer.c | grep -c '^^.*Copyright' || :)
echo "$kept of upstream's copyright lines in ring_buffer.c"
for part in "$build"/series/*/; do
	if grep -q 'SUBJECT HERE\|BLURB HERE' "$part/0000-cover-letter.patch"; then
		echo "$part has no cover letter"
		differing+=" $part"
	fi
done
[ "${#paths[@]}" -gt 0 ] && [ -z "$differing" ] && [ "$kept" -ge 3 ]
