#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Spin finds nothing wrong with a model of the kernel's ring, and whatever is broken in it
# timeout: 300
# tags: fast
#
# The model is ring.pml. The first result is that it was searched to the end, with all of its
# statements reached. It lists what can be broken in it, and what that leads to: for each of these
# there is a result, that spin finds a history which leads to just this.
#
# With names from that list as arguments, tells their histories instead.

model=$(dirname "$(readlink -f "$0")")/ring.pml

# search DIRECTORY HOW DEFINE...: all states; HOW is -O2, or -DBFS to find a shortest history
search()
(
	how=$2
	mkdir -p "$1"
	cd "$1" || exit
	shift 2
	{
		spin "$@" -a "$model" &&
			gcc -O1 -DSAFETY -DNOREDUCE "$how" -o pan pan.c &&
			./pan -m100000
	} >log 2>&1
)

# tell DIRECTORY OPTION...: the history found there; options are the same DEFINEs, and spin's
tell()
(
	cd "$1" || exit
	shift
	spin -k ring.pml.trail -T "$@" "$model" | sed '/trail ends/,$d'
)

# found DIRECTORY: what the history there leads to
found()
{
	sed -n 's/.*assertion violated *!(\([a-z]*\)).*/\1/p' "$1/log"
}

nothing_found()
{
	grep -q 'errors: 0$' model/log &&
		! grep -qE '^error:|not completed|out of memory' model/log &&
		! sed '1,/^unreached in/d' model/log | grep -q 'ring\.pml:'
}

# Of a history that is wrong there is a shorter one.
tell_shortest()
{
	local words

	for words in 2 3 4 5 6; do
		search "model.$words" -DBFS "-DWORDS=$words"
		[ -e "model.$words/ring.pml.trail" ] || continue
		tell "model.$words" "-DWORDS=$words" -p
		echo "In short:"
		tell "model.$words" "-DWORDS=$words"
		break
	done
}

check_model()
{
	search model -O2
	if nothing_found; then
		grep -E 'states, stored|total actual memory|elapsed' model/log | sed 's/^/# /'
		echo "ok 1 - nothing is found in the model"
	else
		{
			[ ! -e model/ring.pml.trail ] || tell_shortest
			grep -v '^Depth=' model/log
		} | sed 's/^/# /'
		echo "not ok 1 - nothing is found in the model"
	fi
}

# What can be broken: NAME FOUND WHAT
list_broken()
{
	sed -n 's|^#define \([A-Z_]*\)\s*[0-9]*\s*/\* \([a-z_]*\): \(.*\) \*/$|\1 \2 \3|p' "$model"
}

# check_broken NUMBER NAME FOUND WHAT
check_broken()
{
	local steps

	search "$2" -DBFS "-DBROKEN=$2" -DWORDS=4
	if [ "$(found "$2")" = "$3" ]; then
		steps=$(tell "$2" "-DBROKEN=$2" -DWORDS=4 | grep -c '^\s*[a-z]*: [a-z]')
		echo "ok $1 - $4: $3 after $steps steps"
	else
		grep -v '^Depth=' "$2/log" | sed 's/^/# /'
		echo "not ok $1 - $2, $4: found '$(found "$2")', not '$3'"
	fi
}

if ! type spin >/dev/null 2>&1; then
	echo "1..0 # SKIP spin is not installed; please run: make deps"
	exit
fi

for name; do
	search "$name" -DBFS "-DBROKEN=$name" -DWORDS=4
	tell "$name" "-DBROKEN=$name" -DWORDS=4
done
[ $# = 0 ] || exit

check_model >model.tap &
number=1
while read -r name found what; do
	check_broken $((++number)) "$name" "$found" "$what"
done < <(list_broken) >broken.tap
wait
cat model.tap broken.tap
echo "1..$number"
[ $number -gt 1 ] && ! grep -q '^not ok' model.tap broken.tap
