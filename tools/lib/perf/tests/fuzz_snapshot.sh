#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Snapshots of rings with anything in them give records, and account for the rest
# tags: fast
#
# Without arguments a short run of libFuzzer. With arguments, which are libFuzzer's: a run as long as
# they say, whose findings go to build/tests/fuzz_snapshot-corpus and are the start of the next one.
set -eu

fuzzer=$BUILD/tests/fuzz_snapshot
corpus=$(dirname "$(readlink -f "$0")")/corpus

if [ $# = 0 ]; then
	mkdir new
	"$fuzzer" -max_total_time=5 -max_len=400 -timeout=10 -seed=1 new "$corpus" >log 2>&1 || {
		status=$?
		cat log
		exit $status
	}
	tail -n 2 log
else
	findings=$fuzzer-corpus
	mkdir -p "$findings"
	cd "$findings/.."
	exec "$fuzzer" -max_len=1000 -timeout=10 "$@" "$findings" "$corpus"
fi
