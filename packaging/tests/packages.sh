#!/bin/bash
# Packages: built, checked by lintian, installed in a clean Debian, run as a service, and purged
# SPDX-License-Identifier: GPL-2.0-only
# tags: night
# timeout: 1800
#
# lib/container.sh describes the clean Debian.

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
. "$top/packaging/tests/lib/container.sh"

mount_container

subtest "make deb"
make -C "$top" deb > "$work/log" 2>&1 || fatal "make deb fails: $(tail -n 20 "$work/log")"
package=$(echo "$BUILD"/deb/perf-recorder_*.deb)
dev=$(echo "$BUILD"/deb/libperf-overwrite-dev_*.deb)

subtest "lintian finds no error"
lintian --allow-root --fail-on error "$package" "$dev" > "$work/log" 2>&1 ||
	error "$(cat "$work/log")"

subtest "no file has a name that Debian's perf uses"
for file in "$package" "$dev"; do
	dpkg-deb --fsys-tarfile "$file" | tar -t | sed -n 's,^\.\(/.*[^/]\)$,\1,p'
done | sort > "$work/names"
(($(wc -l < "$work/names") > 100)) || error "the packages have no files"
dpkg -L linux-perf | sort | comm -12 - "$work/names" | while read -r name; do
	[ -d "$name" ] || echo "$name"
done > "$work/common"
[ ! -s "$work/common" ] || error "also in linux-perf: $(cat "$work/common")"

subtest "a program is built with the library's package, and takes snapshots"
mkdir "$work/dev"
dpkg-deb -x "$dev" "$work/dev"
pc=$(dirname "$(find "$work/dev" -name libperf-overwrite.pc)")
# shellcheck disable=SC2046 # a list of words
cc -Wall -Werror -o "$work/overwrite" "$work"/dev/usr/share/doc/*/examples/overwrite.c \
	$(PKG_CONFIG_LIBDIR=$pc PKG_CONFIG_SYSROOT_DIR=$work/dev pkg-config --cflags \
		--libs libperf-overwrite) ||
	error "the example does not build"
"$work/overwrite" > "$work/out" 2>&1 || error "the example fails: $(cat "$work/out")"
grep -qE '^cpu +[0-9]+: +[1-9][0-9]* switches' "$work/out" ||
	error "no context switch: $(cat "$work/out")"

subtest "the test vectors in the library's package can be read as they are"
(cd "$work/dev/usr/share/doc/libperf-overwrite-dev" && ./examples/read_vectors.py ring-vectors) \
	> "$work/out" 2>&1 ||
	error "$(tail -n 3 "$work/out")"

# --- a clean Debian ----------------------------------------------------------------------------

subtest "perf fleet is in the package"
for script in perf-core/fleet/remote.sh perf-core/fleet/control.sh snapshot control.sh; do
	dpkg-deb -c "$package" | grep "/libexec/$script$" > /dev/null || error "$script is missing"
done
dpkg-deb -c "$package" | grep '^-rwx.*/libexec/perf-core/perf-fleet$' > /dev/null ||
	error "perf-fleet is missing"

subtest "the package is installed"
install_packages "$package"
inside perf-recorder --version | grep -q '^perf version' || error "perf-recorder does not run"
inside sh -c 'cd /root && mount -t proc proc /proc && mount -t sysfs sysfs /sys &&
	perf-recorder record -e page-faults/overwrite/u -- true && perf-recorder report --stdio;
	status=$?; umount /proc /sys; exit $status' > "$work/log" 2>&1 ||
		error "cannot record: $(cat "$work/log")"
grep -q 'page-faults' "$work/log" || error "no report"
for page in "$root"/usr/lib/perf-recorder/share/man/man1/perf-{record,loss}.1* \
	"$root"/usr/share/man/man1/perf-recorder.1* \
	"$root"/usr/share/bash-completion/completions/perf-recorder; do
	[ -s "$page" ] || error "$page is missing"
done

