# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # $work and $tests_dir are set by those who source this
# Read traces of Perfetto in Python, as perfetto_trace and perfetto_tables do.

[ -z "${perfetto_sh-}" ] || return 0
perfetto_sh=1

# has_perfetto_reader: compile the schema; programs in Python may then import perfetto_trace
has_perfetto_reader() {
	command -v protoc > /dev/null &&
		/usr/bin/python3 -c 'import google.protobuf' 2> /dev/null ||
		return
	mkdir -p "$work/perfetto"
	protoc -I "$tests_dir/shell/lib" --python_out="$work/perfetto" perfetto.proto ||
		fatal "protoc fails"
	export PYTHONPATH="$work/perfetto:$PYTHONPATH"
}

need_perfetto_reader() {
	has_perfetto_reader || skip "protoc, or protobuf for Python, is not installed"
}
