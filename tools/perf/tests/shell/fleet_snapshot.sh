#!/bin/bash
# perf fleet: eight machines, of which three fail, give one archive with bounds for their clocks
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
# tags: night
#
# Each machine is a network namespace and a mount namespace with an sshd and a recorder of its own.
# A library shifts the time of day in its ssh sessions, and so in its recorder. All machines share
# the kernel, so all record the same executions: these must be at the same time in the archive.

[ -n "${fleet_namespaces-}" ] || exec unshare --net --mount env fleet_namespaces=1 "$0" "$@"
. "$(dirname "$0")/lib/recorder.sh"
. "$(dirname "$0")/lib/perfetto.sh"

need perf root shift_clock delays sched:sched_process_exec
need_perfetto_reader
"${TOP:-$tests_dir/../../..}/scripts/install-deps" fleet > "$work/log" 2>&1 ||
	skip "cannot install sshd and ClusterShell: $(tail -n 1 "$work/log")"
sshd=$(command -v sshd || echo /usr/sbin/sshd)

declare -A shift_ns=([h1]=0 [h2]=3000000000 [h3]=-86400000000000 [h4]=1234567 [h5]=-250000 [h6]=0
	[h7]=0 [h8]=77000000)
machines=({h1,h2,h3,h4,h5,h6,h7,h8})
perf=$(command -v "$PERF")

# --- machines ------------------------------------------------------------------------------

# Run as "machine" in the namespaces of the machine: configure it, and become its sshd.
cat > "$work/machine" <<'END'
#!/bin/bash
# machine NAME ADDRESS: $work, $perf, $shift_ns and $sshd are exported
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mkdir -p /run/sshd /var/lib/perf-recorder
mount -t tmpfs -o size=64m tmpfs /var/lib/perf-recorder
shifted="LD_PRELOAD=$BUILD/tests/shift_clock CLOCK_SHIFT_NS=$shift_ns"
sed 's/^root:[^:]*:/root:*:/' /etc/shadow > "$work/$1/shadow"
mount --bind "$work/$1/shadow" /etc/shadow
cat > "$work/$1/sshd_config" <<-CONFIG
	HostKey $work/$1/host_key
	PidFile none
	AuthorizedKeysFile $work/user_key.pub
	PermitRootLogin yes
	StrictModes no
	UsePAM no
	UseDNS no
	SetEnv PATH=$work/$1/bin:/usr/bin:/bin:/usr/sbin:/sbin $shifted
CONFIG
mkdir "$work/$1/bin"
ln -s "$perf" "$work/$1/bin/perf-recorder"
touch "$work/$1/ready"
read -r < "$work/$1/go"
ip link set lo up
ip address add "$2/24" dev eth0
ip link set eth0 up
exec "$sshd" -D -e -f "$work/$1/sshd_config" 2> "$work/$1/log"
END
chmod +x "$work/machine"
export work perf sshd BUILD

mount --make-rprivate /
ip link add fleet type bridge 2> "$work/log" || skip "cannot make a bridge: $(cat "$work/log")"
ip address add 10.77.0.254/24 dev fleet
ip link set fleet up
ip link set lo up
ssh-keygen -q -t ed25519 -N '' -f "$work/user_key"
cp /etc/hosts "$work/hosts"
cat > "$work/ssh_config" <<-END
	Host *
	User root
	IdentityFile $work/user_key
	UserKnownHostsFile $work/known_hosts
	GlobalKnownHostsFile none
END
declare -A machine_pid
for ((i = 1; i <= 8; i++)); do
	name=h$i
	mkdir "$work/$name"
	mkfifo "$work/$name/go"
	ssh-keygen -q -t ed25519 -N '' -f "$work/$name/host_key"
	echo "10.77.0.$i $name" >> "$work/hosts"
	echo "$name $(cut -d ' ' -f 1,2 "$work/$name/host_key.pub")" >> "$work/known_hosts"
	shift_ns=${shift_ns[$name]} unshare --net --mount "$work/machine" "$name" "10.77.0.$i" &
	machine_pid[$name]=$!
