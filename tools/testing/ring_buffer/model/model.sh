#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Check a model of the kernel's ring buffer with spin: no error in the model, each added bug found.
# timeout: 300
# tags: fast parallel long
#
# The model is ring.pml. The first result passes if spin explored all of it, found no error, and
# reached every statement. The model also lists bugs that can be added, with the error that each
# leads to: there is one result for each, which passes if spin finds a trace to just this error.
#
# With names from that list as arguments, print their traces instead.

model=$(dirname "$(readlink -f "$0")")/ring.pml

# search DIRECTORY MODE DEFINE...: explore all states; MODE is -O2, -DBFS for a shortest trace,
# which is so short that compiling without optimization is faster, or -O0 for any trace
search()
(
	mode=$2
	mkdir -p "$1"
	cd "$1" || exit
	shift 2
	{
		spin "$@" -a "$model" &&
			gcc -DSAFETY -DNOREDUCE "$mode" -o pan pan.c &&
			./pan -m100000
	} >log 2>&1
)

# print_trace DIRECTORY OPTION...: print the trace of a search; options are its DEFINEs and spin's
print_trace()
(
	cd "$1" || exit
	shift
	spin -k ring.pml.trail -T "$@" "$model" | sed '/trail ends/,$d'
)

# found_error DIRECTORY: print the error that the search found
found_error()
{
	sed -n 's/.*assertion violated *!(\([a-z]*\)).*/\1/p' "$1/log"
}

no_error_found()
{
	grep -q 'errors: 0$' model/log &&
		! grep -qE '^error:|not completed|out of memory' model/log &&
		! sed '1,/^unreached in/d' model/log | grep -q 'ring\.pml:'
}

# Search again with fewer words, for a shorter trace to the error.
print_shortest()
{
	local words

	for words in 2 3 4 5 6; do
		search "model.$words" -DBFS "-DWORDS=$words"
		[ -e "model.$words/ring.pml.trail" ] || continue
		print_trace "model.$words" "-DWORDS=$words" -p
		echo "Summary:"
		print_trace "model.$words" "-DWORDS=$words"
		break
	done
}

check_model()
{
	search model -O2
	if no_error_found; then
		grep -E 'states, stored|total actual memory|elapsed' model/log | sed 's/^/# /'
		echo "ok 1 - no error in the model"
	else
		{
			[ ! -e model/ring.pml.trail ] || print_shortest
			grep -v '^Depth=' model/log
		} | sed 's/^/# /'
		echo "not ok 1 - no error in the model"
	fi
}

# List the bugs that can be added: NAME ERROR DESCRIPTION
list_bugs()
{
	sed -n 's|^#define \([A-Z_]*\)\s*[0-9]*\s*/\* \([a-z_]*\): \(.*\) \*/$|\1 \2 \3|p' "$model"
}

# check_bug NUMBER NAME ERROR DESCRIPTION
check_bug()
{
	local steps mode=-DBFS

	# The shortest trace to this error has 33 steps, and takes 25 s to find: only at night.
	[ "$3" != disjoint ] || [ -n "${NIGHT-}" ] || mode=-O0
	search "$2" "$mode" "-DBROKEN=$2" -DWORDS=4
	if [ "$(found_error "$2")" = "$3" ]; then
		steps=$(print_trace "$2" "-DBROKEN=$2" -DWORDS=4 | grep -c '^\s*[a-z]*: [a-z]')
		echo "ok $1 - $4: $3 after $steps steps"
	else
		grep -v '^Depth=' "$2/log" | sed 's/^/# /'
		echo "not ok $1 - $2, $4: found '$(found_error "$2")', expected '$3'"
	fi
}

if ! type spin >/dev/null 2>&1; then
	echo "1..0 # SKIP spin is not installed: run make deps"
	exit
fi

for name; do
	search "$name" -DBFS "-DBROKEN=$name" -DWORDS=4
	print_trace "$name" "-DBROKEN=$name" -DWORDS=4
done
[ $# = 0 ] || exit

check_model >model.tap &
number=1
while read -r name error description; do
	check_bug $((++number)) "$name" "$error" "$description"
done < <(list_bugs) >bugs.tap
wait
cat model.tap bugs.tap
echo "1..$number"
[ $number -gt 1 ] && ! grep -q '^not ok' model.tap bugs.tap
