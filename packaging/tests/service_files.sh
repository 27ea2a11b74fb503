#!/bin/bash
# The service's unit and configuration are valid, and its script waits for its own snapshot
# SPDX-License-Identifier: GPL-2.0-only
# tags: fast parallel
# timeout: 60

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
. "$top/tools/perf/tests/shell/lib/harness.sh"

export PREFIX=$work/prefix SYSCONFDIR=$work/etc UNITDIR=$work/units LIBDIR=$work/lib \
	LINUX=$BUILD/linux
"$top/packaging/install" --stage "$work/stage" service || fatal "cannot install the service"
unit=$work/stage$UNITDIR/perf-recorder@.service
config=$work/stage$SYSCONFDIR/perf-recorder/default.conf
snapshot=$work/stage$PREFIX/lib/perf-recorder/libexec/snapshot

subtest "installing again, and uninstalling, leave a changed configuration"
dest=$work/dest
installed=$dest$SYSCONFDIR/perf-recorder/default.conf
"$top/packaging/install" --copy "$work/stage" "$dest" || error "cannot copy"
diff -r "$work/stage" "$dest" || error "not all files are copied"
echo '# changed' >> "$installed"
rm "$dest$UNITDIR"/*
"$top/packaging/install" --copy "$work/stage" "$dest" || error "cannot copy again"
[ "$(tail -n 1 "$installed")" = '# changed' ] || error "the configuration was replaced"
[ -e "$dest$UNITDIR/perf-recorder@.service" ] || error "the unit was not replaced"
"$top/packaging/install" --remove "$work/stage" "$dest" || error "cannot remove"
[ "$(find "$dest" -type f)" = "$installed" ] || error "left: $(find "$dest" -type f)"
cp "$config" "$installed"
"$top/packaging/install" --remove "$work/stage" "$dest" || error "cannot remove the rest"
[ -z "$(find "$dest" -mindepth 1 ! -type d 2> /dev/null)" ] || error "left: $(find "$dest" -type f)"
[ -z "$(find "$dest" -name '*perf-recorder*' 2> /dev/null)" ] ||
	error "left: $(find "$dest" -name '*perf-recorder*')"

subtest "uninstalling leaves directories that were there before, also empty ones"
mkdir -p "$dest$SYSCONFDIR" "$dest$UNITDIR" "$dest$PREFIX/lib"
"$top/packaging/install" --copy "$work/stage" "$dest" || error "cannot copy"
"$top/packaging/install" --remove "$work/stage" "$dest" || error "cannot remove"
for dir in "$SYSCONFDIR" "$UNITDIR" "$PREFIX/lib"; do
	[ -d "$dest$dir" ] || error "$dir was removed"
done

subtest "an upgrade goes on if a recorder does not start again"
mkdir "$work/bin"
cat > "$work/bin/systemctl" <<-'END'
	#!/bin/sh
	echo "$*" >> "${0%/*}/calls"
	exit 1
END
chmod +x "$work/bin/systemctl"
if unshare -m true 2> "$work/log"; then
	for script in 'postinst configure 1.0' 'prerm remove' 'postrm remove'; do
		rm -f "$work/bin/calls"
		# shellcheck disable=SC2016,SC2086 # for the other shell; arguments of the script
		PATH=$work/bin:$PATH unshare -m sh -c 'mount -t tmpfs none /run &&
			mkdir -p /run/systemd/system && exec sh "$@"' - \
			"$top/packaging/debian/perf-recorder."$script ||
			error "$script fails with systemctl"
		[ -s "$work/bin/calls" ] || error "$script does not call systemctl"
	done
else
	inconclusive "cannot unshare: $(cat "$work/log")"
fi

subtest "purging leaves no recordings, neither on the disk nor in memory"
# shellcheck disable=SC2016 # for the other shell
left=$(unshare -m bash -c 'mount -t tmpfs none /run && mount -t tmpfs none /var/lib &&
	mkdir -p /{run,var/lib}/private/perf-recorder/default /{run,var/lib}/perf-recorder &&
	ln -s ../private/perf-recorder/default /run/perf-recorder && sh "$1" purge &&
	find /run /var/lib -name "*perf-recorder*"' - "$top/packaging/debian/perf-recorder.postrm" \
	2> "$work/log") || inconclusive "cannot unshare: $(cat "$work/log")"
[ -z "$left" ] || error "left: $left"

cat > "$work/bin/systemctl" <<-'END'
	#!/bin/sh
	case $1 in
	show)	echo inactive ;;
	start)	echo "$*" >> "${0%/*}/started" ;;
	esac
END
cat > "$work/bin/perf-recorder" <<-'END'
	#!/bin/sh
	cd /run/perf-recorder/default
	echo "$*" > "${0%/*}/recorder"
	read -r command id < control
	echo "ack $id" > answers
END
chmod +x "$work/bin/perf-recorder"
# The script makes what the service leaves when it stops, then runs the part of perf fleet that runs
# on the machine of a recorder.
cat > "$work/fleet" <<-'END'
	mount -t tmpfs none /run && mount -t tmpfs none /var/lib || exit
	mkdir -p /run/perf-recorder /run/private/perf-recorder/default
	ln -s ../private/perf-recorder/default /run/perf-recorder/default
	for key in ExecStartPre ExecStopPost; do
		eval "$(sed -n "s|^$key=\(.*/control .*\)|\1|p" "$unit" |
			sed 's|%t|/run|g; s|%i|default|g')"
	done
	[ -z "$kept" ] || echo kept > /run/perf-recorder/default/kept.unsaved
	action=start instance=default seconds=5 in_state=''
	. "$top/tools/perf/fleet/control.sh"
	. "$top/tools/perf/fleet/remote.sh"