done
mount --bind "$work/hosts" /etc/hosts
mounted=(/etc/hosts)
for ((i = 1; i <= 8; i++)); do
	name=h$i
	wait_until 20 test -e "$work/$name/ready" || fatal "no namespaces for $name"
	ip link add "$name" type veth peer name eth0 netns "${machine_pid[$name]}" ||
		fatal "no link to $name"
	ip link set "$name" master fleet up
	echo > "$work/$name/go"
done
listening() {
	local name

	for name in "${machines[@]}"; do
		(: < "/dev/tcp/$name/22") 2> /dev/null || return 1
	done
}
wait_until 20 listening || fatal "sshd does not run: $(cat "$work"/h*/log)"

# fleet COMMAND...: its exit status is $status, its output in $work/fleet.out and fleet.err
fleet() {
	"$PERF" fleet "$@" --ssh "ssh -F $work/ssh_config" > "$work/fleet.out" 2> "$work/fleet.err"
	status=$?
	sed 's/^/#   | /' "$work/fleet.out" "$work/fleet.err"
}

# recorder_of NAME: print the process id
recorder_of() {
	pgrep -f "[c]ontrol=fifo:/run/perf-recorder/default/control" | while read -r pid; do
		[ "/proc/$pid/ns/net" -ef "/proc/${machine_pid[$1]}/ns/net" ] &&
			[ "$(cat "/proc/$pid/comm")" = perf-recorder ] && echo "$pid"
	done
}

# in_machine NAME COMMAND...
in_machine() {
	nsenter -t "${machine_pid[$1]}" --net --mount "${@:2}"
}

# manifest ARCHIVE PYTHON: evaluate an expression with m, the manifest, and h, its machines by name
manifest() {
	tar -xOf "$1" --wildcards '*/manifest.json' | /usr/bin/python3 -c "
import json, sys
m = json.load(sys.stdin)
h = {machine['machine']: machine for machine in m['machines']}
print($2)"
}

marker=$work/marker$$
ln -s /bin/true "$marker"
marked="filename == \"$marker\""
# Options are split at spaces.
record="-a -e sched:sched_process_exec --filter filename==\"$marker\" --keep=60s,64M -m 64K"
record+=" --switch-output"

# --- start ---------------------------------------------------------------------------------

subtest "start: all machines record"
fleet start -w 'h[1-8]' --record "$record"
[ "$status" = 0 ] || error "exit status $status"
grep -qx 'h\[1-8\]: started' "$work/fleet.out" || error "not all are started"
for name in "${machines[@]}"; do
	started+=("$(recorder_of "$name")")
done
fleet status -w 'h[1-8]'
grep -qx 'h\[1-8\]: records' "$work/fleet.out" || error "not all record"

# --- snapshot ------------------------------------------------------------------------------

subtest "a dead machine, a hanging one, a full disk: the others are in the archive"
in_machine h8 sh -c 'head -c 100m /dev/zero > /var/lib/perf-recorder/filler' 2> /dev/null
kill -STOP "${machine_pid[h7]}"
ip link set h6 down
before=$(date +%s.%N)
"$marker"
"$marker"
after=$(date +%s.%N)
fleet snapshot -w 'h[1-8]' -o "$work/incident.tar" --timeout 10
note "event to archive: $(echo "$(date +%s.%N) - $before" | bc) s, of which 10 s are the timeout"
[ "$status" = 1 ] || error "exit status $status, not 1"
[ "$(manifest "$work/incident.tar" "len(h), sorted(n for n in h if 'file' in h[n])")" = \
	"8 ['h1', 'h2', 'h3', 'h4', 'h5']" ] ||
	error "wrong machines: $(manifest "$work/incident.tar" h)"
for failure in 'h6:(No route to host|Connection|no answer to ssh|.*timed out)' \
	'h7:(no answer to ssh within 10 s|.*timed out)' \
	'h8:the recorder answers: .*could not be written'; do
	name=${failure%%:*}
	manifest "$work/incident.tar" "h['$name']['error']" | grep -qE "${failure#*:}" ||
		error "the manifest says of $name: $(manifest "$work/incident.tar" "h['$name']")"
	grep -qE "^perf fleet: $name: .*" "$work/fleet.err" || error "no message about $name"
