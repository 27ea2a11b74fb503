#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Break the kernel's ring buffer in one place at a time, and check that a test fails.

usage: mutate.py [--list] [TEXT]      TEXT: only mutants with TEXT in their name; the tests are then
                                      not checked to pass without a change

Mutants are made of the functions in kernel/events/ring_buffer.c and ring_buffer_aux.c, and of those
in internal.h that write a record or tell whether there is an AUX area. They are found by patterns,
not by line numbers:

  barriers          smp_*() and barrier() are removed; a release or acquire becomes a WRITE_ONCE()
                    or READ_ONCE()
  WRITE_ONCE        the store is removed, or is made plain
  bounds checks     each comparison by < > <= >= in a condition, or that is returned, becomes true,
                    or false; each minimum becomes one of its arguments; masks, round_down() and
                    array_index_nospec() are removed

The tests are run in the order of TESTS until one fails:

  compiler          the mutant does not compile
  harness           the programs of tools/testing/ring_buffer/tests, and the fuzzer
  model, litmus     for a barrier with a label: the spin model and the litmus tests without it.
                    Neither reads the C code; the label connects them.

The harness cannot tell a mutant from the original if both compile to the same instructions. It is
then not run, and the mutant counts as "same code".

A mutant that no test finds must be listed, with the reason, in the file "undetected". There is one
result for each mutant, and one for entries of this file that match no mutant.
"""
import argparse
import concurrent.futures
import functools
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.realpath(__file__))
RING = os.path.dirname(HERE)
TOP = os.path.realpath(f'{RING}/../../..')
BUILD = os.environ.get('BUILD') or f'{TOP}/build'
EVENTS = f'{TOP}/kernel/events'
SOURCES = ('ring_buffer.c', 'ring_buffer_aux.c', 'internal.h')
OBJECTS = ('ring_buffer.o', 'ring_buffer_aux.o')
TESTS = ('data_area_test', 'control_page_test', 'alloc_test', 'upstream_test', 'aux_test',
         'aux_tsan_test', 'plain_test', 'nesting_test', 'plain_nesting_test', 'snapshot_race_test',
         'fuzz_ring')
RELAXED = {'smp_store_release': 'WRITE_ONCE', 'smp_load_acquire': 'READ_ONCE'}
TIME_LIMIT = 300            # of one test: a mutant may never end [s]
FUZZ = ('-max_total_time=10', '-max_len=400', '-timeout=10', '-seed=1')


class Mutant:
    def __init__(self, source, function, what, start, end, text, label=None):
        self.source, self.function, self.what = source, function, what
        self.start, self.end, self.text, self.label = start, end, text, label
        self.name = f'{function}: {what}'


# ---- finding places

def blank_comments(code):
    """Replace comments and strings by blanks, so that positions stay the same."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"',
                  lambda match: re.sub(r'[^\n]', ' ', match[0]), code, flags=re.S)


def functions(code):
    """Yield name, start and end of the body of each function."""
    for match in re.finditer(r'^\{$.*?^\}$', code, re.S | re.M):
        head = re.split(r'\n\s*\n', code[:match.start()])[-1]
        name = re.search(r'(\w+)\(', head)
        if name:
            yield name[1], match.start(), match.end()


def closing(code, start):
    """Return the position of the parenthesis that closes the one at start."""
    depth = 0
    for position in range(start, len(code)):
        depth += {'(': 1, ')': -1}.get(code[position], 0)
        if not depth:
            return position
    raise ValueError('unbalanced parentheses')


def split(code, start, end, separator):
    """Yield the ranges between separators that are not in parentheses, without blanks."""
    depth, first = 0, start
    for match in re.finditer(rf'[()]|{separator}', code[start:end]):
        if match[0] in '()':
            depth += 1 if match[0] == '(' else -1
        elif not depth:
            yield strip(code, first, start + match.start())
            first = start + match.end()
    yield strip(code, first, end)


def strip(code, start, end):
    text = code[start:end]
    return start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())


def calls(code, start, end, names):
    """Yield name, start and end of calls, and the ranges of their arguments."""
    for match in re.finditer(rf'\b({names})\(', code[start:end]):
        first = start + match.end()
        last = closing(code, first - 1)
        yield match[1], start + match.start(), last + 1, list(split(code, first, last, ','))


def conditions(code, start, end):
    """Yield the ranges of conditions, and of values that are returned."""
    for match in re.finditer(r'\b(?:(?:if|while) \(|return\b)', code[start:end]):
        first = start + match.end()
        yield first, (closing(code, first - 1) if code[first - 1] == '(' else
                      code.index(';', first))


def comparisons(code, start, end):
    """Yield the ranges of the comparisons in a condition."""
    start, end = strip(code, start, end)
    terms = list(split(code, start, end, r'&&|\|\||\?|:'))
    if len(terms) > 1:
        for term in terms:
            yield from comparisons(code, *term)
        return
    wrapped = re.match(r'(?:(?:un)?likely|WARN_ON_ONCE)?\(', code[start:end])
    if wrapped and closing(code, start + wrapped.end() - 1) == end - 1:
        yield from comparisons(code, start + wrapped.end(), end - 1)
    elif re.search(r'[^-<>][<>]=?[^<>]', re.sub(r'\w\([^()]*\)', '', code[start:end])):
        yield start, end