subtest "it records in a container with a read-only root"
if command -v systemd-nspawn > /dev/null; then
	mkdir "$work/recordings"
	systemd-nspawn --register=no --keep-unit --directory="$root" --read-only --tmpfs=/tmp \
		--as-pid2 --console=pipe --capability=CAP_PERFMON,CAP_BPF,CAP_SYSLOG \
		--system-call-filter="perf_event_open bpf" --bind-ro=/sys/kernel/tracing \
		--bind="$work/recordings:/srv" perf-recorder record \
		-a -e sched:sched_switch/overwrite/ \
		--switch-output -o /srv/data -- sleep 0.2 > "$work/log" 2>&1
	"$PERF" script -i "$(compgen -G "$work/recordings/data.2*" | tail -n 1)" \
		2> "$work/script.err" |
		grep -q sched_switch || error "no events: $(cat "$work/log" "$work/script.err")"
else
	inconclusive "systemd-nspawn is not installed"
fi

# --- the service ---------------------------------------------------------------------------------

# active [STATE]: is the service in this state?
active() {
	[ "$(manager systemctl show -P ActiveState perf-recorder@default)" = "${1:-active}" ]
}

recordings() {
	compgen -G "$state/perf.data.2*" | wc -l
}

log() {
	note "journal: $(manager journalctl --no-pager -o cat -u perf-recorder@default -n 15)"
}

subtest "the service starts"
config=$root/etc/perf-recorder/default.conf
cp "$config" "$work/default.conf"
sed -i 's/mmap-pages = .*/mmap-pages = 256K/; s/switch-max-size = .*/switch-max-size = 2M/' \
	"$config"
dropin=$root/etc/systemd/system/perf-recorder@.service.d
mkdir -p "$dropin"
printf '[Service]\nRestartSec=100ms\n' > "$dropin/test.conf"
boot_container
manager systemctl start perf-recorder@default || { log; fatal "it does not start"; }
active || error "it is not active"
state=/proc/$init/root/var/lib/private/perf-recorder/default
main() {
	manager systemctl show -P MainPID perf-recorder@default
}
manager grep -q '^Uid:.0' "/proc/$(main)/status" && error "it runs as root"
manager grep -q '^CapEff:.0*c400080004$' "/proc/$(main)/status" ||
	error "capabilities: $(manager grep CapEff "/proc/$(main)/status")"

subtest "a reload returns when the snapshot is written"
for i in 1 2 3; do
	manager systemctl reload perf-recorder@default || error "reload $i fails"
	[ "$(recordings)" = $i ] || error "$(recordings) files after reload $i"
done
"$PERF" script -f -i "$(compgen -G "$state/perf.data.2*" | tail -n 1)" 2> "$work/log" |
	grep -q sched_switch ||
	error "the file has no events: $(cat "$work/log")"

subtest "what a killed recorder had kept is saved, and the journal names the file"
printf '[record]\n\tevent = sched:sched_switch\n\tkeep-events = true\n\tkeep = 32M
	keep-file = kept\n\tswitch-output = signal\n' > "$root/etc/perf-recorder/keeps.conf"
manager systemctl start perf-recorder@keeps || error "it does not start"
pause 2
manager systemctl kill --signal=KILL --kill-whom=main perf-recorder@keeps
kept_state=/proc/$init/root/var/lib/private/perf-recorder/keeps
recovered() {
	file=$(manager journalctl --no-pager -o cat -u perf-recorder@keeps |
		sed -n 's/.*had kept: \(perf.data.2.*\)/\1/p' | head -n 1)
	[ -n "$file" ]
}
if wait_until 20 recovered; then
	"$PERF" script -f -i "$kept_state/$file" 2> "$work/log" | grep -q sched_switch ||
		error "the file has no events: $(cat "$work/log")"
	[ "$(stat -c %s "/proc/$init/root/run/private/perf-recorder/keeps/kept.unsaved" \
		2> /dev/null)" = "" ] ||
		error "kept.unsaved is left"
else
	error "no file: $(manager journalctl --no-pager -o cat -u perf-recorder@keeps -n 15)"
fi
manager systemctl stop perf-recorder@keeps

subtest "a recorder that is killed is restarted, and files of earlier runs count"
before=$(main)
manager systemctl kill --signal=KILL --kill-whom=main perf-recorder@default
# The state may be that of before, so it is asked for last.
restarted() {
	local pid

	pid=$(main)
	[[ $pid != 0 && $pid != "$before" ]] && active
}
wait_until 20 restarted || { log; error "it is not restarted"; }
for i in {1..12}; do
	manager systemctl reload perf-recorder@default || error "reload $i fails"