done
[ "$(tar -tf "$work/incident.tar" | head -n 1)" = incident/manifest.json ] ||
	error "the manifest is not first"
[ "$(stat -c %a "$work/incident.tar")" = 600 ] || error "other users may read the archive"

subtest "each bound contains the true error of the offset"
for name in h1 h2 h3 h4 h5; do
	result=$(manifest "$work/incident.tar" "(lambda c, true: \
		(abs(c['offset_ns'] - true) <= c['bound_ns'], c['offset_ns'] - true, \
		c['bound_ns']))\
		(h['$name']['clock'], ${shift_ns[$name]})")
	note "$name: error and bound [ns]: $result"
	[[ $result = "(True,"* ]] || error "the bound of $name is wrong"
done

subtest "one event is at the same time in all files, on the clock of this machine"
mkdir "$work/files"
tar -xf "$work/incident.tar" -C "$work/files" --strip-components 1
for name in h1 h2 h3 h4 h5; do
	time=$(fields "$work/files/$name.data" time,event --ns |
		awk '/process_exec/ { print $1 + 0; exit }' OFMT=%.9f)
	[ -n "$time" ] || { error "$name has no event"; continue; }
	# The clock pair of the file has microseconds; perf's own clock is not disciplined.
	result=$(manifest "$work/incident.tar" "(lambda f: (lambda t, e: \
		($before - e <= t <= $after + e, t - $before))( \
		$time + (f['clock_pair']['time_of_day_ns'] - f['clock_pair']['clock_ns'] \
		- f['clock']['offset_ns']) / 1e9, \
		f['clock']['bound_ns'] / 1e9 + 1e-4))(h['$name'])")
	note "$name: after the command began [s]: $result"
	[[ $result = "(True,"* ]] || error "the event is at a wrong time"
done

subtest "the trace has the events of all machines, at the same time"
cat > "$work/trace.py" <<-'END'
	import sys
	from perfetto_trace import read_packets
	folder, names = sys.argv[1], sys.argv[4:]
	before, after = float(sys.argv[2]), float(sys.argv[3])
	packets = read_packets(folder + '/trace.pftrace')
	for number, name in enumerate(names, 1):
	    own = [packet for packet in packets if packet.machine == number]
	    tops = [p.track for p in own if p.HasField('track') and not p.track.parent]
	    assert [track.name for track in tops] == [name], name
	    (bound,) = [p.event.annotation[0].number for p in own
	                if p.event.name.startswith('clock within ')]
	    times = sorted(event.time / 1e9 for p in own for event in p.bundle.event
	                   if event.generic.name == 'sched:sched_process_exec')
	    error = bound / 1e9 + 1e-4
	    assert len(times) == 2, (name, times)
	    assert before - error <= times[0] <= times[1] <= after + error, \
	        (name, times, before, after)
END
/usr/bin/python3 "$work/trace.py" "$work/files" "$before" "$after" h1 h2 h3 h4 h5 ||
	error "the trace is wrong"

subtest "a recorder that hangs is named, and answers the next client"
# files_of_h1: print the number of files that the recorder has
files_of_h1() {
	in_machine h1 find /var/lib/perf-recorder/default -name 'perf.data.*' | wc -l
}
has_more_files() {
	[ "$(files_of_h1)" -gt "$files" ]
}
files=$(files_of_h1)
kill -STOP "$(recorder_of h1)"
fleet snapshot -w 'h[1-2]' -o "$work/hang.tar" --timeout 10
[ "$status" = 1 ] || error "exit status $status, not 1"
manifest "$work/hang.tar" "h['h1']['error']" |
	grep -q 'the recorder has not answered\|no answer of the recorder' ||
	error "the manifest says: $(manifest "$work/hang.tar" "h['h1']")"
