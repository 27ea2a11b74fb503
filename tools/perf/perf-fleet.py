#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Take snapshots on many machines, start and stop their recorders: perf fleet, see its manual."""
import argparse
import asyncio
import contextlib
import os
import resource
import signal
import sys
import time
import types

sys.dont_write_bytecode = True

from fleet import chrome, clock, merge, nodes, perfetto                 # noqa: E402
from fleet.archive import Archive, ArchiveError, describe_file          # noqa: E402
from fleet.machine import Failed, Machine                               # noqa: E402

PARTIAL, USAGE, FAILED = 1, 129, 255
COPIES = 16                     # at a time
TRACES = {'perfetto': ('trace.pftrace', perfetto), 'chrome': ('trace.json.gz', chrome)}
REQUESTS = ('signal', 'control', 'time', 'size', 'exit')

EPILOG = """\
The machines need a recorder with a control FIFO: the service perf-recorder@default, or what
perf fleet start runs. They are reached by ssh as ~/.ssh/config says, without a password. Node sets
are those of ClusterShell: node[1-40], @web, n1,n7.

examples:
  perf fleet start -w node[1-40]              start the recorders
  perf fleet status -w node[1-40]             do they record?
  perf fleet snapshot -w node[1-40]           the last moments of all machines, in one archive
  perf fleet snapshot --peers node7           of node7, and of all it has TCP connections with
  perf record ... --switch-output-event oom:mark_victim \\
      --exec-snapshot 'perf fleet snapshot -w node[1-40]'
                                              of all machines, when one runs out of memory

exit status: 0 all machines, 1 some machines, 255 none, 129 wrong usage
"""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(USAGE, f'{self.prog}: {message}\n')


def parse_size(text):
    units = {'B': 0, 'K': 10, 'M': 20, 'G': 30, 'T': 40}
    shift = units.get(text[-1:].upper())
    number = text if shift is None else text[:-1]
    if not number.isascii() or not number.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is no size: use a number with B, K, M, G or T")
    return int(number) << (shift or 0)


