# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # used, and set, by cost.sh
# Workloads of cost.sh. For each NAME:
#
#	NAME_needs	print what is not installed
#	NAME_start	start the server, once
#	NAME_measure	put load on it for some seconds; set $rate [1/s], $p99 [ms] or nothing, and
#			$cpu [us of the server's CPU time for each request] or nothing
#
#	redis	GET requests by redis-benchmark
#	nginx	requests for a file of 1 kB by wrk
#	pgbench	SELECT transactions by pgbench
#	paced	the same at half of the rate that the server reaches without a recorder: clients
#		begin at times that do not depend on the answers, and the latency counts from there
#	calls	a thread for each CPU multiplies matrices; in all they make 100,000 system calls a
#		second
#	build	compile tools/lib/api and tools/lib/subcmd of the kernel
#
# cost.sh sets $scale [s].

port=$((20000 + $$ % 10000))
jobs=$(nproc)

# missing COMMAND[:PACKAGE]...: print those that are not installed
missing() {
	local tool

	for tool; do
		command -v "${tool%:*}" > /dev/null || printf '%s ' "${tool#*:}"
	done
}

# cpu_time PID: print the CPU time that the process's only busy thread has taken [ns]
cpu_time() {
	local ns

	read -r ns _ < "/proc/$1/schedstat" && echo "$ns"
}

# set_cpu TIME REQUESTS: set $cpu; TIME is what cpu_time() printed before them
set_cpu() {
	cpu=$(awk -v ns=$(($(cpu_time "$server") - $1)) -v requests="$2" \
		'BEGIN { printf "%.3f", ns / 1000 / requests }')
}

redis_needs() {
	missing redis-server redis-benchmark:redis-tools
}

redis_start() {
	redis-server --port "$port" --save '' --appendonly no --dir "$work" > "$work/redis.log" &
	server=$!
	wait_until 10 redis-cli -p "$port" ping > "$work/pong" 2>&1 ||
		fatal "redis-server does not start: $(cat "$work/redis.log")"
}

redis_measure() {
	local before requests=$((scale * 80000))

	before=$(cpu_time "$server")
	redis-benchmark -p "$port" -t get -n "$requests" -c 50 --csv > "$work/csv" ||
		fatal "redis-benchmark fails"
	read -r rate p99 < <(tail -n 1 "$work/csv" | tr -d '"' | awk -F, '{ print $2, $7 }')
	set_cpu "$before" "$requests"
}

nginx_needs() {
	missing nginx:nginx-light wrk
}

nginx_start() {
	mkdir "$work/www"
	head -c 1024 /dev/zero > "$work/www/file"
	cat > "$work/nginx.conf" <<-END
		daemon off;
		worker_processes 1;
		pid $work/nginx.pid;
		error_log $work/nginx.log;
		user root;
		events { }
		http {
			access_log off;
			keepalive_requests 1000000000;
			server { listen 127.0.0.1:$((port + 1)); root $work/www; }
		}
	END
	nginx -c "$work/nginx.conf" 2> "$work/nginx.err" &
	wait_until 10 test -s "$work/nginx.pid" ||
		fatal "nginx does not start: $(cat "$work/nginx.err")"
	server=$(pgrep -P "$(cat "$work/nginx.pid")")
}

nginx_measure() {
	local before requests

	before=$(cpu_time "$server")
	wrk -t 1 -c 50 -d "$scale" --latency "http://127.0.0.1:$((port + 1))/file" > "$work/wrk" ||
		fatal "wrk fails: $(cat "$work/wrk")"
	read -r rate p99 requests < <(awk '
		/^ *99%/ { p99 = $2 ~ /us$/ ? $2 / 1000 : $2 ~ /ms$/ ? $2 + 0 : $2 * 1000 }
		/^Requests\/sec:/ { rate = $2 }
		/ requests in / { requests = $1 }
		END { print rate, p99, requests }' "$work/wrk")
	set_cpu "$before" "$requests"
}

postgres_bin() {
	printf '%s\n' /usr/lib/postgresql/*/bin | tail -n 1
}

pgbench_needs() {
	PATH=$PATH:$(postgres_bin) missing initdb:postgresql pgbench:postgresql-contrib
}

# The server refuses to run as root.
postgres() {
	runuser -u postgres -- "$(postgres_bin)/$1" "${@:2}"
}

pgbench_start() {
	chmod 755 "$work"
	install -d -o postgres "$work/pg"
	{
		postgres initdb -D "$work/pg/data" -A trust --no-sync &&
			postgres pg_ctl -D "$work/pg/data" -w start \
				-o "-p $((port + 2)) -k $work/pg -c listen_addresses=" &&
			postgres pgbench -h "$work/pg" -p $((port + 2)) -i -s 10 postgres
	} < /dev/null > "$work/pg.log" 2>&1 ||
		fatal "PostgreSQL does not start: $(tail -n 3 "$work/pg.log")"
	started+=("$(head -n 1 "$work/pg/data/postmaster.pid")")
}

# select_for_seconds [pgbench options]: the 99th percentile is that of a tenth of the transactions
select_for_seconds() {
	rm -f "$work"/pg/log.*
	postgres pgbench -h "$work/pg" -p $((port + 2)) -S -n -c 8 -T "$scale" \
		-l --sampling-rate=0.1 "$@" \
		--log-prefix="$work/pg/log" postgres > "$work/pgbench" 2>&1 || fatal "pgbench fails"
	rate=$(awk '/^tps/ { print $3 }' "$work/pgbench")
	p99=$(cat "$work"/pg/log.* | awk '{ print $3 / 1000 }' | sort -g |
		awk '{ v[NR] = $1 } END { print v[int(NR * 0.99)] }')
	cpu=
}

pgbench_measure() {
	select_for_seconds
}

paced_needs() {
	pgbench_needs
}

paced_start() {
	[ -d "$work/pg" ] || pgbench_start
	select_for_seconds
	half=$(awk -v rate="$rate" 'BEGIN { print int(rate / 2) }')
}

paced_measure() {
	select_for_seconds --rate="$half"
}

calls_needs() { :; }

# Without a recorder, a thread makes one call in $jobs times 10 us.
calls_start() {
	local us

	"$BUILD/tests/load" compute "$jobs" 200000 < /dev/null > "$work/elapsed"
	us=$(awk '{ print $1 / 200000 * 1e6 }' "$work/elapsed")
	multiply=$(awk -v us="$us" -v jobs="$jobs" 'BEGIN { print int(10 * jobs / us) }')
	[ "$multiply" != 0 ] || multiply=1
}

calls_measure() {
	local each=$((scale * 100000 / jobs))

	"$BUILD/tests/load" mixed "$jobs" "$each" "$multiply" < /dev/null > "$work/elapsed" ||
		fatal "load fails"
	rate=$(awk -v calls=$((each * jobs)) '{ print calls / $1 }' "$work/elapsed")
	p99='' cpu=''
}

build_needs() {
	missing make gcc
}

build_start() { :; }

build_measure() {
	local dir begin=${EPOCHREALTIME/./}

	for dir in api subcmd api subcmd; do
		rm -rf "$work/build"
		mkdir "$work/build"
		make -C "$LINUX/tools/lib/$dir" O="$work/build" OUTPUT="$work/build/" -j "$jobs" \
			> "$work/make.log" 2>&1 || fatal "make fails: $(tail -n 3 "$work/make.log")"
	done
	rate=$(awk -v us=$((${EPOCHREALTIME/./} - begin)) 'BEGIN { print 1e6 / us }')
	p99='' cpu=''
}