kill -CONT "$(recorder_of h1)"
fleet status -w h1
[ "$status" = 0 ] || error "exit status $status"
# No command waits for the snapshot that was requested of h1.
wait_until 20 has_more_files || error "the snapshot of h1 is not written"
"$marker"
"$marker"
fleet snapshot -w 'h[1-2]' -o "$work/resumed.tar"
[ "$status" = 0 ] || error "exit status $status"
end=$(stat -c %.9Y "$work/resumed.tar")
note "trigger to archive: $(manifest "$work/resumed.tar" "round($end - m['created_s'], 3)") s"
# The answer to the first command names another file.
tar -xOf "$work/resumed.tar" resumed/h1.data > "$work/h1.data"
[ "$(fields "$work/h1.data" event | grep -c process_exec)" = 2 ] ||
	error "the file of h1 is not the one that was asked for"

subtest "--peers: machines that have connections with the first"
nsenter -t "${machine_pid[h3]}" --net bash -c \
	'exec 3<> /dev/tcp/10.77.0.4/22 && touch "$work/connected" && exec sleep 60' &
connected=$!
wait_until 10 test -e "$work/connected" || error "no connection"
fleet snapshot --peers h3 -w 'h[1-5]' -o "$work/peers.tar"
[ "$(manifest "$work/peers.tar" "sorted(h)")" = "['h3', 'h4']" ] || error "the peers are wrong"
kill "$connected"
# The other end is in the same kernel.
perf_record -q -a -e sock:inet_sock_set_state --filter 'dport == 22' -o "$work/sockets.data" -- \
	bash -c ': < /dev/tcp/10.77.0.2/22'
fleet snapshot --peers "$work/sockets.data" -w 'h[1-5]' -o "$work/peers2.tar"
[ "$(manifest "$work/peers2.tar" "sorted(h)")" = "['h2']" ] || error "wrong peers in the file"

subtest "a recorder with another user can only name files of its own"
# The directories are those of a service with DynamicUser=yes: links to what only root may enter.
cat > "$work/fake" <<-'END'
	#!/bin/bash
	# fake NAME [FILE]: answer each request with this file; clients find the answers in FILE
	cd /var/lib/perf-recorder/private/fake && exec 5< /run/perf-recorder/fake || exit
	run=/proc/self/fd/5 setpriv --reuid=65534 --regid=65534 --clear-groups bash -c '
		exec 8<> $run/control 7<> $run/answers
		echo content > perf.data.2026112300000000
		ln -s /etc/shadow perf.data.2026112300000001
		ln -sf /var/lib/perf-recorder/fake/perf.data.2026112300000002 $run/lock
		[ -z "${1-}" ] || ln -sf "$1" $run/answers
		echo > $run/ready
		while read -r _ id <&8; do echo "ack $id $0" >&7; done' "$@"