def brief(text):
    return re.sub(r'\s+', ' ', text).strip()


def find_mutants(source, original):
    code = blank_comments(original)
    for function, start, end in functions(code):
        def mutant(what, first, last, text, label=None):
            return Mutant(source, function, what, first, last, text, label)

        for match in re.finditer(r'\b(smp_\w+|barrier)\(\);', code[start:end]):
            first, last = start + match.start(), start + match.end()
            label = re.match(r'\s*/\* ([A-Z]), pairs with', original[last:])
            label = label and label[1]
            yield mutant(f'no {match[1]}()' + (f' ({label})' if label else ''), first, last, ';',
                         label)
        for name, first, last, arguments in calls(code, start, end, '|'.join(RELAXED)):
            label = re.match(r'[^;]*;\s*/\* ([A-Z]), pairs with', original[last:])
            label = label and label[1]
            text = f'{RELAXED[name]}(*{code[arguments[0][0]:arguments[-1][1]]})'
            yield mutant(f'{RELAXED[name]}() for {name}()' + (f' ({label})' if label else ''),
                         first, last, text, label)
        for _, first, last, arguments in calls(code, start, end, 'WRITE_ONCE'):
            place, value = (brief(code[a:b]) for a, b in arguments)
            yield mutant(f'no store to {place}', first, last, '(void)0')
            yield mutant(f'plain store to {place}', first, last, f'{place} = {value}')
        for _, first, last, arguments in calls(code, start, end, 'min_t|min'):
            for a, b in arguments[-2:]:
                yield mutant(f'{brief(code[first:last])} is {brief(code[a:b])}', first, last,
                             f'({code[a:b]})')
        for name, first, last, arguments in calls(code, start, end,
                                                  'array_index_nospec|round_down'):
            index = code[slice(*arguments[0])]
            yield mutant(f'no {name}({brief(index)})', first, last, f'({index})')
        for match in re.finditer(r'\s*& (?:mask\b|\((?:[^()]|\([^()]*\))* - 1\))', code[start:end]):
            yield mutant(f'no mask{match[0]}', start + match.start(), start + match.end(), '')
        for first, last in conditions(code, start, end):
            for a, b in comparisons(code, first, last):
                for truth, text in ('false', '0'), ('true', '1'):
                    yield mutant(f'{brief(code[a:b])} is {truth}', a, b, text)


def all_mutants():
    mutants, seen = [], {}
    for source in SOURCES:
        with open(f'{EVENTS}/{source}') as file:
            found = find_mutants(source, file.read())
        mutants += [mutant for mutant in found
                    if source != 'internal.h' or re.search('output_|rb_has_aux', mutant.function)]
    for mutant in mutants:
        number = seen[mutant.name] = seen.get(mutant.name, 0) + 1
        if number > 1:
            mutant.name += f' ({number})'
    return mutants


def read_undetected():
    """Return the reasons in the file "undetected": indented text below the name of a mutant."""
    reasons, name = {}, None
    with open(f'{HERE}/undetected') as file:
        for line in file:
            if line.startswith('#') or not line.strip():
                continue
            if not line[0].isspace():
                name = line.strip()
                reasons[name] = ''
            else:
                reasons[name] = f'{reasons[name]} {line.strip()}'.strip()
    return reasons


# ---- running tests

class Worker:
    """A copy of kernel/events, and the programs that are built from it."""

    def __init__(self, directory):
        self.events, self.out, self.scratch = (f'{directory}/{name}'
                                               for name in ('events', 'out', 'scratch'))
        os.makedirs(self.events)
        for name in *SOURCES, 'plain_sample.c', 'plain_sample.h':
            shutil.copy(f'{EVENTS}/{name}', self.events)

    def make(self, target):
        variables = [f'LINUX={BUILD}/linux', f'OUT={self.out}', f'EVENTS={self.events}',
                     f'SRCARCH={source_architecture()}']
        return subprocess.run(['make', '-s', '-C', RING, *variables, f'{self.out}/{target}'],
                              capture_output=True, text=True)

    def instructions(self):
        """Return the instructions of OBJECTS, or None if one does not compile."""
        listings = []
        for name in OBJECTS:
            if self.make(f'plain/ours/{name}').returncode:
                return None
            listing = subprocess.run(['objdump', '-dr', '--no-show-raw-insn', '--no-addresses',
                                      f'{self.out}/plain/ours/{name}'],
                                     capture_output=True, text=True, check=True).stdout
            listings.append(listing.partition('Disassembly')[2])    # without the name of the file
        return listings

    def passes(self, test):
        if self.make(test).returncode:
            return False
        shutil.rmtree(self.scratch, ignore_errors=True)
        os.makedirs(f'{self.scratch}/new')
        arguments = (*FUZZ, 'new', f'{RING}/fuzz/corpus') if test == 'fuzz_ring' else ()
        try:
            return not subprocess.run([f'{self.out}/{test}', *arguments], cwd=self.scratch,
                                      stdin=subprocess.DEVNULL, capture_output=True,
                                      timeout=TIME_LIMIT).returncode
        except subprocess.TimeoutExpired:
            return False

    def write(self, mutant):
        with open(f'{EVENTS}/{mutant.source}') as file:
            code = file.read()
        newlines = '\n' * code[mutant.start:mutant.end].count('\n')  # lines keep their numbers
        with open(f'{self.events}/{mutant.source}', 'w') as file:
            file.write(code[:mutant.start] + mutant.text + newlines + code[mutant.end:])

    def restore(self, mutant):
        shutil.copy(f'{EVENTS}/{mutant.source}', self.events)

    def try_harness(self, original):
        """Return what found the mutant, or None, and whether it has the same instructions."""
        instructions = self.instructions()
        if instructions is None:
            return 'compiler', False
        if instructions == original:
            return None, True
        return next((test for test in TESTS if not self.passes(test)), None), False


