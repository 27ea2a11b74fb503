#!/bin/bash
# perf data convert --to-html: a browser draws the page, opens it at what was too long, and obeys keys
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 240
# tags: night

. "$(dirname "$0")/lib/recorder.sh"

need perf root delays sched:sched_switch
browser=$(command -v chromium) || skip "chromium is not installed"

subtest "The page draws the trace"
perf_record -a -o "$work/data" -e sched:sched_switch -e sched:sched_wakeup \
	-e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -- sleep 0.5
"$PERF" data convert -i "$work/data" --to-html="$work/page.html" 2> "$work/convert.err" ||
	fatal "perf data convert fails: $(< "$work/convert.err")"
events=$(grep -c '^{"ph"' "$work/page.html")
# The script of the page ends by telling what it has read and drawn.
HOME=$work "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
	--virtual-time-budget=20000 --dump-dom "file://$work/page.html" \
	> "$work/dom" 2> "$work/browser.err" ||
	error "the browser fails: $(tail -n 3 "$work/browser.err")"
shown=$(sed -n 's/.*<div id="details">[^:]*: \([0-9]*\) events in .*/\1/p' "$work/dom")
range=$(sed -n 's/.*<span id="range">\([^<]*\)<.*/\1/p' "$work/dom")
note "$shown events, from $range"
[ "${shown:-0}" = "$events" ] ||
	error "the page shows ${shown:-no} of $events events"
[ -n "$range" ] || error "nothing was drawn"

# run_in PAGE [flag]: run $work/script.js in the page; $work/sent has what it sends
run_in() {
	"$tests_dir/shell/lib/browser.py" "$browser" "$1" "$work/script.js" "${@:2}" \
		> "$work/sent" 2> "$work/browser.err" ||
		error "the page sends nothing: $(tail -n 1 "$work/browser.err")"
}

subtest "Keys zoom, move, search and show all"
cat > "$work/script.js" <<'END'
const key = key =>
	document.body.dispatchEvent(new KeyboardEvent("keydown", { key: key, bubbles: true }));
const wrong = [];
const check = (condition, text) => { if (!condition) wrong.push(text); };
const span = () => end - begin;
key("0");
check(begin == first && end == last, "0 shows all");
key("w");
check(span() < last - first, "w zooms in");
let before = span(), at = begin;
key("d");
check(begin > at && Math.abs(span() - before) < 1e-3, "d moves");
key("a");
check(Math.abs(begin - at) < 1e-3, "a moves back");
key("ArrowRight");
check(begin > at, "an arrow moves");
key("s");
check(span() > before, "s zooms out");
key("/");
check(document.activeElement == byId("find"), "/ searches");
byId("find").dispatchEvent(new KeyboardEvent("keydown", { key: "w", bubbles: true }));
check(span() > before, "a letter of the search is no key");
byId("find").dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
check(document.activeElement != byId("find"), "Escape leaves the search");
key("?");
check(!byId("help").hidden && byId("help").textContent.includes("zoom"), "? shows the keys");
key("?");
check(byId("help").hidden, "? hides the keys");
// The table has the longest system calls, in the order of their lengths.
byId("kind").value = "syscall";
listLongest();
const all = [...groups.values()].flatMap(g => [...g.rows.values()]).flatMap(r => r.lanes)
	.flatMap(l => l.slices).filter(s => s.cat == "syscall").map(s => s.end - s.begin)
	.sort((a, b) => b - a);
const listed = longest.syscall.slices.map(s => s.end - s.begin);
check(listed.length && listed.length == Math.min(all.length, MAX_LONGEST), "the number of calls");
check(listed.every((us, i) => us == all[i]), "the longest calls");
byId("rows").rows[0].onclick();
check(selected == longest.syscall.slices[0] && begin <= selected.begin && end >= selected.end,
	"a click goes there");
fetch("/", { method: "POST",
	body: `${wrong.join("; ") || "right"} ${theme == DARK ? "dark" : "light"}` });
END
run_in "$work/page.html"
[ "$(< "$work/sent")" = "right light" ] || error "wrong: $(< "$work/sent")"

subtest "The theme is that of the system"
run_in "$work/page.html" --blink-settings=preferredColorScheme=0
[ "$(< "$work/sent")" = "right dark" ] || error "wrong: $(< "$work/sent")"

subtest "A million events: each frame is drawn within 16 ms, and shows what happened"
/usr/bin/python3 - "$work/page.html" "$work/million.html" <<'END'
"""Replace the trace in a page by 100 threads with 5,000 slices each."""
import random
import re
import sys

