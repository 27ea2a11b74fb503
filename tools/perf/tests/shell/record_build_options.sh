#!/bin/bash
# perf record: compile and link without optional features (NO_AIO=1, NO_LIBURING=1 ...)
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel

. "$(dirname "$0")/lib/harness.sh"

[ -e "$BUILD/perf/.builtin-record.o.cmd" ] || skip "$BUILD/perf has no objects of perf"
cd "$tests_dir/.." || fatal "no $tests_dir/.."

# The macros that make does not define with NO_AIO=1, NO_LIBURING=1 and so on, and the objects that
# are not linked then
without=(-UHAVE_{AIO,AUXTRACE,LIBBPF,LIBURING,LZO,ZLIB,ZSTD}_SUPPORT
	-UHAVE_{BPF_SKEL,LIBTRACEEVENT})
# objects WHEN: print the objects of recording/ that its Build files list under perf-WHEN, a pattern
objects() {
	local build

	for build in recording/Build recording/*/Build; do
		sed -nE "s,^perf-$1 \+= (.*\.o)$,${build%Build}\1,p" "$build"
	done
}

mapfile -t optional < <(objects '\$\(.*\)'
	sed -nE 's,^perf-util-\$\(CONFIG_(AUXTRACE|LIBBPF|LIBTRACEEVENT|PERF_BPF_SKEL|ZSTD)\) \+= (.*\.o),util/\2,p' \
		util/Build)
mapfile -t objects < <(printf '%s\n' builtin-record.o builtin-loss.o util/recover-kdump.o
	objects y)
for object in "${objects[@]}"; do
	mkdir -p "$work/$(dirname "$object")"
done

# compile OBJECT: run the command of perf's build, with those macros undefined
compile() {
	local command name=${1##*/}

	command=$(sed -n 's/^cmd_[^ ]* := //p' "$BUILD/perf/${1%"$name"}.$name.cmd")
	command=$(sed -E 's/-Wp,-M[^ ]*//g; s/\$\(pound\)/#/' <<< "$command")
	eval "$command ${without[*]} -O1 -o $work/$1" || touch "$work/failed"
}

note "${#objects[@]} objects with ${without[*]}"
for object in "${objects[@]}"; do
	compile "$object" &
	while (($(jobs -rp | wc -l) >= $(getconf _NPROCESSORS_ONLN))); do
		wait -n
	done
done
wait
[ ! -e "$work/failed" ] || fatal "an object does not compile"

note "symbols they need of ${#optional[@]} objects that are not linked then"
# Some objects exist on some architectures only.
(cd "$BUILD/perf" && nm "${optional[@]}" 2> /dev/null) |
	awk '$2 ~ /[TDBR]/ { print $3 }' | sort -u > "$work/missing"
(cd "$work" && nm -u "${objects[@]}") |
	awk 'NF == 2 { print $2 }' | sort -u | comm -12 - "$work/missing" > "$work/needed"
[ ! -s "$work/needed" ] || error "undefined symbols: $(xargs < "$work/needed")"
[ -s "$work/missing" ] || inconclusive "the optional objects define no symbol"
finish
