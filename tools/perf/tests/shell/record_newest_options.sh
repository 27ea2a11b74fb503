#!/bin/bash
# perf record: options change the events as with the newest perf that Debian offers
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 240
# tags: parallel
# needs: newest-perf
#
# The attributes of both perfs differ without any option: this recorder has events of its own for
# side-band records. What is compared is the difference that an option makes.

# shellcheck source=lib/harness.sh
. "$(dirname "$0")/lib/harness.sh"

need_perf
need_root
[ -x "${NEWEST_PERF:-}" ] || skip "no newer perf: make newest-perf could not download it"
note "$("$PERF" --version), and as peer $("$NEWEST_PERF" --version)"

# Each adds something to this command. Those that change different attributes are tested together.
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
side_band='mmap|mmap2|mmap_data|comm|comm_exec|task|context_switch|namespaces|cgroup|ksymbol|bpf_event|defer_output'

# attributes PERF OPTION...: record with these options. Print the attributes of the event, and those for
# side-band records of all events, one a line. The place of the id in a sample is no concern of options.
attributes() {
	local perf=$1

	shift
	rm -f "$work/data"
	"$perf" record -q -B -o "$work/data" "${base[@]}" "$@" -- true > "$work/record.err" 2>&1 || {
		echo refused
		return
	}
	"$NEWEST_PERF" evlist -v -i "$work/data" 2> /dev/null | awk -F ', ' -v side_band="^($side_band): 1" '{
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
	comm -3 "$work/without.$(basename "$(dirname "$1")")" "$work/with" | sed -E 's/^\t/+/; s/^([^+])/-\1/'
}

for perf in "$PERF" "$NEWEST_PERF"; do
	attributes "$perf" > "$work/without.$(basename "$(dirname "$perf")")"
done
for options in "${cases[@]}"; do
	subtest "$options"
	# shellcheck disable=SC2086 # several words
	ours=$(changes "$PERF" $options)
	# shellcheck disable=SC2086 # several words
	theirs=$(changes "$NEWEST_PERF" $options)
	[ "$ours" = "$theirs" ] || error "this perf: $(xargs <<< "$ours"); the newest: $(xargs <<< "$theirs")"
done

finish
