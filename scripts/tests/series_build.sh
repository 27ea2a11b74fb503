#!/bin/bash
# make series: the kernel builds without warnings after each commit
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 7200
# tags: night
#
# Builds kernel/events/ and arch/x86/events/ of a small configuration with W=1, in a tree of hard
# links to $BUILD/linux, after each commit that changes the kernel.
#
# Arguments: parts to build, as in patches/series; all by default.

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
build=${BUILD:-$top/build}
pristine=$build/pristine
parts=" $* "

skip() {
	echo "1..0 # SKIP $1"
	exit 2
}

[ "$(uname -m)" = x86_64 ] || skip "the configuration is for x86-64"
"$top/scripts/make-series" || exit 1

work=$(mktemp -d "$build/series-build.XXXXXX")
trap 'rm -rf "$work"' EXIT
tree=$work/linux
mkdir "$tree" "$work/out"
cp -a "$build/series" "$work"
find "$build/linux" -mindepth 1 -maxdepth 1 ! -name guest -exec cp -al -t "$tree" {} +
(cd "$tree" && find "$pristine/old" "$pristine/new" -type f -printf '%P\0' | xargs -0 rm -f)
cp -a "$pristine/old/." "$tree"
git init -q "$tree"

cat >"$work/config" <<'END'
CONFIG_64BIT=y
CONFIG_SMP=y
CONFIG_PERF_EVENTS=y
CONFIG_MODULES=y
CONFIG_CPU_SUP_INTEL=y
CONFIG_CPU_SUP_AMD=y
CONFIG_PCI=y
CONFIG_BPF_SYSCALL=y
CONFIG_FTRACE=y
CONFIG_FTRACE_SYSCALLS=y
CONFIG_RUNTIME_TESTING_MENU=y
CONFIG_KUNIT=y
CONFIG_PERF_EVENTS_RING_KUNIT_TEST=y
CONFIG_PERF_EVENTS_SOFT_PT=m
END

in_tree() {
	make -s -C "$tree" O="$work/out" "$@"
}

# build LOG: commits add symbols that the configuration sets
build() {
	KCONFIG_ALLCONFIG=$work/config in_tree allnoconfig >"$1" 2>&1 &&
		in_tree -j"$(nproc)" W=1 KCFLAGS=-Werror kernel/events/ arch/x86/events/ >"$1" 2>&1
}

nr=0 failed=0
for patch in "$work"/series/*/0*.patch; do
	[[ $patch != */0000-* ]] || continue
	name=${patch#"$work/series/"}
	part=${name%%/*}
	if ! git -C "$tree" apply --whitespace=nowarn "$patch" 2>"$work/log"; then
		applied=
	elif [[ $parts != "  " && $parts != *" ${part#*-} "* ]] ||
	     ! grep -qE '^\+\+\+ b/(kernel|include|lib|arch/x86)/' "$patch"; then
		continue
	else
		applied=yes
	fi
	nr=$((nr + 1))
	if [ -n "$applied" ] && build "$work/log"; then
		echo "ok $nr - $name"
	else
		echo "not ok $nr - $name"
		tail -n 20 "$work/log" | sed 's/^/# /'
		failed=1
	fi
done

if [ $# = 0 ]; then
	nr=$((nr + 1))
	missing=$(grep -vxFf "$work/out/.config" "$work/config")
	if [ -z "$missing" ]; then
		echo "ok $nr - all symbols of the configuration are set at the end"
	else
		echo "not ok $nr - symbols that are not set at the end: ${missing//$'\n'/, }"
		failed=1
	fi
fi
echo "1..$nr"
[ "$failed" = 0 ]
