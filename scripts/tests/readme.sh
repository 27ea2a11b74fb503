#!/bin/bash
# README, guide and page of SQL: the examples run when they are pasted
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 600
#
# Runs each recipe of README.md and of Documentation/perf-record-{guide,sql}.rst in a shell and a
# folder of its own, line by line. No command may fail, and each recipe must print something.

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
. "$top/tools/perf/tests/shell/lib/harness.sh"
export PATH=${BUILD:-$top/build}/perf:$PATH
export HOME=$PWD		# for ~/.perfconfig and ~/.debug

need root sched:sched_switch

# Extract the indented blocks to NN.sh, and their titles to NN.title: in the README, the bold words
# before a block below "## Recipes"; in the pages, the headings. There, only a paragraph that ends
# with "::" introduces commands.
awk '
	FNR == 1 { recipes = 0; title = before = "" }
	FILENAME ~ /md$/ && /^## / { recipes = $0 == "## Recipes" }
	FILENAME ~ /md$/ && recipes && match($0, /^\*\*[^*]*\*\*/) {
		title = substr($0, 3, RLENGTH - 4)
		sub(/[.,]$/, "", title)
	}
	FILENAME ~ /rst$/ && /^===/ { title = before }
	FILENAME ~ /rst$/ && /^[^ ]/ { recipes = /::$/ && !/^\.\./ }
	/^    / && recipes && title != "" {
		if (title != last) {
			name = sprintf("%02d", ++nr)
			print title > (name ".title")
			last = title
		}
		print substr($0, 5) > (name ".sh")
	}
	/./ { before = $0 }' "$top/README.md" "$top"/Documentation/perf-record-{guide,sql}.rst

# cannot_run EXAMPLE: print why this machine cannot run the example, or nothing
cannot_run() {
	if grep -q intel_pt "$1" && [ ! -d /sys/bus/event_source/devices/intel_pt ]; then
		echo "no Intel PT"
	elif grep -q 'memory\.img' "$1"; then
		echo "needs an image of a machine's memory"
	elif grep -q trace_processor_shell "$1"; then
		echo "needs trace_processor and a question"
	fi
}

# paste_it EXAMPLE: run it, and append failed commands and error messages to the file "errors".
# SIGPIPE (status 141) is no failure: head ends its pipe early.
paste_it() {
	local status

	rm -rf folder
	mkdir folder
	(
		cd folder || exit
		timeout 500 bash -c '
			trap '\''ended=$?; [ $ended = 141 ] ||
				echo "status $ended: $BASH_COMMAND" >> ../errors'\'' ERR
			set -o pipefail
			. "$0"' "../$1" > ../output 2>&1 < /dev/null
	)
	status=$?
	case $status in
	0 | 141) ;;
	*) echo "exit status $status" >> errors
	esac
	# A stripped library has no symbols: that is no error.
	grep -v '\[unknown\] (/usr/lib/' output |
		grep -iE '^(error|failed|perf: |[^ ]*: line [0-9]+:)|unknown|not found|usage:' \
			>> errors
	[ -s output ] || echo "no output" >> errors
}

for example in [0-9]*.sh; do
	subtest "$(< "${example%.sh}.title")"
	reason=$(cannot_run "$example")
	if [ -n "$reason" ]; then
		inconclusive "$reason"
		continue
	fi
	: > errors
	paste_it "$example"
	[ -s errors ] || continue
	while read -r line; do
		error "$line"
	done < errors
	tail -n 20 output | sed 's/^/# | /'
done
finish
