#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Record the same workloads with this perf and with upstream's, and compare what the files tell.

usage: parity.py [--list] [--pair LINE]... [--random N] [--random-own N] [--seed S]
                 [--keep-files DIR] [WORD]...

The file "scenarios" beside this program names targets, events, options and workloads, and lists
pairs of recordings: TARGET EVENTS OPTIONS WORKLOAD [MODE]. Upstream's perf records a stream; this
perf records with the same options, in MODE: stream, overwrite or keep. MODE/RING adds
--bpf-ring=RING, and MODE=MODE compares two recordings of this perf. Upstream's perf reads both.
Each recording becomes a list of facts, which are lines of text. A line that only one recording has
is a difference; it is a failure unless a rule in "scenarios" accepts it and says why.

The environment has PERF, UPSTREAM_PERF and BUILD. Results are printed as KTAP.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import glob
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
PROGRAMS = 'parity', 'parity_inside', 'parity_nonpie', 'parity_library'
PREFIX = 'perf_parity.'         # of each pair's directory
DEADLINE = 60                   # seconds without any progress
MODES = {'stream': ('', '', ()),
         'overwrite': ('/overwrite/', ',overwrite', ()),
         'keep': ('', '', ('--keep=1h,64M',))}
RING = '-m', '16M'              # holds what a workload causes: a busy machine makes no difference
NR_SHOWN = 4                    # differences of one kind
SIDE_BAND = {'mmap', 'mmap_data', 'mmap2', 'comm', 'comm_exec', 'task', 'ksymbol', 'bpf_event',
             'namespaces', 'cgroup', 'text_poke', 'build_id', 'context_switch'}
ID_FIELDS = 'TID', 'TIME', 'ID', 'STREAM_ID', 'CPU', 'IDENTIFIER'
STATISTICAL = 'samples cpu-clock', 'samples task-clock'
# To read all calls of a busy machine, or to unwind the stacks of all tasks, takes minutes.
EVERYTHING = 'system', 'system-command', 'cpus'
UNFILTERED = 'faults', 'group', 'clock', 'task-clock', 'all-calls'
MANY = 10                       # hits of one address that no other code of a workload has


class Problem(Exception):
    """A recording failed; the message becomes a fact."""


def wait_until(condition, what):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            raise Problem(f'no {what} within {DEADLINE} s')
        time.sleep(0.01)