END
# fleet_start KEPT RECORD: print the answer of perf fleet
fleet_start() {
	PATH=$work/bin:$PATH unit=$unit top=$top kept=$1 record=$2 unshare -m bash "$work/fleet" \
		2> "$work/log" | tail -n 1
}
if unshare -m true 2> "$work/log"; then
	subtest "perf fleet starts a service that has stopped and left its directory"
	answer=$(fleet_start '' '')
	[ "$answer $(cat "$work/bin/started")" = "state started start perf-recorder@default" ] ||
		error "it is not started: $answer, $(cat "$work/log")"

	subtest "perf fleet starts a recorder in the background after that"
	answer=$(fleet_start '' '-a --switch-output')
	[ "$answer" = "state started" ] || error "it is not started: $answer, $(cat "$work/log")"
	grep -q -- '-a --switch-output$' "$work/bin/recorder" || error "another recorder is started"
	answer=$(fleet_start kept '-a --switch-output')
	[[ $answer = "error cannot remove "* ]] || error "what was kept is in danger: $answer"
fi

subtest "what a killed recorder had kept is saved, once"
libexec=$work/private/libexec
install -D -t "$libexec" "${snapshot%/*}"/*
mkdir "$work/private/bin"
# recorder COMMAND...: let this be perf
recorder() {
	printf '#!/bin/sh\n%s\n' "$*" > "$work/private/bin/perf"
	chmod +x "$work/private/bin/perf"
}
mkdir "$work/state"
# saves STATUS: run the script, as ExecStopPost
saves() {
	(cd "$work/state" && "$libexec/recover" "$work/kept") 2> "$work/log"
	status=$?
	[ $status = "$1" ] || error "exit status $status: $(cat "$work/log")"
}
# shellcheck disable=SC2016 # for the other shell
succeed='[ "$1 $2" = "inject --recover-keep" ] && cat "$3" > "$5"'
recorder "$succeed"
saves 0
[ -z "$(ls -A "$work/state")" ] || error "files without a recorder that was killed"
echo one > "$work/kept"
saves 0
files=("$work"/state/perf.data.????????????????)
[ "$(cat "${files[@]}")" = one ] || error "not saved"
grep -q "had kept: ${files[0]##*/}$" "$work/log" || error "the name is not printed"
[ ! -e "$work/kept" ] || error "it is left"
recorder 'echo part > "$5"; exit 1'
echo two > "$work/kept"
saves 1
[ "$(cat "$work/kept.unsaved")" = two ] && [ ! -e "$work/kept" ] ||
	error "it did not make room for a recorder"
echo three > "$work/kept"
saves 1
[ "$(cat "$work/kept.unsaved" "$work/kept")" = $'two\nthree' ] || error "records were overwritten"
[ "$(find "$work/state" -type f | wc -l)" = 1 ] || error "a part is left: $(ls "$work/state")"
flock --no-fork "$work/kept" sleep 60 &
holder=$!
locked() { ! flock --shared --nonblock "$work/kept" true; }
wait_until 10 locked || error "not locked"
recorder "$succeed"
saves 1
[ -e "$work/kept" ] || error "a file in use was taken"
kill "$holder"
wait_until 10 flock --shared --nonblock "$work/kept" true || error "still locked"
saves 0
[ ! -e "$work/kept" ] && [ ! -e "$work/kept.unsaved" ] || error "left: $(cat "$work/log")"
[ "$(sort "$work"/state/perf.data.* | tr '\n' ' ')" = "one three two " ] ||
	error "not all are saved"