def parse_timeout(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 1 <= value <= 86400:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds from 1 to 86400")
    return value


def parse_fanout(text):
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 100000:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of connections")
    return int(text)


def parse_instance(text):
    if not nodes.RECORDER.fullmatch(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not the name of a recorder")
    return text


def parser():
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument('-w', '--nodes', metavar='<nodes>', help='machines, as a node set')
    common.add_argument('-x', '--exclude', metavar='<nodes>', help='machines to leave out')
    common.add_argument('--timeout', metavar='<s>', type=parse_timeout, default=30,
                        help='give up a machine that does not answer for this time (default: 30)')
    common.add_argument('--fanout', metavar='<n>', type=parse_fanout, default=64,
                        help='connect to this many machines at a time (default: 64)')
    common.add_argument('--instance', metavar='<name>', type=parse_instance, default='default',
                        help='recorder perf-recorder@<name> (default: default)')
    common.add_argument('--ssh', metavar='<command>', default='ssh',
                        help='ssh with options, as in "ssh -l root -i key" (default: ssh)')
    common.add_argument('--sudo', action='store_true', help='become root by sudo')

    top = Parser(prog='perf fleet', epilog=EPILOG, usage='perf fleet <command> [<options>]',
                 formatter_class=argparse.RawDescriptionHelpFormatter,
                 description='Control the flight recorders of many machines.')
    commands = top.add_subparsers(dest='action', prog='perf fleet', metavar='<command>',
                                  required=True)

    def add(name, text):
        return commands.add_parser(name, parents=[common], help=text, description=text,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)

    start = add('start', 'start the recorders')
    start.add_argument('--record', metavar='<options>',
                       help='run perf record with these options, not the service')
    add('status', 'say which machines record')
    add('stop', 'stop the recorders')
    snapshot = add('snapshot', 'take snapshots on all machines and copy them to one archive')
    snapshot.add_argument('-o', '--output', metavar='<file>',
                          help='archive (default: fleet-<time>.tar)')
    snapshot.add_argument('--peers', metavar='<node|file>',
                          help='machines that have TCP connections with this one, or with the one '
                          'that recorded this file; with -w only those of -w')
    snapshot.add_argument('--max-size', metavar='<size>', type=parse_size,
                          help='limit all files together (default: half of the free space)')
    snapshot.add_argument('--trace', metavar='<format>', choices=[*TRACES, 'none'],
                          default='perfetto',
                          help='format of the trace of all machines: perfetto (default), chrome, '
                          'none')
    snapshot.add_argument('--no-trace', action='store_const', dest='trace', const='none',
                          help='do not merge the files to a trace for viewers')
    snapshot.add_argument('file', metavar='<file>', nargs='?',
                          help='snapshot of this machine, added by perf record --exec-snapshot')
    snapshot.set_defaults(record=None)
    for name in ('status', 'stop'):
        commands.choices[name].set_defaults(record=None)
    return top


def warn(text):
    print(f'perf fleet: {text}', file=sys.stderr, flush=True)


class Fleet:
    def __init__(self, options):
        self.options = options
        self.gates = types.SimpleNamespace(starting=asyncio.Semaphore(options.fanout),
                                           copying=asyncio.Semaphore(COPIES))
        self.results = []
        self.tasks = []

    async def run(self, names, work):
        """Run @work(machine) for all machines, and for those that it adds."""
        self.add(names, work)
        done = 0
        while done < len(self.tasks):
            await self.tasks[done]
            done += 1
        return self.results

    def add(self, names, work):
        for name in names:
            machine = Machine(name, self.options)
            self.results.append(machine.result)
            self.tasks.append(asyncio.create_task(self.guard(machine, work)))

    @staticmethod
    async def guard(machine, work):
        try:
            try:
                await work(machine)
            except OSError as error:
                raise Failed(f'cannot run ssh: {error.strerror}') from None
        except Failed as error:
            machine.result['error'] = str(error)
            warn(f'{machine.name}: {error}')

    async def control(self, names):
        async def work(machine):
            async with self.gates.starting:
                machine.result['state'] = await machine.control(self.options.action)
        return await self.run(names, work)

    async def snapshot(self, names, archive, first, excluded):
        """Take snapshots of @names, or of @first and then of its peers among @names.

        Without @names, take those of all its peers that are not @excluded.
        """
        async def work(machine):
            await machine.snapshot(self.gates, archive,
                                   add_peers if machine.name == first else None)
            path = archive.spooled(machine.result['file'])
            machine.result.update(await asyncio.to_thread(describe_file, path))

        def add_peers(addresses):
            peers = nodes.choose_peers(addresses, first, names, excluded)
            warn(f'{first} has {len(peers)} peers' + (f': {nodes.fold(peers)}' if peers else ''))
            self.add(peers, work)
        return await self.run([first] if first else names, work)


def status_of(results):
    failed = sum('error' in result for result in results)
    return 0 if not failed else PARTIAL if failed < len(results) else FAILED


def control(options, names):
    results = run(lambda: Fleet(options).control(names))
    states = {}
    for result in results:
        if 'state' in result:
            states.setdefault(result['state'], []).append(result['machine'])
    for state, machines in sorted(states.items()):
        print(f'{nodes.fold(machines)}: {state}')
    return status_of(results)


def snapshot(options, names, first, excluded):
    now = time.time()
    reason = os.environ.get('PERF_SNAPSHOT_REASON') if options.file else None
    # A snapshot that was asked for, as by perf fleet on another machine, must not ask all again.
    if reason in REQUESTS:
        return 0
    output = options.output or time.strftime('fleet-%Y%m%dT%H%M%SZ.tar', time.gmtime(now))
    archive = Archive(output, options.max_size)
    try:
        manifest = {'format': 1, 'created_s': round(now, 6), 'reason': reason or 'request',
                    'clock': 'offset_ns: clock of the machine minus clock of the collector',
                    'collector': nodes.own_name(), 'machines': []}
        if options.file:
            local = {'machine': nodes.own_name(), 'remote_file': os.path.abspath(options.file),
                     'clock': {'offset_ns': 0, 'bound_ns': 0, 'source': 'this machine'}}
            manifest['machines'].append(local)
            try:
                local.update(archive.copy_local(local['machine'], options.file))
                local.update(describe_file(archive.spooled(local['file'])))
            except Failed as error:
                local['error'] = str(error)
                warn(f'{local["machine"]}: {error}')
        chrony = clock.local_chrony_bound()
        manifest['machines'] += run(lambda: Fleet(options).snapshot(names, archive, first,
                                                                   excluded))
        machines = [machine for machine in manifest['machines'] if 'file' in machine]
        if not machines:
            archive.remove()
            raise ArchiveError('No archive is written: no machine has a snapshot')
        for machine in machines:
            machine['clock'] = clock.with_chrony(machine['clock'],
                                                 machine.pop('chrony_bound_ns', None), chrony)
        archive.finish(manifest, add_trace(options.trace, manifest, machines, archive))
    except ArchiveError:
        raise
    except BaseException:
        archive.remove()
        raise
    report(output, manifest['machines'], machines)
    return status_of(manifest['machines'])


def add_trace(kind, manifest, machines, archive):
    """Merge the files of all machines to a trace. Return the names of files for the archive."""
    if kind not in TRACES:
        return []
    name, form = TRACES[kind]
    path, merged = archive.spooled(name), []

    def complain(machine, reason):
        warn(f'{machine}: not in {name}: {reason}')
    try:
        merged = form.write(path, machines, lambda machine: archive.spooled(machine['file']),
                            archive.budget, manifest['created_s'], manifest['reason'], complain)
    except (OSError, merge.TraceError) as error:
        warn(f'Cannot write {name}: {getattr(error, "strerror", None) or error}. '
             'The archive has no trace')
    manifest['trace'] = merged
    if merged:
        return [name]
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return []


def report(output, machines, saved):
    worst = max(saved, key=lambda machine: machine['clock']['bound_ns'])
    print(f'{output}: {len(saved)} of {len(machines)} machines, '
          f'{sum(machine["size"] for machine in saved) / 1e6:.3f} MB, clocks within '
          f'{worst["clock"]["bound_ns"] / 1e6:.3f} ms ({worst["machine"]})')


def run(start):
    """Run a coroutine; SIGTERM and SIGHUP end it as SIGINT does."""
    async def main():
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, task.cancel)
        return await start()
    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def find_machines(options):
    """Find the machines.

    Return their names, or None for all peers; the first one, or None; without names, those of -x.
    """
    names, excluded = None, []
    if options.nodes:
        names = nodes.select(options.nodes, options.exclude)
    elif options.exclude:
        excluded = nodes.select(options.exclude)
    peers = getattr(options, 'peers', None)
    if peers and os.path.exists(peers):
        names, first = nodes.choose_peers(nodes.peers_in_file(peers), '', names,
                                         excluded), None
        warn(f'{peers} has {len(names)} peers' + (f': {nodes.fold(names)}' if names else ''))
    elif peers:
        first = nodes.select_one(peers)
    elif names is None:
        raise nodes.NodesError('No machines: use -w, as in -w node[1-40]')
    else:
        first = None
    if getattr(options, 'file', None) and names:
        names = [name for name in names if nodes.host_of(name) not in nodes.own_names()]
    return names, first, excluded


def main():
    options = parser().parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    os.umask(0o077)             # recordings tell what all users did
    sys.stdout.reconfigure(errors='backslashreplace')   # texts of machines may have any character
    try:
        names, first, excluded = find_machines(options)
    except nodes.NodesError as error:
        warn(error)
        return USAGE
    try:
        if options.action == 'snapshot':
            return snapshot(options, names, first, excluded)
        return control(options, names)
    except ArchiveError as error:
        warn(error)
        return FAILED
    except KeyboardInterrupt:
        warn('interrupted: no archive is written')
        return 128 + signal.SIGINT


if __name__ == '__main__':
    sys.exit(main())