def define_probe(text):
    """open() seeks to the end to append, which this file refuses."""
    file = os.open('/sys/kernel/tracing/uprobe_events', os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


# ---- scenarios

class Scenarios:
    """The sections of the file: [targets], [events], [options] and [workloads] name words of a
    command line, [pairs], [nothing] and [differences] are lists. [own] names events that only pairs
    without upstream have."""

    def __init__(self, path):
        self.words = {name: {} for name in ('targets', 'events', 'own', 'options',
                                                 'workloads')}
        self.pairs, self.nothing, self.differences = [], [], []
        with open(path) as file:
            lines = file.read().splitlines()
        for line in lines:
            if not line.strip() or line.startswith('#'):
                continue
            if line.startswith('['):
                section = line.strip('[]')
            elif section == 'pairs':
                self.pairs.append(line)
            elif section in ('nothing', 'differences'):
                getattr(self, section).append([part.strip() for part in line.split(' | ')])
            else:
                name, _, words = line.partition(' ')
                self.words[section][name] = words.strip()

    def random_pairs(self, number, draw):
        """Draw pairs, each until it is one that no line of [nothing] describes."""
        pairs = []
        while len(pairs) < number:
            pair = draw()
            if not any(re.search(scope, pair) for scope, _ in self.nothing):
                pairs.append(pair)
        return pairs

    def random_pair(self, rng):
        """Half of the options are none: one fault does not hide the others."""
        options = rng.choice(['-', rng.choice([*self.words['options']])])
        target, events = rng.choice([*self.words['targets']]), rng.choice([*self.words['events']])
        if options == 'dwarf' and target in EVERYTHING and events in UNFILTERED:
            options = 'g'
        return ' '.join([target, events, options, rng.choice([*self.words['workloads']]),
                         rng.choice(['stream', 'stream', 'overwrite', 'keep'])])

    def event(self, name):
        return self.words['events'].get(name) or self.words['own'][name]

    def random_own_pair(self, rng):
        """Half of the pairs have events of [own] in all tasks, which BPF writes unless told not to."""
        targets, events = [*self.words['targets']], [*self.words['events']]
        if rng.random() < 0.5:
            targets = EVERYTHING
            own = rng.choice([name for name in self.words['own'] if name not in UNFILTERED])
            events = [own, *(f'{own}+{event}' for event in events if event != 'group')]
        options = rng.choice(['-', rng.choice([*self.words['options']])])
        modes = [rng.choice([*MODES]) + ring for ring in ('/no', '/auto')]
        return ' '.join([rng.choice(targets), rng.choice(events), options,
                         rng.choice([*self.words['workloads']]), '='.join(modes)])

    def accepted(self, pair, line):
        """Return why a difference is accepted, or None."""
        own = '=' in pair
        for scope, pattern, reason in self.differences:
            if own == ('=' in scope) and re.search(scope, pair) and re.fullmatch(pattern, line):
                return reason
        return None


# ---- recording

class Recording:
    """One run of a workload under one perf."""

    def __init__(self, scenarios, pair, perf, mode, directory):
        target, events, options, workload = pair.split()[:4]
        self.target, self.perf, self.dir = scenarios.words['targets'][target], perf, directory
        mode, _, ring = mode.partition('/')
        alone, term, mode_options = MODES[mode]
        if ring:
            mode_options += f'--bpf-ring={ring}',
        self.programs, self.exit = f'{directory}/bin', contextlib.ExitStack()
        shutil.copytree(f'{directory}/../bin', self.programs)
        self.run = random.SystemRandom().randrange(1, 1 << 31)
        program = f'{self.programs}/parity'
        values = dict(parity=program, dir=self.programs, alone=alone, term=term, id=self.run,
                      inside=program + '_inside', nonpie=program + '_nonpie',
                      library=program + '_library',
                      uid={'upstream': 'games', 'ours': 'news'}[os.path.basename(directory)],
                      cgroup=f'parity{self.run}', probe=f'parity{self.run}',
                      usdt=f'parity{self.run}usdt',
                      nr=subprocess.check_output([program, 'nr'], text=True).strip())

        def expand(*lines):
            return [word.format(**values) for line in lines for word in shlex.split(line)]

        option_words = (scenarios.words['options'][name] for name in options.split('+')
                        if name != '-')
        event_words = ' '.join(scenarios.event(name) for name in events.split('+'))
        if '{probe}' in event_words:
            self.add_probe(values['probe'], program)
        if '{usdt}' in event_words:
            self.add_usdt(values['usdt'], program)

        self.values = values
        self.options = [*expand(event_words), *expand(*option_words), *mode_options]
        self.workload = expand(scenarios.words['workloads'][workload])
        self.jitdump = 'jitdump' in self.workload
        self.environment = dict(os.environ, HOME=directory, PARITY_RUN=str(self.run))
        self.environment.pop('PERF_CONFIG', None)
        if set(events.split('+')).intersection(('clock', 'task-clock')):
            self.environment['PARITY_SPINS'] = str(50_000_000)
        self.truth = os.open(f'{directory}/truth', os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self.environment['PARITY_FD'] = str(self.truth)
        self.facts, self.children = [], []

    def add_probe(self, group, program):
        """Add probes of WORK() and its return."""
        symbols = subprocess.check_output(['nm', program], text=True)
        offset = re.search(r'(\w+) T work_', symbols)[1]
        for kind, name in ('p', 'enter'), ('r', 'leave'):
            define_probe(f'{kind}:{group}/{name} {program}:0x{offset}')
            self.exit.callback(define_probe, f'-:{group}/{name}')

    def add_usdt(self, group, program):
        """Add the static probe of the program, as perf probe does."""
        notes = subprocess.check_output(['readelf', '-n', program], text=True)
        offset = re.search(r'Name: call\s+Location: 0x0*(\w+)', notes)[1]
        define_probe(f'p:{group}/call {program}:0x{offset}')
        self.exit.callback(define_probe, f'-:{group}/call')

    def start(self, command, **more):
        self.children.append(subprocess.Popen(command, cwd=self.dir, env=self.environment,
                                              pass_fds=[self.truth], **more))
        return self.children[-1]

    def report(self):
        with open(f'{self.dir}/truth') as file:
            return file.read()

    def record(self):
        """Record the workload; add the exit status to the facts."""
        try:
            words = self.target.split()
            if '--' in words:
                split = words.index('--')
                status = self.record_command(words[:split], words[split + 1:])
            else:
                status = self.record_tasks(self.target)
            # Upstream's perf dies of the signal that killed the command. A shell tells no
            # difference.
            self.facts.append(f'status {128 - status if -32 < status < 0 else status}')
        except Problem as problem:
            self.facts.append(f'status: {problem}')
        finally:
            for child in self.children:
                if child.poll() is None:
                    child.kill()
                child.wait()
            os.close(self.truth)
            self.exit.close()

    def recorder(self, options, command=()):
        output = [] if '-o' in self.options else ['-o', f'{self.dir}/data']
        with open(f'{self.dir}/data' if not output else os.devnull, 'wb') as out, \
             open(f'{self.dir}/record.err', 'wb') as err:
            options = [*RING, *self.options, *output, *options]
            return self.start([self.perf, 'record', *options, *command],
                              stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def record_command(self, options, shell):
        workload = self.workload
        if shell:
            workload = [*shell, shlex.join(workload) + ' && true']
        perf = self.recorder(options, ['--', *workload])
        wait_until(lambda: perf.poll() is not None, 'end of perf record')
        return perf.returncode

    def record_tasks(self, target):
        """Attach to a workload that waits, let it go, and wait for both."""
        workload = self.workload
        if '{uid}' in target:
            shutil.chown(self.programs, str(self.values['uid']))        # some change their files
            workload = ['setpriv', '--reuid', str(self.values['uid']), '--clear-groups', *workload]
        if '{cgroup}' in target:
            workload = ['sh', '-c', 'echo 0 > "$0"/cgroup.procs && exec "$@"', self.add_cgroup(),
                        *workload]
        tasks = self.start(workload, stdin=subprocess.PIPE)
        self.exit.callback(tasks.stdin.close)
        wait_until(lambda: 'ready' in self.report() or tasks.poll() is not None, 'waiting workload')
        if tasks.poll() is not None:
            raise Problem(f'the workload exits with status {tasks.returncode}')
        self.values.update(task=tasks.pid, tasks=','.join(descendants(tasks.pid)),
                           threads=','.join(threads(tasks.pid)))
        for name in 'control', 'ack':
            os.mkfifo(f'{self.dir}/{name}')
        control = os.open(f'{self.dir}/control', os.O_RDWR)
        ack = os.open(f'{self.dir}/ack', os.O_RDWR | os.O_NONBLOCK)
        try:
            perf = self.recorder([*shlex.split(target.format(**self.values)), '--control',
                                  f'fifo:{self.dir}/control,{self.dir}/ack'])
            os.write(control, b'ping\n')

            def answered():
                try:
                    return os.read(ack, 100)
                except BlockingIOError:
                    return perf.poll() is not None
            wait_until(answered, 'answer of perf record')
            if '-D' in self.options:
                os.write(control, b'enable\n')
                wait_until(answered, 'answer of perf record')
            if '--switch-output=signal' in self.options:
                perf.send_signal(signal.SIGUSR2)
                wait_until(lambda: len(self.files()) > 1 or glob.glob(f'{self.dir}/data.2*'),
                           'file after a signal')
            tasks.stdin.write(b'go' * 16)
            tasks.stdin.flush()
            wait_until(lambda: 'stays' in self.report() or tasks.poll() is not None, 'end of tasks')
            if tasks.poll() is None or not re.search('-[pt] ', target) and perf.poll() is None:
                os.write(control, b'stop\n')
            wait_until(lambda: perf.poll() is not None, 'end of perf record')
        finally:
            os.close(control)
            os.close(ack)
        return perf.returncode

    def add_cgroup(self):
        with open('/proc/mounts') as file:
            mounts = [line.split() for line in file]
        root = next((mount[1] for mount in mounts if mount[2] == 'cgroup2'), None)
        if not root:
            raise Problem('no cgroup2')
        path = f'{root}/{self.values["cgroup"]}'
        os.mkdir(path)
        self.exit.callback(os.rmdir, path)
        return path

    def files(self):
        return sorted(path for path in glob.glob(f'{self.dir}/data*') if os.path.getsize(path))


def descendants(pid):
    """Return the ids of a process and of all that it has started, as text."""
    found = [str(pid)]
    for parent in found:
        for path in glob.glob(f'/proc/{parent}/task/*/children'):
            with open(path) as file:
                found += file.read().split()
    return found


def threads(pid):
    return [task for process in descendants(pid) for task in os.listdir(f'/proc/{process}/task')]


# ---- facts

SIDE_BAND_LINE = re.compile(r'\s*(?P<comm>.*?)\s+-?\d+/-?\d+\s+(?:\[\d+\]\s+)?(?P<time>\d+\.\d+): '
                            r'PERF_RECORD_(?P<kind>\w+)(?P<rest>.*)')
SAMPLE_LINE = re.compile(r'\s*(?P<comm>.*?)\s+-?\d+/(?P<tid>-?\d+)\s+(?P<time>\d+\.\d+):\s+'
                         r'(?P<event>\S+):\s+(?P<rest>.*)')
FRAME = re.compile(r'\s*([0-9a-f]+) (.*) \((.*)\)$')
CALL = re.compile(r'NR \d+ \(([0-9a-f]+), ([0-9a-f]+), ([0-9a-f]+),')
TWICE = 'a part of a ring is written twice'


class Facts:
    """What upstream's perf finds in the files of a recording."""

    def __init__(self, recording, reader):
        self.recording, self.reader = recording, reader
        self.calls = collections.defaultdict(collections.Counter)       # by tag
        self.names = collections.defaultdict(set)                       # by tag
        self.samples = collections.Counter()
        self.own = {*re.findall(r'ready (\d+)', recording.report())}   # tasks of the workload
        self.records, self.events, self.missing = [], [], set()
        self.seen, self.twice = set(), False
        self.lines = [*recording.facts]

    def run(self, *command, perf=None):
        with open(f'{self.recording.dir}/read.err', 'ab') as err:
            result = subprocess.run([perf or self.reader, *command], cwd=self.recording.dir,
                                    check=False, env=self.recording.environment,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err)
        if result.returncode:
            self.lines.append(f'reader: {command[0]} exits with status {result.returncode}')
        return result.stdout.decode(errors='replace').splitlines()

    def read(self):
        files = self.recording.files()
        self.lines.append(f'files {"several" if len(files) > 1 else len(files)}')
        for number, path in enumerate(files):
            if self.recording.jitdump:
                self.run('inject', '-f', '--jit', '-i', path, '-o', f'{path}.jit',
                         perf=self.recording.perf)
                path += '.jit'
            self.parse(number, self.run('script', '-f', '-i', path, '--header', '--kallsyms',
                                        '/dev/null', '--ns', '-F',
                                        'comm,pid,tid,time,event,trace,ip,sym,dso',
                                        '--show-task-events', '--show-mmap-events',
                                        '--show-namespace-events'))
            self.build_ids(self.run('buildid-list', '-f', '-i', path))
        for pid in self.own:                    # of a JIT
            pathlib.Path(f'/tmp/perf-{pid}.map').unlink(missing_ok=True)
        self.tasks()
        self.count()
        self.attributes()
        self.lines += [f'feature {name} is missing' for name in self.missing]
        self.lines += [TWICE] if self.twice else []
        return collections.Counter(self.lines)

    def place(self, path):
        """Name the folder of the workload alike in all recordings."""
        return path.replace(self.recording.programs, 'DIR')

    def parse(self, number, lines):
        sample, frames = None, []
        for line in [*lines, '']:
            line = line.replace(self.recording.values['cgroup'], 'RUN')
            line = re.sub(r'(perf|jit)-\d+\.(map|dump)', r'\1-PID.\2', line)
            line = re.sub(r'jitted-\d+-\d+\.so', 'jitted.so', line)
            if line.startswith('#'):
                self.header(line)
                continue
            frame = FRAME.match(line) if sample else None
            if frame and line.startswith('\t'):
                frames.append(frame.groups())
                continue
            if sample:
                self.sample(sample, frames)
                sample, frames = None, []
            record = SIDE_BAND_LINE.match(line)
            if record:
                self.records.append((number, record))
                continue
            sample = SAMPLE_LINE.match(line)
            if sample:
                frame = re.search(r'\s([0-9a-f]{4,16} .* \(.*\))$', ' ' + sample['rest'])
                if frame:
                    frames.append(FRAME.match(frame[1]).groups())

    def see(self, *record):
        """No two records of this kind have the same time."""
        self.twice |= record in self.seen
        self.seen.add(record)

    def header(self, line):
        key, _, value = line[1:].partition(':')
        if key.strip() == 'event':
            self.events.append(value)
        elif key.strip() == 'missing features':
            self.missing.update(value.split())

    def sample(self, sample, frames):
        frames = [frame for frame in frames if int(frame[0], 16) >> 63 == 0]
        call = CALL.match(sample['rest'])
        event = sample['event'].partition('/')[0]
        if frames and PREFIX in frames[0][2] and self.recording.dir not in frames[0][2]:
            return                              # of another comparison that runs at the same time
        if call:
            run, tag, number = (int(text, 16) for text in call.groups())
            if run != self.recording.run:
                return
            self.own.add(sample['tid'])
            self.calls[event, tag][number] += 1
            self.names[event, tag].add(sample['comm'])
            self.see(sample['time'], tag, number, event)
        stack = ' < '.join(f'{symbol}@{os.path.basename(dso)}' for _, symbol, dso in frames)
        address = frames[0][0] if frames else ''
        self.samples[event, sample['comm'], sample['tid'], address, stack] += 1

    def count(self):
        """Count the samples of the batches. Calls are numbered. Faults and probes are known by the
        function, or, if that has another name in this file, by hits of one address, and are exact.
        Clocks tick as they like."""
        for (event, tag), numbers in self.calls.items():
            repeated = sum(numbers.values()) - len(numbers)
            names = ', '.join(sorted(self.names[event, tag]))
            self.lines.append(f'calls {tag} {event}: {min(numbers)} to {max(numbers)}, '
                              f'{len(numbers)} numbers, {repeated} repeated; by {names}')
        counts = collections.Counter()
        for (event, comm, tid, _, stack), number in self.samples.items():
            known = number >= MANY or event.startswith('RUN:')      # a probe
            if stack.startswith('work_') or tid in self.own and known:
                counts[f'samples {event} in {comm}: {stack}'] += number
        for text, number in counts.items():
            exact = not text.startswith(STATISTICAL)
            self.lines.append(f'{text}{f" x{number}" if exact else ""}')

    def build_ids(self, lines):
        for line in lines:
            build_id, path = line.rsplit(' ', 1)
            path = self.place(path)
            if 'jitted-' in path:               # has the process id in it
                continue
            if re.match('DIR|/parity|/memfd', path):
                self.lines.append(f'build-id {build_id.strip() or "unknown"} {path}')

    def tasks(self):
        """Tell the names of each task of the workload, how it began and ended, and its maps."""
        lives, told = collections.defaultdict(list), set()
        for number, record in self.records:
            kind, rest = record['kind'], record['rest']
            existing = '' if float(record['time']) else 'existing '
            if existing:                # told again in each file
                if (kind, rest) in told:
                    continue
                told.add((kind, rest))
            if kind in ('FORK', 'EXIT'):
                if not existing:            # a later file begins with the state of all tasks
                    self.see(number, record['time'], kind, rest)
                tid, parent = re.match(r'\(-?\d+:(-?\d+)\):\(-?\d+:(-?\d+)\)', rest).groups()
                if kind == 'FORK' and parent in self.own and not existing:
                    self.own.add(tid)
                lives[tid].append(('', existing + kind.lower()))
            elif kind == 'COMM':
                # A name of another task may have a newline.
                match = re.match(r'( exec)?: (.*):-?\d+/(-?\d+)', rest)
                if match:
                    lives[match[3]].append((match[2], f'{existing}{(match[1] or " comm")[1:]}'))
            elif kind == 'NAMESPACES':
                lives[re.match(r' (\d+)/(\d+)', rest)[2]].append(('', existing + 'namespaces'))
            elif kind.startswith('MMAP'):
                tid, prot, path = re.match(r' -?\d+/(-?\d+): .*\]: (\S+) (.*)', rest).groups()
                lives[tid].append(('', f'{existing}map {prot} {self.place(path)}'))
        for tid in self.own - {'-1'}:
            names = [name for name, _ in lives[tid] if name] or ['?']
            steps = [f'{what} {name}' for name, what in lives[tid] if name]
            self.lines.append(f'task {" > ".join(steps)}')
            self.lines += [f'task {names[-1]}: {what}' for name, what in lives[tid] if not name]

    def attributes(self):
        """Tell the attributes of each event. Which event asks for side-band records is not told."""
        side_band, fields = set(), []
        for text in set(self.events):
            name = re.search(r'name = (.*?), ', text)[1].strip()
            name = re.sub(',overwrite|/overwrite/', '', name)
            text = re.sub(r', id = \{.*?\}', '', text)
            values = dict(re.findall(r'(\{ .*? \}|\w+) = ([^,]*)', text))
            types = set(values.pop('sample_type', '').split('|'))
            side_band.update(SIDE_BAND.intersection(values))
            fields.append(types.intersection(ID_FIELDS))
            if name.startswith('dummy:'):
                continue
            self.lines += [f'event {name}: samples have {word}' for word in types]
            self.lines += [f'event {name}: {key} = {value}' for key, value in values.items()
                           if key not in {'name', 'config', *SIDE_BAND}]
        self.lines += [f'side-band: {name}' for name in side_band]
        if fields:
            differing = set.union(*fields) - set.intersection(*fields)
            self.lines.append(f'events differ in {", ".join(sorted(differing)) or "no"} id fields')


# ---- comparison

def compare(scenarios, pair, directory, perfs):
    """Return the differences that no rule accepts, those with a reason, and the number of facts."""
    first, _, second = (pair.split() + ['stream'])[4].rpartition('=')
    if first:
        perfs = perfs[1], perfs[1]

    def facts_of(name, perf, mode):
        path = f'{directory}/{name}'
        os.makedirs(path)
        recording = Recording(scenarios, pair, perf, mode, path)
        recording.record()
        return Facts(recording, os.environ['UPSTREAM_PERF']).read()

    # Linux gives all samples of a page fault the time by the clock of one event. Code of a JIT is
    # in no file that tells which of the two recordings it belongs to.
    shared = re.match(r'(system|system-command|cpus|user|cgroup) (\S*(faults|group)|.* jit)',
                      pair)
    with concurrent.futures.ThreadPoolExecutor(1 if shared else 2) as pool:
        facts = [*pool.map(facts_of, ('upstream', 'ours'), perfs, (first or 'stream', second))]
    lines = sorted([f'-{line}' for line in facts[0] - facts[1]] +
                   [f'+{line}' for line in facts[1] - facts[0]], key=lambda line: line[1:])
    reasons = {line: scenarios.accepted(pair, line) for line in lines}
    return ([line for line in lines if not reasons[line]],
            {line: reason for line, reason in reasons.items() if reason}, facts)


def proves(pair, facts):
    """Are there facts of what the pair is about? Without samples, tasks and their maps are."""
    _, events, options = pair.split()[:3]
    wanted = 'task .' if events == 'dummy' or options == 'no-samples' else 'calls |samples '
    return any(re.match(wanted, line) for line in facts)


def why_unproven(facts, directory):
    """Return why a comparison proves nothing, or an empty text. facts are those of both files."""
    if any(line.startswith('reader: script') for line in facts[0] - facts[1]):
        return 'upstream cannot read the file of upstream'
    if TWICE in facts[0] - facts[1]:            # seen on busy machines
        return f'upstream: {TWICE}'
    for name in 'upstream', 'ours':
        for path in pathlib.Path(directory, name).glob('*.err'):
            if re.search(r'[Ll]ost [1-9]', path.read_text(errors='replace')):
                return 'records were lost'
    return ''


def show(lines, number):
    """Print differences; of each kind ("-task", "+map" ...), no more than a number of them."""
    kinds = collections.defaultdict(list)
    for line in lines:
        kinds[line.split()[0]].append(line)
    for kind, members in kinds.items():
        for line in members[:number]:
            print(f'# {line}')
        if len(members) > len(members[:number]):
            print(f'# {kind} ... {len(members)} in all')


def main():
    parser = argparse.ArgumentParser(description='Compare perf record with upstream\'s.')
    parser.add_argument('-l', '--list', action='store_true', help='list the pairs and exit')
    parser.add_argument('-v', '--verbose', action='store_true',
                        help='print the facts and the accepted differences')
    parser.add_argument('--pair', action='append', help='run this pair')
    parser.add_argument('--random', type=int, default=0, metavar='N', help='add random pairs')
    parser.add_argument('--random-own', type=int, default=0, metavar='N',
                        help='add random pairs of this perf alone, with and without --bpf-ring')
    parser.add_argument('--seed', type=int, help='for the random pairs')
    parser.add_argument('--keep-files', metavar='DIR', help='leave the files of failures here')
    parser.add_argument('word', nargs='*', help='run only pairs that contain all of these')
    options = parser.parse_args()
    scenarios = Scenarios(f'{HERE}/scenarios')
    pairs = options.pair or [pair for pair in scenarios.pairs
                             if all(word in re.split(r'[ +]', pair) for word in options.word)]
    if options.random or options.random_own:
        seed = random.randrange(1 << 32) if options.seed is None else options.seed
        print(f'# --random {options.random} --random-own {options.random_own} --seed {seed}')
        rng = random.Random(seed)
        pairs += scenarios.random_pairs(options.random, lambda: scenarios.random_pair(rng))
        pairs += scenarios.random_pairs(options.random_own, lambda: scenarios.random_own_pair(rng))
    if options.list:
        print('\n'.join(pairs))
        return 0
    perfs = os.environ['UPSTREAM_PERF'], os.environ['PERF']
    failed = 0
    print('KTAP version 1')
    for number, pair in enumerate(pairs, 1):
        top = tempfile.mkdtemp(prefix=PREFIX)
        os.chmod(top, 0o755)
        os.makedirs(f'{top}/bin')
        for name in PROGRAMS:
            shutil.copy(f'{os.environ["BUILD"]}/tests/{name}', f'{top}/bin')
        differences, accepted, facts = compare(scenarios, pair, top, perfs)
        if options.verbose:
            for line in sorted({**facts[0], **facts[1]}):
                print(f'#   {line}')
            for line, reason in accepted.items():
                print(f'# accepted: {line}: {reason}')
        show(differences, None if options.verbose else NR_SHOWN)
        unproven = ''
        if differences:
            unproven = why_unproven(facts, top)
            if unproven:
                differences = []
        elif not proves(pair, facts[0]):
            unproven = f'upstream records no {"tasks" if "dummy" in pair else "samples"}'
        print(f'{"not ok" if differences else "ok"} {number} {" ".join(pair.split())}'
              f'{" # SKIP " + unproven if unproven else ""}', flush=True)
        failed += bool(differences)
        if differences and options.keep_files:
            shutil.copytree(top, f'{options.keep_files}/{number}', symlinks=True,
                            ignore=shutil.ignore_patterns('control', 'ack'), dirs_exist_ok=True)
        shutil.rmtree(top)
    print(f'1..{len(pairs)}')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
