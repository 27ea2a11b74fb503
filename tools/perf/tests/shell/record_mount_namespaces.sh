#!/bin/bash
# perf record: binaries of other mount namespaces and chroots are told from perf's own
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 480
# tags: parallel

. "$(dirname "$0")/lib/recorder.sh"

need perf root fault_ours fault_other
unshare --mount true 2> /dev/null || skip "this machine allows no new mount namespace"

pages=101
export HOME=$work/home
# Both programs have the path $bin/prog, each in its own mount namespace. $lack/prog exists only in
# the other one. Chroots have $bin/prog below $root.
bin=$work/bin lack=$work/lack other=$work/other root=$work/root
mkdir -p "$HOME" "$bin" "$lack" "$other" "$root$bin"
cp "$BUILD/tests/fault_ours" "$bin/prog"
cp "$BUILD/tests/fault_other" "$other/prog"
cp "$BUILD/tests/fault_other" "$root$bin/prog"
our_id=$("$PERF" buildid-list -i "$BUILD/tests/fault_ours")
other_id=$("$PERF" buildid-list -i "$BUILD/tests/fault_other")
[ "$our_id" != "$other_id" ] || skip "the programs have no build-ids of their own"

# in_place PLACE: set ${command[@]} to start the other program there, and $path to its path
in_place() {
	case $1 in
	same)	path=$bin/prog
		command=(unshare --mount --propagation private sh -c
			 "mount --bind $other $bin && exec $path $pages") ;;
	lacking) path=$lack/prog
		command=(unshare --mount --propagation private sh -c
			 "mount --bind $other $lack && exec $path $pages") ;;
	chroot)	path=$bin/prog
		command=(chroot "$root" "$path" "$pages") ;;
	esac
}

answered() {
	grep -qsx "$1" "$work/answers"
}

# program COMMAND...: start it in the background; return when it is ready
program() {
	rm -f "$work/lines" "$work/answers"
	mkfifo "$work/lines"
	exec {lines}<> "$work/lines"
	"$@" < "$work/lines" > "$work/answers" {lines}>&- &
	program=$!
	wait_until 20 answered ready || fatal "the program does not start"
}

# Let the program touch its pages.
touch_pages() {
	echo go >&"$lines"
	wait_until 20 answered "done" || fatal "the program has touched no pages"
}

end_program() {
	kill "$program"
	wait "$program" 2> /dev/null
	exec {lines}>&-
}

files() {
	find "$work" -maxdepth 1 -name 'data*' ! -name '*.old'
}

# expect ID SYMBOL: check what all files of the recording together say of $path: the build-id, and
# the function of the samples. An empty ID, or SYMBOL: it must not be there.
expect() {
	local id=$1 symbol=$2 file list ids=() samples

	for file in $(files); do
		list=$("$PERF" buildid-list --with-hits -i "$file" 2> /dev/null |
			awk -v path="$path" '$2 == path || $2 == root path { print $1 }' \
				root="$root")
		[ -z "$list" ] || ids+=("$list")
		"$PERF" script -i "$file" -F comm,ip,sym,dso 2> "$work/script.err"
	done > "$work/script"
	samples=$(grep -c "prog)\$" "$work/script")
	[ "$samples" -ge $pages ] || error "$samples samples in the program, not $pages"
	[ "$(echo "${ids[@]}" | xargs -n 1 | sort -u)" = "$id" ] ||
		error "the build-id is '${ids[*]}', not '$id'"
	if [ -n "$symbol" ]; then
		[ "$(grep -c " touch_$symbol " "$work/script")" -ge $pages ] ||
			error "symbols: $(grep -o ' touch_[a-z]* ' "$work/script" | sort | uniq -c | xargs)"
	elif grep -q ' touch_' "$work/script"; then
		error "symbols of another file: $(grep -o ' touch_[a-z]* ' "$work/script" | sort -u | xargs)"
	fi
}

in_cache() {
	[ -e "$HOME/.debug/.build-id/${1:0:2}/${1:2}/elf" ]
}

event=(-e page-faults:u -c 1)

# existing PLACE OPTION...: record the program, which runs already
existing() {
	local place=$1

	shift
	subtest "runs already, $place${wrapper[*]:+, perf in a chroot}: $*"
	rm -rf "$HOME/.debug" "$work"/data*
	in_place "$place"
	program "${command[@]}"
	recorder_start "${event[@]}" -p "$program" -o "$work/data" "$@"
	touch_pages
	recorder_stop
}