random.seed(1)
events = []
for tid in range(100):
    time = 0
    for _ in range(5000):
        time += random.choice((0, 1, 50, 300, 900)) + 1
        where = f'"pid":{1 + tid // 5},"tid":{1 + tid}'
        events.append(f'{{"ph":"B",{where},"ts":{time}.5,"name":"slice {random.randrange(50)}"}}')
        time += random.choice((1, 2, 30, 200, 2000))
        events.append(f'{{"ph":"E",{where},"ts":{time}.25}}')
with open(sys.argv[1], encoding='utf-8') as file:
    page = file.read()
trace = '{"traceEvents":[\n' + ',\n'.join(events) + ']}'
page = re.sub(r'(id="trace">).*?(</script>)', lambda m: m[1] + trace + m[2],
              page, count=1, flags=re.S)
with open(sys.argv[2], 'w', encoding='utf-8') as file:
    file.write(page)
END
cat > "$work/script.js" <<'END'
const wrong = [], times = [];
const center = (first + last) / 2;
let checked = 0;
// A pixel has the color of a slice that covers a part of it; it may be empty if none covers all
// of it.
function check(item, data, width) {
	const lane = item.row.lanes[0], y = Math.round(AXIS + 14 + item.y - scroll) + 1;
	if (y < AXIS || y >= data.length / width)
		return;
	for (let x = LABEL + 5; x < width - 5; x += 13) {
		const from = toTime(x), to = toTime(x + 1), half = (to - from) / 2;
		const near = lane.slices.filter(s => s.end > from - half && s.begin < to + half);
		const full = near.some(s => s.begin <= from && s.end >= to);
		const pixel = data[y * width + x];
		checked++;
		if (!near.some(s => palette[lookOf(s)] == pixel) &&
		    (full || looks.some((_, i) => palette[i] == pixel)))
			wrong.push(`pixel ${x} of ${item.row.tid} at ${begin}`);
	}
}
for (const share of [1, 0.3, 0.1, 0.01, 0.001, 0.0001]) {
	let best = Infinity;
	for (let i = 0; i < 10; i++) {
		const us = share * (last - first);
		const at = Math.min(center + i * us / 20, last - us / 2);
		show(at - us / 2, at + us / 2);
		scroll = 30 * i;
		const before = performance.now();
		drawNow();
		paint.getImageData(0, 0, 1, 1);		// wait until all is drawn
		best = Math.min(best, performance.now() - before);
	}
	times.push(best.toFixed(1));
	const data = new Uint32Array(
		paint.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
	shown.filter(item => item.row)
		.forEach((item, i) => i % 7 || check(item, data, canvas.width));
	if (best > 16)
		wrong.push(`a frame takes ${best.toFixed(1)} ms`);
}
if (nrEvents != 1000000 || checked < 500)
	wrong.push(`${nrEvents} events, ${checked} pixels`);
const verdict = wrong.length ? wrong.slice(0, 5).join("; ") : "right";
fetch("/", { method: "POST", body: `${verdict}: ${times} ms, ${checked} pixels` });
END
run_in "$work/million.html"
note "frames of the whole, and of 0.3 to 0.0001 of it: $(< "$work/sent")"
[[ $(< "$work/sent") = right:* ]] || error "wrong: $(< "$work/sent")"

subtest "The page opens at what was too long"
ln -s "$BUILD/tests/delays" "$work/dly$$"
recorder_start -a -e sched:sched_switch --keep=60s,32M --switch-output --switch-output-when \
	"syscall>23ms if comm==dly$$" --after=300ms --cooldown=1h -o "$work/slow"
"$work/dly$$" syscall 41 > "$work/truth"
recorder_stop "$work/slow"
"$PERF" data convert -i "${snapshots[0]}" --to-html="$work/slow.html" 2> "$work/convert.err" ||
	error "perf data convert fails: $(< "$work/convert.err")"
cat > "$work/script.js" <<'END'
const it = intervals[0];
fetch("/", { method: "POST", body: `${intervals.length} ${begin <= it.begin && end >= it.end &&
	end - begin < 2 * (it.end - it.begin)} ${selected == it} ${it.args.tid} ${it.name}` });
END
run_in "$work/slow.html"
note "$(< "$work/sent")"
tid=$(cut -d ' ' -f 1 "$work/truth")
[[ $(< "$work/sent") = "1 true true $tid syscall>23ms if comm==dly$$: dly$$ (pid "* ]] ||
	error "another view"
finish