recorder 'echo "Cannot recover: perf record was killed before it kept anything." >&2; exit 1'
echo four > "$work/kept"
saves 0
[ ! -e "$work/kept" ] || error "a file without records is left"

subtest "systemd accepts the unit"
if command -v systemd-analyze > /dev/null; then
	install -D -t "$PREFIX/lib/perf-recorder/libexec" "${snapshot%/*}"/*
	mkdir "$PREFIX/lib/perf-recorder/bin"
	ln -s "$(realpath "$(command -v "$PERF")")" "$PREFIX/lib/perf-recorder/bin/perf"
	systemd-analyze verify --man=no "$unit" > "$work/verify" 2>&1
	! grep -F perf-recorder@ "$work/verify" || error "systemd-analyze verify complains"
else
	inconclusive "systemd-analyze is not installed"
fi

subtest "the limit of memory grows with the machine, as the rings do"
grep -q '^MemoryMax=[0-9]*%$' "$unit" || error "$(grep MemoryMax "$unit")"

subtest "perf record accepts the configuration, and what is commented out in it"
sed 's/^\t#\([a-z]\)/\t\1/' "$config" > "$work/all.conf"
[ "$(grep -c '^	[a-z-]* = ' "$work/all.conf")" -gt "$(grep -c '^	[a-z-]* = ' "$config")" ] ||
	error "nothing is commented out"
for file in "$config" "$work/all.conf"; do
	PERF_CONFIG=$file "$PERF" record --dry-run > "$work/log" 2>&1 ||
		error "${file##*/}: $(cat "$work/log")"
	[ -r /sys/kernel/tracing/events ] ||
		inconclusive "cannot read the events of /sys/kernel/tracing"
done

mkdir "$work/run"
mkfifo "$work/run/control" "$work/run/answers"
exec 3<> "$work/run/control" 4<> "$work/run/answers"

# asked: wait for a command, and set $id
asked() {
	local command

	id=
	read -rt 20 -u 3 command id && [ "$command" = snapshot ] &&
		[[ $id =~ ^id=[A-Za-z0-9_.-]{1,32}$ ]] ||
		error "asked for '$command $id'"
}

# answer WORD [TEXT]: as perf record does
answer() {
	printf '%s\n\0' "$1 $id${2:+ $2}" >&4
}

subtest "an answer decides the exit status"
for text in "perf.data.1 59.2" "the disk is full" ''; do
	expected=0
	[[ $text != the* ]] || expected=1
	"$snapshot" "$work/run" 20 2> "$work/log" &
	asked
	if [ $expected = 0 ]; then answer ack "$text"; else answer error: "$text"; fi
	wait $!
	status=$?
	[ $status = $expected ] || error "exit status $status for '$text'"
	[ $expected = 0 ] || grep -q "answers: $text$" "$work/log" ||
		error "the reason is not printed"
done

subtest "an older recorder, which knows no ids, says so at once"
"$snapshot" "$work/run" 20 2> "$work/log" &
asked
printf '%s\n\0' "error: unknown command 'snapshot $id'. Known commands: ping" >&4
wait $! && error "no error"
grep -q 'unknown command' "$work/log" || error "the reason is not printed"

subtest "an answer that comes late is not taken for that of the next snapshot"
"$snapshot" "$work/run" 1 2> "$work/log" && error "no answer is success"
grep -q 'has not answered within 1 s' "$work/log" || error "no message"
asked
late=$id
"$snapshot" "$work/run" 20 2> "$work/log" &
asked
own=$id
id=$late answer ack perf.data.1
id=${own%?} answer ack perf.data.2
id=${own}1 answer ack perf.data.2
id=${own}1 answer error: "another failed"
answer error: "it failed"
wait $! && error "the answer of another was taken"
grep -q 'answers: it failed$' "$work/log" || error "the error of another was taken"
"$snapshot" "$work/run" 20 &
asked
answer ack perf.data.3
wait $! || error "the third answer was not taken"

subtest "two at a time: the second asks when the first is answered"
"$snapshot" "$work/run" 20 &
first=$!
"$snapshot" "$work/run" 20 &
asked
! read -rt 0.5 -u 3 || error "both ask at once"
answer ack perf.data.1
asked
answer ack perf.data.2
wait $! || error "the second fails"
wait $first || error "the first fails"

finish
