#!/bin/bash
# perf record: what it can do without can be left out when it is built
# SPDX-License-Identifier: GPL-2.0-only

# shellcheck source=lib/recording.sh
. "$(dirname "$0")/lib/recording.sh"

[ -e "$BUILD/perf/.builtin-record.o.cmd" ] || skip "perf was not built in $BUILD"
cd "$tests_dir/.." || fail "no $tests_dir/.."

# What make leaves out with NO_AIO=1, NO_LIBURING=1 and so on; and the objects that are not linked then
without=(-UHAVE_{AIO_SUPPORT,AUXTRACE_SUPPORT,BPF_SKEL,LIBBPF_SUPPORT,LIBTRACEEVENT,LIBURING_SUPPORT,ZSTD_SUPPORT})
mapfile -t optional < <(sed -n 's,^perf-\$(.*) += ,recording/,p' recording/Build
	sed -nE 's,^perf-util-\$\(CONFIG_(AUXTRACE|LIBBPF|LIBTRACEEVENT|PERF_BPF_SKEL|ZSTD)\) \+= (.*\.o),util/\2,p' util/Build)
mapfile -t objects < <(printf '%s\n' builtin-record.o builtin-loss.o; sed -n 's,^perf-y += ,recording/,p' recording/Build)
mkdir "$work/recording"

# compile OBJECT: as perf's build did, but for that
compile() {
	local command name=${1##*/}

	command=$(sed -n 's/^cmd_[^ ]* := //p' "$BUILD/perf/${1%"$name"}.$name.cmd")
	command=$(sed -E 's/-Wp,-M[^ ]*//g; s/\$\(pound\)/#/' <<< "$command")
	eval "$command ${without[*]} -O1 -o $work/$1" || touch "$work/failed"
}

echo "${#objects[@]} objects with ${without[*]}"
for object in "${objects[@]}"; do
	compile "$object" &
	while (($(jobs -rp | wc -l) >= $(getconf _NPROCESSORS_ONLN))); do
		wait -n
	done
done
wait
[ ! -e "$work/failed" ] || fail "not all of them compile"

echo "what they need of ${#optional[@]} others, that are not linked then"
# Not all are built everywhere
(cd "$BUILD/perf" && nm "${optional[@]}" 2> /dev/null) | awk '$2 ~ /[TDBR]/ { print $3 }' | sort -u > "$work/missing"
(cd "$work" && nm -u "${objects[@]}") | awk 'NF == 2 { print $2 }' | sort -u | comm -12 - "$work/missing" > "$work/needed"
[ ! -s "$work/needed" ] || fail "$(cat "$work/needed")"
[ -s "$work/missing" ] || fail "nothing is defined there: this shows nothing"
