# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# How the fuzz targets are run: sourced by fuzz_*.sh.
#
# fuzz PROGRAM CORPUS FINDINGS [libFuzzer's arguments]: without arguments a short run. With them a run as
# long as they say, whose findings go to the directory FINDINGS and are the start of the next one.
fuzz() {
	program=$1
	corpus=$2
	findings=$3
	shift 3

	if [ $# = 0 ]; then
		mkdir new
		"$program" -max_total_time=5 -max_len=400 -timeout=10 -seed=1 new "$corpus" >log 2>&1 || {
			status=$?
			cat log
			exit $status
		}
		tail -n 2 log
	else
		mkdir -p "$findings"
		cd "$findings/.." || exit
		exec "$program" -max_len=1000 -timeout=10 "$@" "$findings" "$corpus"
	fi
}