END
chmod +x "$work/fake"
in_machine h4 bash -c 'cd /var/lib/perf-recorder && mkdir -m 700 private private/fake &&
	ln -s private/fake fake && mkdir -m 700 /run/private /run/private/fake &&
	ln -s ../private/fake /run/perf-recorder/fake &&
	mkfifo /run/private/fake/{control,answers} &&
	echo secret > private/fake/perf.data.2026112300000002 &&
	chmod 600 private/fake/* && chown 65534:65534 private/fake /run/private/fake{,/*}' ||
	error "cannot prepare the directories"
for file in perf.data.2026112300000000 ../../perf.data.2026112300000000 /etc/shadow \
	perf.data.2026112300000001 perf.data.2026112300000002 perf.data \
	"perf.data.2026112300000003 $work/secret"; do
	in_machine h4 rm -f /var/lib/perf-recorder/fake/perf.data.2026112300000001 \
		/run/perf-recorder/fake/ready
	# shellcheck disable=SC2086 # one or two arguments
	nsenter -t "${machine_pid[h4]}" --net --mount "$work/fake" $file &
	fake=$!
	rm -f "$work/fake.tar"
	wait_until 10 in_machine h4 test -e /run/perf-recorder/fake/ready || error "no recorder"
	fleet snapshot -w h4 --instance fake --timeout 5 -o "$work/fake.tar"
	pkill -P "$fake"
	wait "$fake" 2> /dev/null
	case $file in
	*0000)	[ "$(tar -xOf "$work/fake.tar" fake/h4.data 2>&1)" = content ] ||
			error "wrong file for $file" ;;
	*)	[ "$status" = 255 ] || error "a file is copied for $file" ;;
	esac
done
[ ! -e "$work/secret" ] || error "root has written a file"

subtest "a trigger on one machine asks all, once"
cat > "$work/hook" <<-END
	#!/bin/sh
	exec "$perf" fleet snapshot -w 'h[1-3]' --ssh 'ssh -F $work/ssh_config' \\
		-o "$work/trigger.tar" "\$@"
END
chmod +x "$work/hook"
ln -s /bin/true "$marker.trigger"
recorder_start -a -e sched:sched_process_exec --filter "$marked" --keep=60s,64M --switch-output \
	--switch-output-event sched:sched_process_exec --filter "filename == \"$marker.trigger\"" \
	--exec-snapshot "$work/hook" -o "$work/local"
"$marker"
"$marker.trigger"
wait_until 30 test -e "$work/trigger.tar" || error "no archive"
control snapshot || error "no snapshot"
recorder_stop
[ "$(manifest "$work/trigger.tar" "m['reason'], len(h), sum('file' in f for f in h.values())")" = \
	"sched:sched_process_exec 4 4" ] ||
	error "wrong manifest: $(manifest "$work/trigger.tar" "m")"
! grep -q 'has failed' "$work/record.err" || error "the command failed: it asked all again"

subtest "a condition on one machine asks all, and the manifest says who took how long"
rm "$work/trigger.tar"
ln -s "$BUILD/tests/delays" "$work/dly$$"
recorder_start -a -e sched:sched_process_exec --filter "$marked" --keep=60s,64M --switch-output \
	--switch-output-when "syscall>23ms if comm==dly$$" --cooldown=1h \
	--exec-snapshot "$work/hook" -o "$work/local"
"$marker"
"$work/dly$$" syscall 41 > "$work/truth"
wait_until 30 test -e "$work/trigger.tar" || error "no archive"
recorder_stop
reason=$(manifest "$work/trigger.tar" "m['reason'], len(h), sum('file' in f for f in h.values())")
note "$reason"
tid=$(cut -d ' ' -f 1 "$work/truth")
[[ $reason =~ ^"syscall>23ms if comm==dly$$: dly$$ (pid "[0-9]+", tid $tid".*" ms; from "[0-9.]+" to "[0-9.]+" 4 4"$ ]] ||
	error "wrong manifest: $(manifest "$work/trigger.tar" "m")"

subtest "a snapshot that a condition has requested before fleet did says so"
fleet start -w h3 --instance slow --record "$record --switch-output-when=off-cpu(T)>23ms"
slow=$(pgrep -f '[c]ontrol=fifo:/run/perf-recorder/slow/control' | while read -r pid; do
	[ "$(cat "/proc/$pid/comm")" = perf-recorder ] && echo "$pid"
done)
sleep 100 &
stopped=$!
wait_until 10 grep -qx sleep "/proc/$stopped/comm" || error "sleep does not run"
# When the recorder goes on, both requests have arrived, unless ssh took too long.
kill -STOP "$slow"
kill -STOP "$stopped"
sleep 0.1
kill -CONT "$stopped"
{ sleep 4; kill -CONT "$slow"; } &
fleet snapshot -w h3 --instance slow -o "$work/slow.tar"
[ "$status" = 0 ] || error "exit status $status"
cause=$(manifest "$work/slow.tar" "h['h3'].get('cause')")
note "$cause"
[ "$cause" != None ] || inconclusive "fleet has asked too late"
[ "$cause" = None ] ||
	[[ $cause =~ ^"off-cpu(T)>23ms: sleep (pid $stopped, tid $stopped".*", in state T"(; from .*)?$ ]] ||
	error "not as expected: $(manifest "$work/slow.tar" h)"
kill "$stopped"
fleet stop -w h3 --instance slow

# --- stop ----------------------------------------------------------------------------------

subtest "stop"
fleet stop -w 'h[1-5]'
[ "$status" = 0 ] || error "exit status $status"
grep -qx 'h\[1-5\]: stopped' "$work/fleet.out" || error "not all are stopped"
fleet status -w 'h[1-2]'
[ "$status" = 255 ] || error "exit status $status, not 255"
kill -CONT "${machine_pid[h7]}"

finish
