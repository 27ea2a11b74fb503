#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write what a trace of Perfetto says to a database of SQLite, for tests of questions in SQL.

usage: perfetto_tables.py TRACE DATABASE

Tables and columns are those that Perfetto documents for its trace_processor, of which this is an
independent and small replacement: sched, thread_state, thread, process, cpu, machine, slice, track,
thread_track, ftrace_event, args, perf_sample, and stack_profile_*. need_perfetto_reader
(perfetto.sh) sets the search path of modules.
"""
import os
import re
import sqlite3
import sys

from perfetto_trace import read_packets

SCHEMA = """
CREATE TABLE machine (id INTEGER PRIMARY KEY, raw_id, release, arch);
CREATE TABLE process (upid INTEGER PRIMARY KEY, pid, name, parent_upid, machine_id);
CREATE TABLE thread (utid INTEGER PRIMARY KEY, tid, name, upid, is_main_thread, machine_id);
CREATE TABLE sched (id INTEGER PRIMARY KEY, ts, dur, cpu, utid, end_state, priority);
CREATE TABLE thread_state (id INTEGER PRIMARY KEY, ts, dur, cpu, utid, state, waker_utid);
CREATE TABLE track (id INTEGER PRIMARY KEY, name, parent_id);
CREATE TABLE thread_track (id INTEGER PRIMARY KEY, name, utid);
CREATE TABLE slice (id INTEGER PRIMARY KEY, ts, dur, track_id, category, name, depth, arg_set_id);
CREATE TABLE ftrace_event (id INTEGER PRIMARY KEY, ts, name, cpu, utid, arg_set_id);
CREATE TABLE args (arg_set_id, key, int_value, string_value);
CREATE TABLE perf_sample (id INTEGER PRIMARY KEY, ts, utid, cpu, callsite_id);
CREATE TABLE stack_profile_callsite (id INTEGER PRIMARY KEY, depth, parent_id, frame_id);
CREATE TABLE stack_profile_frame (id INTEGER PRIMARY KEY, name, mapping, rel_pc);
CREATE TABLE stack_profile_mapping (id INTEGER PRIMARY KEY, name, build_id);
CREATE INDEX args_of ON args (arg_set_id);
CREATE INDEX samples_of ON perf_sample (utid, ts);
"""
STATES = ((1, 'S'), (2, 'D'), (4, 'T'), (8, 't'), (16, 'X'), (32, 'Z'), (64, 'P'), (128, 'I'))
PREEMPTED = 256
BEGIN, END = 1, 2


def state_name(bits):
    if bits & PREEMPTED:
        return 'R+'
    return next((name for bit, name in STATES if bits & bit), 'R')


def syscall_names():
    """Return the names of the system calls of this machine by number."""
    try:
        with open('/usr/include/' + os.uname().machine + '-linux-gnu/asm/unistd_64.h',
                  encoding='ascii') as file:
            return {int(n): 'sys_' + name
                    for name, n in re.findall(r'#define __NR_(\w+) (\d+)', file.read())}
    except OSError:
        return {}


def signed(value):
    """Return a number as one of 64 bits with a sign, as SQLite has them; other values unchanged."""
    return value - (1 << 64) if isinstance(value, int) and value >= 1 << 63 else value


class Tables:
    """
    db          the database
    ids         primary key for each table and key of a row that exists once
    running     for each (machine, CPU), the row of sched that has no end yet, and its begin
    states      for each utid, the row of thread_state without an end, its begin, and the state
    calls       for each utid, the row of the slice of a system call, and its begin
    open_slices for each track, the slices that have begun
    interned    for each (machine, sequence), values by kind and number
    arg_set     number of the newest set of arguments
    """

    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.executescript(SCHEMA)
        self.ids, self.names = {}, syscall_names()
        self.running, self.states, self.calls, self.open_slices = {}, {}, {}, {}
        self.interned = {}
        self.arg_set = 0

    def add(self, table, **row):
        columns = ', '.join(row)
        return self.db.execute(f'INSERT INTO {table} ({columns}) VALUES '
                               f'({", ".join("?" * len(row))})',
                               [signed(value) for value in row.values()]).lastrowid

    def once(self, table, key, **row):
        """Return the id of a row, which is added if the key is new."""
        if (table, key) not in self.ids:
            self.ids[table, key] = self.add(table, **row)
        return self.ids[table, key]

    def utid(self, machine, tid):
        return self.once('thread', (machine, tid), tid=tid, machine_id=machine)

    def upid(self, machine, pid):
        return self.once('process', (machine, pid), pid=pid, machine_id=machine)

    def rename(self, utid, name):
        self.db.execute('UPDATE thread SET name = ? WHERE utid = ?', (name, utid))

    def add_args(self, pairs):
        self.arg_set += 1
        for key, value in pairs:
            text = isinstance(value, str)
            self.add('args', arg_set_id=self.arg_set, key=key, int_value=None if text else value,
                     string_value=value if text else None)
        return self.arg_set

    # ---- tasks

    def add_tree(self, machine, tree):
        for process in tree.process:
            upid = self.upid(machine, process.pid)
            if process.cmdline:
                self.db.execute('UPDATE process SET name = ? WHERE upid = ?',
                                (process.cmdline[0], upid))
            if process.HasField('ppid'):
                self.db.execute('UPDATE process SET parent_upid = ? WHERE upid = ?',
                                (self.upid(machine, process.ppid), upid))
        for thread in tree.thread:
            utid = self.utid(machine, thread.tid)
            self.db.execute('UPDATE thread SET upid = ?, is_main_thread = ? WHERE utid = ?',
                            (self.upid(machine, thread.tgid), thread.tid == thread.tgid, utid))
            if thread.HasField('name'):
                self.rename(utid, thread.name)

    # ---- events of ftrace

    def set_state(self, utid, time, state, cpu=None, waker=None):
        """Begin a state. A task that leaves a CPU without having come to it has lost a switch: as
        in Perfetto, the state before has no end then."""
        lost = cpu is None and not waker and self.states.get(utid, (0, 0, 0))[2] != 'Running'
        if utid in self.states and not lost:
            row, begin, _ = self.states[utid]
            self.db.execute('UPDATE thread_state SET dur = ? WHERE id = ?', (time - begin, row))
        row = self.add('thread_state', ts=time, dur=-1, utid=utid, state=state, cpu=cpu,
                       waker_utid=waker)
        self.states[utid] = row, time, state

    def add_switch(self, machine, cpu, time, switch):
        utid, following = (self.utid(machine, tid) for tid in (switch.prev_pid, switch.next_pid))
        if (machine, cpu) in self.running:
            row, begin = self.running[machine, cpu]
            self.db.execute('UPDATE sched SET dur = ?, end_state = ? WHERE id = ?',
                            (time - begin, state_name(switch.prev_state), row))
        self.running[machine, cpu] = self.add('sched', ts=time, dur=-1, cpu=cpu, utid=following,
                                              priority=switch.next_prio), time
        if switch.prev_pid:
            self.set_state(utid, time, state_name(switch.prev_state))
        if switch.next_pid:
            self.set_state(following, time, 'Running', cpu=cpu)
        for thread, name in (utid, switch.prev_comm), (following, switch.next_comm):
            self.db.execute('UPDATE thread SET name = ? WHERE utid = ? AND name IS NULL',
                            (name, thread))

    def add_waking(self, machine, event, waking):
        utid = self.utid(machine, waking.pid)
        if self.states.get(utid, (0, 0, 'S'))[2] not in ('R', 'R+', 'Running'):
            self.set_state(utid, event.time, 'R', waker=self.utid(machine, event.pid))

    def add_enter(self, utid, time, call):
        track = self.once('thread_track', utid, utid=utid)
        self.calls[utid] = self.add('slice', ts=time, dur=-1, track_id=track, depth=0,
                                    name=self.names.get(call, f'sys_{call}')), time

    def add_exit(self, utid, time):
        if utid in self.calls:
            row, begin = self.calls.pop(utid)
            self.db.execute('UPDATE slice SET dur = ? WHERE id = ?', (time - begin, row))

    def add_event(self, machine, cpu, event, has_waking):
        ((field, message),) = [(f.name, m) for f, m in event.ListFields() if f.message_type]
        utid = self.utid(machine, event.pid)
        if field == 'generic':
            name = message.name
            args = [(f.name, f.text if f.HasField('text') else
                     f.int if f.HasField('int') else f.uint) for f in message.field]
        else:
            name = field
            args = [(f.name, value) for f, value in message.ListFields() if f.name != 'args']
        self.add('ftrace_event', ts=event.time, name=name, cpu=cpu, utid=utid,
                 arg_set_id=self.add_args(args))
        if field == 'sched_switch':
            self.add_switch(machine, cpu, event.time, message)
        elif field == ('sched_waking' if has_waking else 'sched_wakeup'):
            self.add_waking(machine, event, message)
        elif field == 'sys_enter':
            self.add_enter(utid, event.time, message.id)
        elif field == 'sys_exit':
            self.add_exit(utid, event.time)

    # ---- tracks

    def add_track(self, track):
        self.add('track', id=track.uuid, name=track.name, parent_id=track.parent or None)

    def add_track_event(self, time, event):
        stack = self.open_slices.setdefault(event.track, [])
        args = [('debug.' + a.name, a.text if a.HasField('text') else a.number)
                for a in event.annotation]
        if event.type == END:
            row, begin, arg_set = stack.pop()
            self.db.execute('UPDATE slice SET dur = ? WHERE id = ?', (time - begin, row))
            for key, value in args:
                self.add('args', arg_set_id=arg_set, key=key, int_value=value)
            return
        arg_set = self.add_args(args)
        row = self.add('slice', ts=time, dur=-1 if event.type == BEGIN else 0, depth=len(stack),
                       track_id=event.track, category=','.join(event.category) or None,
                       name=event.name, arg_set_id=arg_set)
        if event.type == BEGIN:
            stack.append((row, time, arg_set))

    # ---- samples

    def intern(self, packet):
        key = packet.machine, packet.sequence
        if packet.flags & 1:
            self.interned[key] = {}
        table = self.interned.setdefault(key, {})
        for kind in 'function', 'frame', 'stack', 'build_id', 'path', 'mapping':
            table.update(((kind, value.iid), value) for value in getattr(packet.interned, kind))
        return table

    def add_frame(self, table, frame):
        name, mapping = table['function', frame.function].str.decode(), None
        if frame.mapping:
            found = table['mapping', frame.mapping]
            path = table['path', found.path[0]].str.decode()
            build_id = table['build_id', found.build_id].str.hex() if found.build_id else ''
            mapping = self.once('stack_profile_mapping', (path, build_id), name=path,
                                build_id=build_id)
        return self.once('stack_profile_frame', (name, mapping, frame.address), name=name,
                         mapping=mapping, rel_pc=frame.address)

    def add_sample(self, packet, table):
        site, sample = None, packet.sample
        if sample.stack:
            for depth, iid in enumerate(table['stack', sample.stack].frame):
                frame = self.add_frame(table, table['frame', iid])
                site = self.once('stack_profile_callsite', (site, frame), depth=depth,
                                 parent_id=site, frame_id=frame)
        self.add('perf_sample', ts=packet.time, utid=self.utid(packet.machine, sample.tid),
                 cpu=sample.cpu, callsite_id=site)


def main():
    packets = read_packets(sys.argv[1])
    tables = Tables(sys.argv[2])
    events, track_events = [], []
    for packet in packets:
        if packet.HasField('system'):
            tables.add('machine', id=packet.machine, raw_id=packet.machine,
                       release=packet.system.utsname.release, arch=packet.system.utsname.machine)
        tables.add_tree(packet.machine, packet.tree)
        if packet.HasField('track'):
            tables.add_track(packet.track)
        if packet.HasField('event'):
            track_events.append((packet.time, packet.event))
        table = tables.intern(packet)
        if packet.HasField('sample'):
            tables.add_sample(packet, table)
        events += [(packet.machine, packet.bundle.cpu, event) for event in packet.bundle.event]
    has_waking = any(event.HasField('sched_waking') for _, _, event in events)
    for machine, cpu, event in sorted(events, key=lambda e: e[2].time):
        tables.add_event(machine, cpu, event, has_waking)
    for time, event in sorted(track_events, key=lambda e: e[0]):
        tables.add_track_event(time, event)
    tables.db.commit()


if __name__ == '__main__':
    main()