def source_architecture():
    return {'x86_64': 'x86', 'aarch64': 'arm64'}.get(os.uname().machine, os.uname().machine)


def run_script(name, *arguments):
    with tempfile.TemporaryDirectory() as scratch:
        return subprocess.run([f'{RING}/{name}', *arguments], cwd=scratch, text=True,
                              capture_output=True, env=dict(os.environ, BUILD=BUILD))


class Labels:
    """What the model and the litmus tests find without the barriers of a label."""

    def __init__(self):
        self.lock = threading.Lock()

    @functools.cached_property
    def model(self):
        """The results of the model, which include one for each bug that it can have."""
        return run_script('model/model.sh').stdout

    @functools.cached_property
    def has_litmus(self):
        return run_script('litmus/litmus.sh').returncode == 0

    @functools.cached_property
    def bugs(self):
        """Pairs of a label and the title of the model without this barrier."""
        with open(f'{RING}/model/ring.pml') as file:
            return re.findall(r'^#define NO_([A-Z])(?:_[A-Z]+)?\s+\d+\s+/\* \w+: (.*) \*/$',
                              file.read(), re.M)

    def found_by(self, label):
        with self.lock:
            return list(self.results(label))

    def results(self, label):
        if any(bug == label and re.search(rf'^ok \d+ - {re.escape(title)}:', self.model, re.M)
               for bug, title in self.bugs):
            yield 'model'
        if self.has_litmus and run_script('litmus/litmus.sh', label).returncode:
            yield 'litmus'


def judge(mutant, workers, original, labels, reasons):
    """Return whether the mutant was found, or is listed, and a line that says so."""
    worker = workers.get()
    try:
        worker.write(mutant)
        finder, same = worker.try_harness(original)
    finally:
        worker.restore(mutant)
        workers.put(worker)
    found = [finder] if finder else []
    if mutant.label:
        found += labels.found_by(mutant.label)
    code = ' (same code)' if same else ''
    if found:
        return True, f'{mutant.name}: found by {", ".join(found)}{code}'
    if mutant.name in reasons:
        return True, f'{mutant.name}: not found{code}: {reasons[mutant.name]}'
    return False, f'{mutant.name}: not found{code}'


def main():
    parser = argparse.ArgumentParser(description='Break the ring buffer in one place at a time.')
    parser.add_argument('-l', '--list', action='store_true', help='list the mutants and exit')
    parser.add_argument('text', nargs='?', default='', help='only mutants with this in their name')
    options = parser.parse_args()

    mutants = all_mutants()
    selected = [mutant for mutant in mutants if options.text in mutant.name]
    if options.list:
        for mutant in selected:
            print(f'{mutant.source}: {mutant.name}')
        return 0

    reasons = read_undetected()
    count = os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix='mutants-') as directory:
        workers = queue.Queue()
        for number in range(count):
            workers.put(Worker(f'{directory}/{number}'))
        worker = workers.queue[0]
        original = worker.instructions()
        broken = [] if options.text else [test for test in TESTS if not worker.passes(test)]
        if original is None or broken:
            print(f'Bail out! The ring buffer fails without a change: {" ".join(broken)}')
            return 1
        labels = Labels()
        print(f'1..{len(selected) + 1}', flush=True)
        failed = 0
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            verdicts = pool.map(lambda mutant: judge(mutant, workers, original, labels, reasons),
                                selected)
            for number, (good, line) in enumerate(verdicts, 1):
                print(f'{"ok" if good else "not ok"} {number} - {line}', flush=True)
                failed += not good
        stale = sorted(reasons.keys() - {mutant.name for mutant in mutants})
        for name in stale:
            print(f'# no such mutant: {name}')
        print(f'{"not ok" if stale else "ok"} {len(selected) + 1} - all entries of "undetected" '
              'are mutants')
        return int(failed > 0 or bool(stale))


if __name__ == '__main__':
    sys.exit(main())