# later PLACE OPTION...: record the program as a command, which has exited at the end
later() {
	local place=$1

	shift
	subtest "has exited, $place: $*"
	rm -rf "$HOME/.debug" "$work"/data*
	in_place "$place"
	printf 'go\n' | "$PERF" record "${event[@]}" -o "$work/data" "$@" -- "${command[@]}" \
		> "$work/record.out" 2> "$work/record.err" || error "perf record fails"
}

grep -q 'does not put build-ids' \
	< <("$PERF" record --buildid-mmap -o /dev/null -e dummy true 2>&1) &&
	no_build_id_mmap=1

for place in same lacking chroot; do
	for option in --no-buildid-mmap --buildid-mmap; do
		[ $option = --buildid-mmap ] && [ "${no_build_id_mmap-}" ] && continue
		existing $place $option
		expect "$other_id" other
		in_cache "$other_id" || error "there is no copy in the cache"
		in_cache "$our_id" && error "the cache has a copy of perf's own program"
		# The copy is enough.
		end_program
		expect "$other_id" other
	done

	# Only device and inode number tell the programs apart.
	existing $place -B --no-buildid-mmap
	expect "" other
	"$PERF" inject -b -i "$work/data" -o "$work/injected" 2> "$work/inject.err" ||
		error "perf inject fails: $(cat "$work/inject.err")"
	end_program
	# The root of perf contains the chroot, and /proc/PID/maps has the path there.
	expect "" "$([ $place != chroot ] || echo other)"
	mv "$work/injected" "$work/data"
	expect "$other_id" other

	later $place --no-buildid-mmap
	expect "" ""
	in_cache "$our_id" && error "the cache has a copy of perf's own program"
	[ "${no_build_id_mmap-}" ] || {
		later $place --buildid-mmap
		expect "$other_id" ""
		in_cache "$our_id" && error "the cache has a copy of perf's own program"
	}
done

modes=(--overwrite "--switch-output --buildid" "--keep=60s,32M")
[ "${no_build_id_mmap-}" ] || modes+=("--overwrite --switch-output --buildid-mmap")
for options in "${modes[@]}"; do
	# shellcheck disable=SC2086 # several options
	existing same $options
	expect "$other_id" other
	end_program
done

# In the chroot, $HOME is another directory. perf must be back in it when it copies the binary.
mkdir -p "$work/jail" "$work/jail_home"
# shellcheck disable=SC2016 # for sh
wrapper=(unshare --mount --propagation private sh -c
	 'mount --rbind / "$0/jail" && mount --bind "$0/jail_home" "$0/jail$0/home" &&
	  exec chroot "$0/jail" "$@"' "$work")
existing same --no-buildid-mmap
wrapper=()
expect "$other_id" other
end_program
HOME=$work/jail_home in_cache "$other_id" || error "there is no copy in the cache of the chroot"
[ -e "$HOME/.debug" ] && error "there is a cache outside the chroot"

subtest "the pid belongs to another program when the file is read"
cat > "$work/reuse" <<'END'
"$PERF" record -B --no-buildid-mmap -e page-faults:u -c 1 -o "$work/data" -- \
	"$work/bin/prog" "$pages" < "$work/go" > "$work/record.out" 2> "$work/record.err" || exit 1
read -r pid _ < <("$PERF" script -i "$work/data" -F pid 2> /dev/null)
mkfifo "$work/wait"
exec 9<> "$work/wait"
echo $((pid - 1)) > /proc/sys/kernel/ns_last_pid
unshare --mount --propagation private sh -c \
	"mount --bind $work/other $work/bin && exec $work/bin/prog $pages" <&9 > "$work/answers" &
[ "$pid" = $! ] || exit 2
until grep -qs ready "$work/answers"; do sleep 0.1; done
"$PERF" script -i "$work/data" -F comm,ip,sym,dso > "$work/script" 2> "$work/script.err"
kill $!
END
echo go > "$work/go"
rm -rf "$HOME/.debug" "$work"/data*
export PERF work pages
timeout 60 unshare --pid --fork --mount-proc bash "$work/reuse"
case $? in
2)	inconclusive "the pid was not given again" ;;
*)	[ "$(grep -c ' touch_ours ' "$work/script")" = $pages ] ||
		error "symbols: $(grep -o ' touch_[a-z]* ' "$work/script" | sort | uniq -c | xargs)" ;;
esac

finish
