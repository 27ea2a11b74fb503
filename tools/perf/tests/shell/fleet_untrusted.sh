#!/bin/bash
# perf fleet: answers of machines are checked, and no machine is waited for longer than the timeout
# SPDX-License-Identifier: GPL-2.0-only
# tags: parallel
# timeout: 300

. "$(dirname "$0")/lib/harness.sh"
. "$(dirname "$0")/lib/perfetto.sh"

need perf
/usr/bin/python3 -c 'import ClusterShell' 2> /dev/null ||
	skip "python3-clustershell is not installed"
unset PERF_SNAPSHOT_REASON
mkdir "$work/home"
export HOME=$work/home
cd "$work" || exit 1

# The answers of each machine: "good" answers as remote.sh does. The name comes before the command.
cat > "$work/ssh" <<'END'
#!/bin/bash
name=${*: -2:1} command=${*: -1}
[[ $command =~ head\ -c\ ([0-9]+) ]] && head -c "${BASH_REMATCH[1]}" > "${0%/*}/text.$name"
name=${name#*@}
facts() { printf 'perf-fleet\nkernel 6.1\nperf perf version 6.12\n'"$peers"'ready\n'; }
clocks() { for _ in {1..8}; do read -r; echo "time $EPOCHREALTIME"; done; read -r; }
file() { echo "size ${1-6} 1.5 time ${2-perf.data.2026112310461093}"; read -r; }
case $name in
social)		peers='peer 10.7.0.1\npeer 10.7.0.2\npeer 10.7.0.3\n'
		facts; clocks; file; printf abcdef ;;
