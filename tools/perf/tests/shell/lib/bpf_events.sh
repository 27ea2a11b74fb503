# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # used, and set, by those who source this
# Record events that BPF programs write, and compare their samples with those of perf.

. "${BASH_SOURCE[0]%/*}/numbered.sh"

need_numbered

# The table of tools/perf/recording/ring/bpf_events.c, and some of the single system calls
bpf_events=(raw_syscalls:{sys_enter,sys_exit}
	sched:sched_{switch,waking,wakeup,wakeup_new,migrate_task,stat_runtime}
	sched:sched_process_{fork,exit}
	irq:{irq_handler_entry,irq_handler_exit,softirq_entry,softirq_exit,softirq_raise}
	exceptions:page_fault_{user,kernel}
	timer:{timer,hrtimer}_{start,cancel,expire_entry,expire_exit}
	block:block_rq_{insert,issue,complete}
	net:{net_dev_queue,net_dev_xmit,netif_rx,netif_receive_skb} napi:napi_poll
	workqueue:workqueue_{queue_work,activate_work,execute_start,execute_end}
	syscalls:sys_{enter,exit}_{close,openat,read,write,mmap,newfstat,sendto,brk,execve,futex})

enter=raw_syscalls:sys_enter

# Options of same_samples.py
context=()
grep -qwE '__preempt_count|pcpu_hot' /proc/kallsyms || context=(--without-context)

# existing EVENT...: set $events to those that this kernel has
existing() {
	local event

	events=()
	for event; do
		! has_tracepoint "$event" || events+=("$event")
	done
}

# same_samples: the samples of both rings in $work/data are equal. $work/same has a line for each
# event. Fails if that is not known, as events were lost.
same_samples() {
	"${tests_dir}/shell/lib/same_samples.py" "$work/data" "${context[@]}" "${events[@]}" \
		> "$work/same"
	case $? in
	2)	inconclusive "events were lost"
		return 1
		;;
	1)	error "samples differ" ;;
	esac
	note "$(grep -E '^(differ|more|#)' "$work/same" | head -n 5)"
	! grep -q '^more' "$work/same" || inconclusive "perf lacks samples"
}