done
size=$(du -cb "$state"/perf.data.2* | awk 'END { print $1 }')
newest=$(du -b "$(compgen -G "$state/perf.data.2*" | tail -n 1)" | cut -f 1)
((size <= 2 << 20 || size == newest)) || error "the files have $size bytes"
(($(recordings) < 15)) || inconclusive "15 files have only $size bytes: none had to be deleted"

subtest "a hundred snapshots later it has no more memory and files"
resources() {
	local pid
	pid=$(pgrep -f -P "$init" 'perf-recorder/bin/perf')
	echo "$(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status") $(ls "/proc/$pid/fd" | wc -l)"
}
read -r memory files < <(resources)
for i in {1..100}; do
	manager systemctl reload perf-recorder@default || error "reload $i fails"
done
read -r memory_later files_later < <(resources)
note "anonymous memory: $memory kB, later $memory_later kB; $files files, later $files_later"
[ "$files_later" = "$files" ] || error "$files_later open files, before $files"
((memory_later < memory + 4096)) || error "$memory_later kB of memory, before $memory kB"

subtest "a full disk fails the reload, and the service goes on"
nsenter -t "$init" -m mount -t tmpfs -o size=3m,mode=777 tmpfs \
	/var/lib/private/perf-recorder/default ||
	fatal "cannot mount a small disk"
manager systemctl restart perf-recorder@default || { log; fatal "it does not restart"; }
manager systemctl reload perf-recorder@default || error "reload fails with space"
manager sh -c 'head -c 20m /dev/zero > /var/lib/private/perf-recorder/default/filler' 2> "$work/log"
before=$(main)
manager systemctl reload perf-recorder@default 2> "$work/log" &&
	error "reload succeeds on a full disk"
active || error "it has ended"
manager rm /var/lib/private/perf-recorder/default/filler
manager systemctl reload perf-recorder@default || error "reload fails afterwards"
[ "$(main)" = "$before" ] || error "it was restarted"
manager systemctl stop perf-recorder@default
[ "$(manager systemctl show -P ExecMainStatus perf-recorder@default)" = 254 ] ||
	error "the status is not 254"

subtest "stopping writes the last snapshot"
nsenter -t "$init" -m umount /var/lib/private/perf-recorder/default
manager systemctl reset-failed
manager systemctl start perf-recorder@default || { log; error "it does not start"; }
newest=$(compgen -G "$state/perf.data.2*" | tail -n 1)
manager systemctl stop perf-recorder@default
active inactive ||
	error "it is not inactive: $(manager systemctl show -P ActiveState perf-recorder@default)"
[ "$(compgen -G "$state/perf.data.2*" | tail -n 1)" != "$newest" ] || error "no file was written"

subtest "a wrong configuration fails once"
sed -i 's/event = .*/event = no:event/' "$config"
manager systemctl start perf-recorder@default 2> "$work/log" && error "it starts"
active failed || error "it is not failed"
[ "$(manager systemctl show -P ExecMainStatus perf-recorder@default)" = 129 ] ||
	error "the status is not 129"
[ "$(manager systemctl show -P NRestarts perf-recorder@default)" = 0 ] || error "it was restarted"

subtest "the longest line in the journal"
longest=$(manager journalctl --no-pager -o cat -u perf-recorder@default | awk '{ print length }' |
	sort -n | tail -n 1)
note "$longest characters"
((longest < 250)) || error "$longest characters"
kill $nspawn
wait $nspawn 2> /dev/null

subtest "the package is purged"
cp "$work/default.conf" "$config"
inside dpkg --purge perf-recorder > "$work/log" 2>&1 || error "$(cat "$work/log")"
rm -r "$dropin" "$root/etc/perf-recorder/keeps.conf"
(cd "$upper" && find . -path '*perf-recorder*' ! -path './root/*' ! -path './var/log/*' \
	! -path './var/cache/*' ! -path './tmp/*' ! -type c) > "$work/left"
[ ! -s "$work/left" ] || error "left behind: $(cat "$work/left")"

finish