good* | *:* | 10.7.*)	facts; clocks; file; printf abcdef ;;
noisy)		echo "Welcome!"; facts; clocks; file; printf abcdef ;;
escape)		facts; clocks; file 6 ../../../etc/passwd; printf abcdef ;;
more)		facts; clocks; file 6; printf 'abcdef and more' ;;
chrony)		printf '%s\n' perf-fleet "chrony $("${0%/*}/bin/chronyc")" ready
		clocks; file; printf abcdef ;;
dead)		echo "ssh: connect to host dead port 22: No route to host" >&2; exit 255 ;;
early)		facts; clocks; file 1000; printf abcdef ;;
large)		facts; clocks; file 99999999999999 ;;
number)		facts; clocks; file -6 ;;
wrong)		facts; clocks; echo "size" ;;
other)		echo perf-fleet; echo "file /etc/passwd" ;;
noclock)	facts; while read -r; do echo "time 12"; done ;;
error)		echo perf-fleet; printf 'error red \033[31m\007 text\n' ;;
long)		echo perf-fleet; head -c 1m /dev/zero | tr '\0' x ;;
flood)		yes ;;
facts)		echo perf-fleet; yes "kernel 6.1" ;;
hang)		facts; exec sleep 60 ;;
deaf)		trap '' TERM HUP; exec sleep 60 ;;
real)	facts; clocks; file "$(stat -c %s real.data)"; cat real.data ;;
ahead)		facts
		for _ in {1..8}; do
			read -r
			echo "time $((${EPOCHREALTIME%.*} + 3)).${EPOCHREALTIME#*.}"
		done
		read -r; file "$(stat -c %s real.data)"; cat real.data ;;
trickle)	facts; clocks; file 6; printf abc; exec sleep 60 ;;
esac
END
chmod +x "$work/ssh"

# fleet COMMAND...: its exit status is $status, its output in $work/out and err
fleet() {
	"$PERF" fleet "$@" --ssh "$work/ssh" > "$work/out" 2> "$work/err"
	status=$?
}

# manifest PYTHON: evaluate an expression with m, the manifest of t.tar, and h, its machines by name
manifest() {
	tar -xOf "$work/t.tar" t/manifest.json | /usr/bin/python3 -c "
import json, sys
m = json.load(sys.stdin)
h = {machine['machine']: machine for machine in m['machines']}
print($1)"
}

# snapshot STATUS OPTIONS...: write t.tar
snapshot() {
	local expected=$1

	rm -f "$work/t.tar"
	fleet snapshot -o t.tar "${@:2}"
	[ "$status" = "$expected" ] ||
		error "exit status $status, not $expected: $(cat "$work/err")"
	[ -z "$(compgen -G "$work/.t.*")" ] || error "files are left: $(echo .t.*)"
}

subtest "good machines: one archive, whose first file is the manifest"
snapshot 0 -w 'good[1-3],noisy,more,good[10-40]' -x 'good[11-40]'
[ "$(tar -tf t.tar | head -n 1)" = t/manifest.json ] || error "the manifest is not first"
[ "$(tar -tf t.tar | sort | xargs)" = \
	"$(echo t/{good1,good10,good2,good3}.data t/manifest.json t/{more,noisy}.data)" ] ||
	error "$(tar -tvf t.tar)"
for name in good1 noisy more; do
	[ "$(tar -xOf t.tar "t/$name.data")" = abcdef ] || error "wrong file of $name"
done
keys="'kernel', 'perf', 'size', 'complete_s', 'limit', 'remote_file'"
[ "$(manifest "[h['good1'][i] for i in ($keys)]")" = \
	"['6.1', 'perf version 6.12', 6, 1.5, 'time', 'perf.data.2026112310461093']" ] ||
	error "wrong manifest: $(manifest m)"
clock="h['good1']['clock']"
[ "$(manifest "abs(${clock}['offset_ns']) <= ${clock}['bound_ns']")" = True ] || error "wrong clock"
grep -qE '^t.tar: 6 of 6 machines, .* clocks within [0-9.]+ ms' out || error "printed: $(cat out)"

subtest "--peers: -x leaves out peers"
snapshot 0 --peers social -x '10.7.0.[2-3]'
[ "$(manifest "sorted(h)")" = "['10.7.0.1', 'social']" ] || error "$(manifest "sorted(h)")"

subtest "users and IPv6 addresses are names of machines"
snapshot 0 -w 'root@good[1-2],::1,[fe80::2],::ffff:10.0.0.1,u@[fe80::3]'
[ "$(manifest "sorted(h)")" = \
	"['::1', '::ffff:10.0.0.1', 'fe80::2', 'root@good1', 'root@good2', 'u@fe80::3']" ] ||
	error "wrong machines: $(manifest "sorted(h)")"

subtest "a file name from a machine does not reach the archive"
snapshot 0 -w escape
[ "$(tar -tf t.tar | xargs)" = "t/manifest.json t/escape.data" ] || error "$(tar -tf t.tar)"

subtest "chrony on both machines bounds the offset"
mkdir "$work/bin"
cat > "$work/bin/chronyc" <<-'END'
	#!/bin/sh
	echo 0A4D0001,ntp,2,1.5,0.0000001,0,0,0,0,0,0.0000002,0.0000003,16,Normal
END
chmod +x "$work/bin/chronyc"
PATH=$work/bin:$PATH snapshot 0 -w chrony,good
[ "$(manifest "h['chrony']['clock']")" = \
	"{'offset_ns': 0, 'bound_ns': 1002, 'source': 'chrony'}" ] ||
	error "wrong clock: $(manifest "h['chrony']['clock']")"
[ "$(manifest "h['good']['clock']['source']")" = "round trips" ] || error "the other has no chrony"

# expect NAME REGEXP: the reason that the manifest and a message give for the failure of a machine
expect() {
	manifest "h['$1']['error']" > "$work/reason"
	grep -qE "$2" "$work/reason" || error "the manifest says of $1: $(cat "$work/reason")"
	grep -qF "perf fleet: $1: $(cat "$work/reason")" "$work/err" || error "no message about $1"
}

subtest "wrong answers fail the machine, and no other"
snapshot 1 -w good,dead,early,large,number,wrong,other,noclock,error,long,flood,facts --timeout 20
[ "$(manifest "[n for n in h if 'file' in h[n]]")" = "['good']" ] || error "not only one file"
expect dead 'No route to host'
expect early 'connection ended, waiting for: more than 0 of 1000 bytes'
expect large '99999999999999 bytes.*--max-size'
expect number 'describes its file in a wrong way'
expect wrong 'describes its file in a wrong way'
expect other 'sends "file"'
expect noclock 'no time of day'
expect error '^red \?\[31m\? text$'
expect long 'too long'
expect flood 'prints too much'
expect facts 'sends too many facts'

subtest "machines that hang are given up after the timeout"
before=$SECONDS
snapshot 1 -w good,hang,deaf,trickle --timeout 3
((SECONDS - before < 50)) || error "perf fleet waited for $((SECONDS - before)) s"
expect hang 'no time of day within 3 s'
expect deaf 'no answer to ssh within 3 s'
expect trickle 'no more than 0 of 6 bytes within 3 s'

subtest "SIGTERM: no file is left"
rm -f t.tar text.hang
"$PERF" fleet snapshot -w hang -o t.tar --ssh "$work/ssh" 2> err &
wait_until 20 test -s text.hang || error "ssh is not run"
pkill -TERM -P $!
wait $!
status=$?
[ "$status" = 130 ] || error "exit status $status"
[ ! -e t.tar ] && [ -z "$(compgen -G "$work/.t.*")" ] || error "files are left: $(echo .t.*)"

subtest "a limit of the size"
snapshot 1 -w 'good[1-3]' --max-size=12B --fanout=1
[ "$(manifest "sum('file' in f for f in h.values())")" = 2 ] || error "wrong number of files"

subtest "without ssh, or any file, there is no archive"
"$PERF" fleet snapshot -w good -o t2.tar --ssh "$work/no-ssh" 2> err
[ $? = 255 ] || error "wrong exit status"
grep -q 'good: cannot run ssh: No such file' err || error "printed: $(cat err)"
snapshot 255 -w dead
[ ! -e t.tar ] || error "an archive is written"
grep -q 'no machine has a snapshot' err || error "no message"

subtest "an archive that exists is not replaced"
echo old > t.tar
fleet snapshot -w good -o t.tar
[ "$status" = 255 ] && [ "$(cat t.tar)" = old ] || error "exit status $status"

subtest "a command of --exec-snapshot asks all only if an event was the trigger"
echo local > perf.data.1
rm t.tar
PERF_SNAPSHOT_REASON=control fleet snapshot -w good -o t.tar perf.data.1
[ "$status" = 0 ] && [ ! -e t.tar ] || error "exit status $status"
export PERF_SNAPSHOT_REASON=sched:sched_switch
snapshot 0 -w "good,$(hostname)" perf.data.1
unset PERF_SNAPSHOT_REASON
[ "$(manifest "m['reason'], len(h)")" = "sched:sched_switch 2" ] || error "$(manifest m)"
[ "$(tar -xOf t.tar "t/$(hostname).data")" = local ] || error "the local file is missing"

subtest "a trace of two machines: times and process ids are moved, and nothing else"
cat > "$work/rewrite.py" <<-'END'
	import sys
	sys.dont_write_bytecode = True
	sys.path.append(sys.argv[1])
	from fleet import chrome, merge
	result = {'machine': 'n2', 'clock': {'offset_ns': -7000000},
	          'clock_pair': {'time_of_day_ns': 1795430770000000001,
	                         'clock_ns': 1000000051736000000}}
	shift = merge.clock_shift(result) + (1000000000 - 1795000000) * 10**9
	for line in sys.stdin.buffer:
	    event = chrome.rewrite(line, 2, b'n2', shift)
	    if event:
	        sys.stdout.buffer.write(event + b'\n')
END
cat > "$work/lines" <<-'END'
	{"traceEvents":[
	{"ph":"M","pid":5000000,"tid":5000000,"name":"process_name","args":{"name":"CPUs"}},
	{"ph":"M","pid":5000000,"tid":5000000,"name":"process_sort_index","args":{"sort_index":-2}},
	{"ph":"M","pid":18,"tid":19,"name":"process_name","args":{"name":"a\"name\":"}},
	{"ph":"i","pid":18,"tid":19,"ts":51736000.000,"name":"x \"id\":1","s":"t","args":{"pid":18}},
	{"ph":"s","pid":5000000,"tid":5000001,"ts":51736000.001,"name":"wakeup","cat":"wakeup","id":3},
	{"ph":"E","pid":18,"tid":18,"ts":-430822000000.000},
	{"ph":"i","pid":10000123,"tid":1,"ts":51736000.000,"name":"of another machine","s":"t"},
	{"ph":"i","pid":1,"tid":4294967295,"ts":51736000.000,"name":"of another machine","s":"t"}
	],
	"displayTimeUnit":"ns",
END
cat > "$work/expected" <<-'END'
	{"ph":"M","pid":25000000,"tid":25000000,"name":"process_name","args":{"name":"n2: CPUs"}}
	{"ph":"M","pid":25000000,"tid":25000000,"name":"process_sort_index","args":{"sort_index":18}}
	{"ph":"M","pid":20000018,"tid":20000019,"name":"process_name","args":{"name":"n2: a\"name\":"}},
	{"ph":"M","pid":20000018,"tid":20000019,"name":"process_sort_index","args":{"sort_index":20}}
	{"ph":"i","pid":20000018,"tid":20000019,"ts":430770007000.001,"name":"x \"id\":1","s":"t","args":{"pid":18}}
	{"ph":"s","pid":25000000,"tid":25000001,"ts":430770007000.002,"name":"wakeup","cat":"wakeup","id":8589934595}
	{"ph":"E","pid":20000018,"tid":20000018,"ts":-103728999.999}
END
/usr/bin/python3 "$work/rewrite.py" "$tests_dir/.." < "$work/lines" > "$work/rewritten" ||
	error "the trace cannot be rewritten"
diff "$work/expected" "$work/rewritten" || error "the events are wrong"

subtest "a recording in the archive and in the trace"
"$PERF" record -q -e page-faults:u -o real.data -- true 2> err || error "cannot record: $(cat err)"
snapshot 0 -w real --trace chrome
[ "$(manifest "m['trace'], h['real']['lost_events'], \
	h['real']['last_s'] >= h['real']['first_s'] > 0")" = \
	"['real'] 0 True" ] || error "wrong manifest: $(manifest m), $(cat err)"
tar -xOf t.tar t/trace.json.gz | gzip -d | /usr/bin/python3 -c "
import json, sys
names = {event.get('name') for event in json.load(sys.stdin)['traceEvents']}
sys.exit('page-faults:u' not in names)" || error "the trace does not have the event"

subtest "two machines in a trace of Perfetto: each has its times, tracks and name"
# The clock of "ahead" is ahead by 3 s: what its file has happened 3 s earlier than that of "real".
if has_perfetto_reader; then
	snapshot 0 -w real,ahead
	tar -xOf t.tar t/trace.pftrace > merged.pftrace
	fields real.data time,event --ns > script
	tar -xOf t.tar t/manifest.json > manifest.json
	cat > "$work/merged.py" <<-'END'
		import json
		from perfetto_trace import read_packets
		manifest = json.load(open('manifest.json'))
		times = sorted(int(line.split(':')[0].replace('.', '')) for line in open('script'))
		packets = read_packets('merged.pftrace')
		host = [p for p in packets if not p.machine]
		assert {c.id: c.time for p in host for c in p.clocks.clock} == \
		    dict.fromkeys((1, 6), host[0].clocks.clock[0].time)
		assert abs(host[0].clocks.clock[0].time - manifest['created_s'] * 1e9) < 2000, \
		    host[0]
		assert any(p.event.name == 'request' for p in host)
		first, sequences, uuids = {}, set(), set()
		for number, result in enumerate(manifest['machines'], 1):
		    own = [p for p in packets if p.machine == number]
		    # To times of the collector, as the manual describes
		    pair = result['clock_pair']
		    shift = pair['time_of_day_ns'] - pair['clock_ns'] - result['clock']['offset_ns']
		    found = sorted(p.time for p in own if p.HasField('sample'))
		    assert found == [time + shift for time in times] and found, (result, found[:3])
		    first[result['machine']] = found[0]
		    assert not any(p.HasField('clocks') for p in own)
		    tracks = {p.track.uuid: p.track for p in own if p.HasField('track')}
		    top = [track for track in tracks.values() if not track.parent]
		    assert [track.name for track in top] == [result['machine']], top
		    bounds = [p.event.annotation[0].number for p in own
		              if p.event.track == top[0].uuid
		              and p.event.name.startswith('clock within ')]
		    assert bounds == [result['clock']['bound_ns']], bounds
		    assert all(process.cmdline[0].startswith(result['machine'] + ': ')
		               for p in own for process in p.tree.process if process.cmdline)
		    assert any(process.cmdline for p in own for process in p.tree.process)
		    assert own[0].system.utsname.machine
		    assert not sequences & {p.sequence for p in own} and not uuids & set(tracks)
		    sequences |= {p.sequence for p in own}
		    uuids |= set(tracks)
		assert len(first) == 2, first
		# Both files are the same. The clocks are compared within their bounds.
		bound = sum(result['clock']['bound_ns'] for result in manifest['machines'])
		assert abs(first['real'] - first['ahead'] - 3 * 10**9) <= bound, (first, bound)
		print(f'# within {bound} ns: {first["real"] - first["ahead"] - 3 * 10**9} ns')
	END
	/usr/bin/python3 "$work/merged.py" || error "the trace is wrong: $(cat err)"
	snapshot 0 -w real --trace none
	[ "$(tar -tf t.tar | xargs)" = "t/manifest.json t/real.data" ] || error "$(tar -tf t.tar)"
else
	inconclusive "no reader of Perfetto's traces"
fi

subtest "packets with tracks, numbers or fields that perf does not write are left out"
cat > "$work/packets.py" <<-'END'
	import sys
	import zlib
	sys.dont_write_bytecode = True
	sys.path.append(sys.argv[1])
	from fleet.merge import TraceError
	from fleet.perfetto import (CLOCKS, COMPRESSED, DEFAULTS, EVENT, MACHINE, SEQUENCE, TIME,
	                            TRACK, check, number, split, text, unpack)
	own, other = 2 << 56 | 7, 3 << 56 | 7
	end = number(SEQUENCE, 2 << 20 | 5) + number(MACHINE, 2)
	bundle = text(1, b'anything')
	event = text(EVENT, number(9, 1) + number(11, own) + text(23, b'name'))
	for packet in (bundle, number(TIME, 9) + event, text(DEFAULTS, text(12, b'samples')),
	               text(TRACK, number(1, own) + number(5, own) + text(2, b'x'))):
	    for sequence in (5, 3 << 20 | 5, 2 << 20 | 5):
	        sequence = number(SEQUENCE, sequence)
	        assert check(packet + sequence + number(MACHINE, 3), 2) == packet + end
	        assert check(number(MACHINE, 2) + sequence + packet, 2) == packet + end
	packed = text(COMPRESSED, zlib.compress(text(1, bundle) + text(1, event)))
	assert unpack(packed) == [bundle, event] and unpack(bundle) == [bundle]
	for bad in (text(EVENT, number(9, 1) + number(11, other)),
	            text(EVENT, number(11, own) + number(31, other)), text(EVENT, number(9, 1)),
	            text(DEFAULTS, text(11, number(11, other))), text(DEFAULTS, b''),
	            text(TRACK, number(1, other)), text(TRACK, number(1, own) + number(5, other)),
	            text(TRACK, text(1, b'x')), packed, text(CLOCKS, b''), text(107, b''),
	            bundle[:-1], b'\x80', b'\x0d1234', b'\x0a' + b'\xff' * 12,
	            text(SEQUENCE, b'x')):
	    assert check(bad, 2) == b'', bad
	    assert check(bundle + bad, 2) == b'', bad
	for bad in (text(COMPRESSED, b'no zlib'), text(COMPRESSED, zlib.compress(bytes(1 << 27))),
	            number(COMPRESSED, 3)):
	    assert unpack(bad) == [], bad
	assert split(text(1, bundle) + text(1, event)[:-1]) == ([bundle], text(1, event)[:-1])
	for bad in (b'x', text(1, bundle) + b'\0', b'\x0a' + b'\xff' * 12,
	            b'\x0a\xff\xff\xff\xff\x0f'):
	    try:
	        print(split(bad))
	    except TraceError:
	        continue
	    sys.exit('no error')
END
/usr/bin/python3 "$work/packets.py" "$tests_dir/.." ||
	error "a packet is not judged as it should be"

# This perf does with a file what a file may make the real one do.
mkdir "$work/stub"
chmod 711 "$work"
chmod 755 "$work/stub"
echo secret > "$work/secret"
echo contents > "$work/recording"
chmod 600 "$work/secret" "$work/recording"
cat > "$work/stub/perf" <<-END
	#!/bin/bash
	[ "\$1" = --version ] && exit
	[ "\$1" != data ] || exec yes '{"ph":"i","pid":1,"tid":1,"ts":1.000,"name":"x","s":"t"},'
	cat "\${*: -1}" "$work/secret"
	echo written > "$work/secret"
	touch "$work/created"
	kill -0 $$ && echo "killed a process"
	[ "\$(grep -c : /proc/net/dev)" = 1 ] || echo "has the network"
	((\$(ulimit -v) <= 1 << 22)) || echo "has all memory"
	exit 0
END
chmod 755 "$work/stub/perf"
cat > "$work/sandbox.py" <<-'END'
	import sys
	sys.dont_write_bytecode = True
	sys.path.append(sys.argv[1])
	from fleet import chrome, merge, sandbox
	if sys.argv[2] == 'convert':
	    try:
	        chrome.convert(sys.argv[3], int(sys.argv[4]))
	    except merge.TraceError as error:
	        print(error)
	elif sys.argv[2] in ('any', sandbox.kind()):
	    print(sandbox.text(sys.argv[3], 'script'), end='')
	else:
	    print('is', sandbox.kind())
END
# sandboxed ARGUMENTS...
sandboxed() {
	PATH=$work/stub:${confining:-}$PATH /usr/bin/python3 "$work/sandbox.py" "$tests_dir/.." \
		"$@" 2>&1
}

for kind in bubblewrap nobody; do
	subtest "perf on a file of a machine can read nothing else, and write nothing: $kind"
	confining=
	if [ $kind = nobody ]; then
		mkdir "$work/without"
		printf '#!/bin/sh\nexit 1\n' > "$work/without/bwrap"
		chmod +x "$work/without/bwrap"
		confining=$work/without:
	fi
	sandboxed $kind "$work/recording" > out
	case $(cat out) in
	contents)	;;
	"is "* | *"with your rights"*)	inconclusive "$kind does not work here" ;;
	*)		error "printed: $(cat out)" ;;
	esac
	[ "$(cat "$work/secret")" = secret ] && [ ! -e "$work/created" ] ||
		error "a file was written"
done

subtest "where bubblewrap is installed and cannot run, the message does not ask for it"
cp "$work/without/bwrap" "$work/without/unshare"
sandboxed none > out
grep -qx 'perf fleet: cannot run bubblewrap or create namespaces: files .* with your rights' out ||
	error "printed: $(cat out)"

subtest "a file whose trace does not end is given up"
confining=
head -c 100000 /dev/zero > "$work/recording"
sandboxed convert "$work/recording" 20000 > out
grep -q 'too large, see --max-size' out || error "printed: $(cat out)"
[ "$(stat -c %s "$work/recording.json.gz")" -lt 200000 ] || error "the limit is exceeded"
sandboxed convert "$work/recording" 1000000000 > out
grep -q 'more than 1000 times' out || error "printed: $(cat out)"

subtest "start, status: machines are folded by their state"
cat > "$work/ssh" <<'END'
#!/bin/bash
[[ ${*: -2:1} != n9 ]] || { echo perf-fleet; echo "error the service is inactive"; exit; }
printf 'perf-fleet\nstate records\n'
END
fleet status -w 'n[1-9]'
[ "$status" = 1 ] || error "exit status $status"
[ "$(cat out)" = "n[1-8]: records" ] || error "printed: $(cat out)"
[ "$(cat err)" = "perf fleet: n9: the service is inactive" ] || error "printed: $(cat err)"

subtest "status: characters that the locale lacks are escaped"
cat > "$work/ssh" <<'END'
#!/bin/bash
printf 'perf-fleet\nstate records \xe2\x98\x83\n'
END
PYTHONIOENCODING=latin-1 fleet status -w n1
[ "$status $(cat out)" = '0 n1: records \u2603' ] || error "status $status: $(cat out err)"

subtest "wrong options"
for options in "" "-w n[1" "-w -oProxyCommand=touch" "-w n1 --timeout 0" "-w n1 --timeout x" \
	"-w n1 --fanout 0" "-w n1 --max-size 1X" "-w n1 --instance ../x" "-w n1 --no-such-option" \
	"-w n1 -x"; do
	# shellcheck disable=SC2086 # several words
	fleet snapshot $options
	[ "$status" = 129 ] || error "exit status $status for '$options'"
	[ -s err ] || error "no message for '$options'"
	! grep -q Traceback err || error "$(tail -n 1 err) for '$options'"
done
for nodes in @no-such-group '*' '@no:such' 'n[1-100000000]' 'n[1-1000]x[1-1000]' \
	'@g[1-1000000000]' '[::1]:22' 'user@-x' ''; do
	fleet snapshot -w "$nodes"
	[ "$status" = 129 ] || error "exit status $status for '$nodes'"
	! grep -q Traceback err || error "$(tail -n 1 err) for '$nodes'"
	[[ $nodes != *1000* ]] || grep -q 'more than 10000 machines' err ||
		error "'$nodes': $(cat err)"
done
"$PERF" fleet -h > out || error "-h fails"
grep -q 'examples:' out || error "no examples"

finish
