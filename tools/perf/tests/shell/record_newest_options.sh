#!/bin/bash
# perf record: options and compressed files of the newest perf that Debian offers
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 240
# tags: parallel
# needs: newest-perf
#
# The attributes of both perfs differ without any option: this recorder has events of its own for
# side-band records. The test compares the differences that an option makes.

. "$(dirname "$0")/lib/harness.sh"

need perf root
[ -x "${NEWEST_PERF:-}" ] || skip "no newer perf: make newest-perf could not download it"
note "$("$PERF" --version), and as peer $("$NEWEST_PERF" --version)"

# Each line of options is added to this command. Options of different attributes share a line.
base=(-e cpu-clock)
cases=(
	'--latency --data-mmap --sample-mem-info'
	'-d' '-d --no-data-mmap' '--call-graph dwarf' '--call-graph dwarf,1024 --no-data-mmap'
	'-g' '-g --kernel-callchains' '-g --user-callchains --all-user'
	'--phys-data --data-page-size --code-page-size -W --transaction -R -P --sample-cpu'
	'-T --sample-identifier --running-time -s -F 99 -k monotonic'
	'--no-timestamp -c 1000 -i --all-kernel' '-n'
	'--intr-regs=ip --user-regs=ip,sp'
	'--switch-events --namespaces --all-cgroups --no-bpf-event'
	'-a -i' '-C 0 -i' '-a --latency'
)

# The attributes that side-band records come from: of any event
side_band='mmap|mmap2|mmap_data|comm|comm_exec|task|context_switch|namespaces|cgroup|ksymbol'
side_band+='|bpf_event|defer_output'

# attributes PERF OPTION...: record with these options. Print the attributes of the event, and those
# for side-band records of all events, one a line, without the place of the id in a sample.
attributes() {
	local perf=$1

	shift
	rm -f "$work/data"
	"$perf" record -q -B -o "$work/data" "${base[@]}" "$@" \
		-- true > "$work/record.err" 2>&1 || {
		echo refused
		return
	}
	"$NEWEST_PERF" evlist -v -i "$work/data" 2> /dev/null |
		awk -F ', ' -v side_band="^($side_band): 1" '{
		for (i = 2; i <= NF; i++) {
			if ($i ~ /^(sample|read|branch_sample)_(type|format): /) {
				name = $i; sub(/: .*/, "", name); sub(/.*: /, "", $i)
				n = split($i, bits, "|")
				for (j = 1; j <= n && /^cpu-clock:/; j++)
					if (bits[j] !~ /^(ID|IDENTIFIER)$/)
						print name ": " bits[j]
			} else if ($i ~ side_band || (/^cpu-clock:/ && $i !~ /^(size|build_id):/)) {
				print $i
			}
		}
	}' | sort -u
}

# changes PERF OPTION...: print the attributes that the options add and remove
changes() {
	attributes "$@" > "$work/with"
	grep -x refused "$work/with" && return
	comm -3 "$work/without.$(basename "$(dirname "$1")")" "$work/with" |
		sed -E 's/^\t/+/; s/^([^+])/-\1/'
}

# long_options PERF: print the names of all options of perf record
long_options() {
	"$1" record -h 2>&1 | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p' | sort
}

subtest "there are all options of the newest perf"
long_options "$NEWEST_PERF" > "$work/theirs"
(($(wc -l < "$work/theirs") > 50)) || error "only $(wc -l < "$work/theirs") options"
missing=$(long_options "$PERF" | comm -13 - "$work/theirs")
[ -z "$missing" ] || error "this perf lacks $missing"

# The newest perf writes PERF_RECORD_COMPRESSED2, which the perf of Linux 6.12 does not know.
subtest "a compressed file of the newest perf is read"
if ! "$NEWEST_PERF" record -q -B -z -F 999 -e cpu-clock -o "$work/compressed" -- \
		sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done' \
		2> "$work/record.err"; then
	inconclusive "the newest perf does not compress"
elif "$PERF" --version | grep -q ' 6\.12'; then
	inconclusive "this perf is that of Linux 6.12"
else
	samples=$(fields "$work/compressed" event | wc -l)
	theirs=$("$NEWEST_PERF" script -i "$work/compressed" -F event 2> /dev/null | wc -l)
	((samples == theirs && samples > 0)) || error "$samples samples instead of $theirs"
	"$NEWEST_PERF" report --stats -i "$work/compressed" 2> /dev/null | grep -q COMPRESSED2 ||
		inconclusive "the newest perf has not written PERF_RECORD_COMPRESSED2"
fi

for perf in "$PERF" "$NEWEST_PERF"; do
	attributes "$perf" > "$work/without.$(basename "$(dirname "$perf")")"
done
# compare OPTION...: do the options change the same with both perfs?
compare() {
	local ours theirs

	ours=$(changes "$PERF" "$@")
	theirs=$(changes "$NEWEST_PERF" "$@")
	[ "$ours" = "$theirs" ] ||
		error "this perf: $(xargs <<< "$ours"); the newest: $(xargs <<< "$theirs")"
}

for options in "${cases[@]}"; do
	subtest "$options"
	# shellcheck disable=SC2086 # several words
	compare $options
done

export PERF_CONFIG=$work/config
for variable in 'call-graph = dwarf,1024' 'build-id = no-mmap' 'build-id = nonsense'; do
	subtest "configuration: record.$variable"
	printf '[record]\n\t%s\n' "$variable" > "$PERF_CONFIG"
	compare -g --no-data-mmap
done

finish
