#!/bin/bash
# Documents: they build without warnings, and the files and functions that they name exist
# SPDX-License-Identifier: GPL-2.0-only
# tags: fast parallel
#
# Builds Documentation/ from the index perf-record.rst, which must list every page, and the manual
# pages. Looks up the paths that the pages and the README name: relative to one of $roots, or to the
# top of Linux. Where perf-record-internals.rst says FILE:FUNCTION(), FILE must define FUNCTION.
# perf-record-options.rst must have each option of perf record. Recordings and other files that
# somebody left must not be tracked.
#
# shellcheck disable=SC2016 # backquotes in single quotes are meant literally

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
. "$top/tools/perf/tests/shell/lib/harness.sh"

roots=(. tools/perf/recording tools/perf tools/lib/perf tools/lib/perf/include
	tools/lib/perf/Documentation tools/testing)
index=perf-record

for tool in sphinx-build asciidoctor; do
	command -v $tool > /dev/null || skip "$tool is not installed (make deps)"
done
cd "$top" || exit
mapfile -t pages < <(find Documentation -name '*.rst')

# check TITLE FUNCTION: one result; each line that FUNCTION prints is an error
check() {
	local line

	subtest "$1"
	while read -r line; do
		error "$line"
	done < <("$2" 2>&1)
}

# Sphinx warns of a page that no table of contents lists, unless the page is marked as an orphan, as
# the index is.
build_pages() {
	sphinx-build -C -W --keep-going -q -b dummy -D extensions=sphinx.ext.graphviz \
		-D root_doc=$index Documentation "$work/doctrees"
	grep -l '^:orphan:' "${pages[@]}" | grep -v "/$index\.rst$" |
		sed 's/$/: :orphan: hides that the index does not list this page/'
}

# perf compiles the summary in the section NAME into its list of commands, in an array of 80 bytes.
build_manuals() {
	awk '/^perf-[a-z]* - / && length($0) - index($0, " - ") - 2 > 79 {
		print FILENAME ": the summary in NAME has more than 79 characters"
	}' tools/perf/Documentation/*.txt
	asciidoctor -q -b manpage -d manpage -a compat-mode --failure-level=WARN -D "$work" \
		tools/perf/Documentation/*.txt
}

# literals: print FILE TEXT for each text in double backquotes in the pages, and, in the README, for
# each text in single backquotes and each link
literals() {
	grep -oH '``[^`]*``' "${pages[@]}" | sed 's/:``/ /; s/``$//'
	grep -oH '`[^`]*`' README.md | sed 's/:`/ /; s/`$//'
	grep -oH '](\./[^)]*)' README.md | sed 's/:](/ /; s/)$//'
}

is_path() {
	local root

	for root in "${roots[@]}" "$BUILD/linux"; do
		[ ! -e "$root/$1" ] || return 0
	done
	# Without the Linux tree nothing can be said of its files.
	[[ ! -d $BUILD/linux && $1 =~ ^(kernel|include|arch|tools/include)/ ]]
}

check_paths() {
	local path='^[a-zA-Z0-9_.-]+(/[a-zA-Z0-9_.-]+)+(/|\.[chS]|\.sh|\.py|\.rst|\.txt|\.md)$'

	literals | while read -r file name; do
		[[ ! $name =~ $path ]] || is_path "$name" || echo "$file: $name does not exist"
	done
}

check_functions() {
	local found=0 path function root

	while IFS=: read -r path function; do
		found=$((found + 1))
		for root in tools/perf/recording tools/perf/util/bpf_skel; do
			[ ! -e "$root/$path" ] || path=$root/$path
		done
		if [ ! -e "$path" ]; then
			echo "$path does not exist"
		elif ! grep -qE "^([a-z].*[ *])?${function%()}\([^;]*$" "$path"; then
			echo "$path does not define $function"
		fi
	done < <(grep -o '``[a-z0-9_/.-]*\.[ch]:[a-z0-9_]*()``' \
		Documentation/perf-record-internals.rst |
		tr -d '`')
	((found)) || echo "perf-record-internals.rst names no FILE:FUNCTION()"
}

# The name of an option is the second argument of its macro. Names in the page may have arguments.
check_options() {
	local page=Documentation/perf-record-options.rst name found=0

	while read -r name; do
		found=$((found + 1))
		grep -qE -- "\`\`${name}[\` ]" $page || echo "$page lacks $name"
	done < <(tr -d '\n' < tools/perf/builtin-record.c |
		grep -oE 'OPT_[A-Z0-9_]+\([^,]+,[[:space:]]*"[a-z-]+"' | sed 's/.*"\(.*\)"/--\1/')
	((found > 80)) || echo "found only $found options in builtin-record.c"
}

tracked() {
	git -c safe.directory='*' "$@"
}

# Outside a repository, as in the tree of a source package, nothing is tracked.
check_stray() {
	tracked rev-parse > /dev/null 2>&1 || return
	tracked ls-files -- ':(glob)*' |
		grep -vxE '\..*|(README|CONTRIBUTING|CHANGELOG)\.md|COPYING|LINUX-BASE|Makefile' |
		sed 's/$/ does not belong in the root/'
	tracked grep -l '^PERFILE2' | sed 's/$/ is a recording/'
}

check "The pages build, and the index lists all of them" build_pages
check "The manual pages build" build_manuals
check "The paths in the pages and in the README exist" check_paths
check "The functions in perf-record-internals.rst exist" check_functions
check "perf-record-options.rst has all options of perf record" check_options
check "No recordings or other stray files are tracked" check_stray
finish
