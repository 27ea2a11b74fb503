# SPDX-License-Identifier: GPL-2.0-only
"""Talk to one machine: an ssh connection that runs remote.sh, see there for the protocol.

The machine is not trusted. Lines have a limited length, numbers are checked, and a file is read up
to the size that was announced, if the budget allows that.
"""
import asyncio
import contextlib
import os
import re
import shlex
import signal
import time

from . import clock

CLOCK_ROUNDS = 8
MAX_NOISE = 1000                # lines that a login shell may print before ours
MAX_FACTS = 10000               # most of them peers
MAX_LINE = 8192
CHUNK = 1 << 18
FOLDER = os.path.dirname(os.path.realpath(__file__))
SCRIPTS = ('control.sh', 'remote.sh')
# ssh must never ask, and an untrusted machine gets no access to this one.
SSH_OPTIONS = ('-T', '-o', 'BatchMode=yes', '-o', 'ForwardAgent=no', '-o', 'ForwardX11=no',
               '-o', 'ClearAllForwardings=yes', '-o', 'ControlMaster=no')


class Failed(Exception):
    """The machine did not do what it was asked for; the text is the reason."""


def printable(text, limit=200):
    """Replace all that a terminal would act on."""
    return ''.join(char if char.isprintable() else '?' for char in text[:limit])


class Machine:
    """
    name        as given by the user, or an address
    settings    options of the user: ssh timeout sudo instance record
    step        what is being waited for
    result      what is known of the machine, for the manifest
    """

    def __init__(self, name, settings):
        self.name, self.settings = name, settings
        self.step = 'answer to ssh'
        self.result = {'machine': name}

    @contextlib.asynccontextmanager
    async def session(self, action, list_peers=False):
        """Run remote.sh for @action. Kill ssh, and what it has started, at the end."""
        parameters = {'action': action, 'instance': self.settings.instance,
                      'seconds': int(self.settings.timeout), 'record': self.settings.record or '',
                      'list_peers': '1' if list_peers else ''}
        text = ''.join(f'{key}={shlex.quote(str(value))}\n' for key, value in parameters.items())
        for name in SCRIPTS:
            with open(os.path.join(FOLDER, name), encoding='utf-8') as file:
                text += file.read()
        data = text.encode()
        sudo = 'sudo -n ' if self.settings.sudo else ''
        command = f"exec {sudo}bash -c 'in_state=; text=$(head -c {len(data)}); eval \"$text\"'"
        self.ssh = await asyncio.create_subprocess_exec(
            *shlex.split(self.settings.ssh), *SSH_OPTIONS, '--', self.name, command,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, limit=CHUNK, start_new_session=True)
        complaints = asyncio.create_task(self.read_complaints())
        try:
            try:
                # A machine that has ended may have said why.
                with contextlib.suppress(EOFError):
                    await self.send(data)
                for _ in range(MAX_NOISE):
                    if await self.line() == 'perf-fleet':
                        break
                else:
                    raise Failed('the login shell prints too much')
                yield self
            except EOFError:
                await asyncio.wait([complaints], timeout=1)
                raise Failed(self.explain_end()) from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.ssh.pid, signal.SIGKILL)
            complaints.cancel()
            await self.ssh.wait()
            self.ssh.stdin.close()
            with contextlib.suppress(ConnectionError):
                await self.ssh.stdin.wait_closed()

    async def read_complaints(self):
        self.complaints = b''
        while data := await self.ssh.stderr.read(MAX_LINE):
            self.complaints = (self.complaints + data)[-MAX_LINE:]

    def explain_end(self):
        lines = self.complaints.decode(errors='replace').split('\n')
        lines = [printable(line.strip()) for line in lines if line.strip()]
        return lines[-1] if lines else f'the connection ended, waiting for: {self.step}'

    async def send(self, data):
        try:
            self.ssh.stdin.write(data)
            await self.ssh.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise EOFError from None

    async def line(self):
        try:
            line = await self.ssh.stdout.readuntil(b'\n')
        except asyncio.IncompleteReadError:
            raise EOFError from None
        except asyncio.LimitOverrunError:
            line = b''
        if not line or len(line) > MAX_LINE:
            raise Failed('the machine sends a line that is too long')
        return line.decode(errors='replace').rstrip('\n')

    async def reply(self, *keywords):
        """Return the next line as keyword and value."""
        keyword, _, value = (await self.line()).partition(' ')
        if keyword == 'error':
            raise Failed(printable(value))
        if keyword not in keywords:
            raise Failed(f'the machine sends "{printable(keyword, 40)}", waiting for: {self.step}')
        return keyword, value

    async def control(self, action):
        """Start, stop or look at the recorder. Return its state."""
        async with self.limit(), self.session(action):
            self.step = 'end of ' + action
            return printable((await self.reply('state'))[1], 40)

    @contextlib.asynccontextmanager
    async def limit(self, deadline=None):
        """Wait until @deadline, by default for the timeout from now on."""
        try:
            async with asyncio.timeout_at(deadline or self.end_of_timeout()):
                yield
        except TimeoutError:
            raise Failed(f'no {self.step} within {self.settings.timeout:g} s') from None

    def end_of_timeout(self):
        return asyncio.get_running_loop().time() + self.settings.timeout

    async def snapshot(self, gates, archive, on_peers=None):
        """Take a snapshot, measure the clock meanwhile, and copy the file to the archive."""
        async with contextlib.AsyncExitStack() as stack:
            async with gates.starting:
                deadline = self.end_of_timeout()
                async with self.limit(deadline):
                    await stack.enter_async_context(self.session('snapshot', on_peers is not None))
                    await self.read_facts(on_peers)
            async with self.limit(deadline):
                self.step = 'time of day'
                await self.measure_clock()
                self.step = 'answer of the recorder'
                await self.send(b'answer\n')
                keyword, value = await self.reply('cause', 'size')
                if keyword == 'cause':
                    self.result['cause'] = printable(value, 1024)
                    value = (await self.reply('size'))[1]
                size, span, limit, name = self.check_file(value)
                self.result.update(remote_file=name, size=size, limit=limit,
                                   complete_s=span and float(span))
            async with gates.copying:
                await self.copy(size, archive)

    async def read_facts(self, on_peers):
        self.step = 'snapshot request'
        peers = []
        for _ in range(MAX_FACTS):
            keyword, value = await self.reply('kernel', 'perf', 'chrony', 'peer', 'ready')
            if keyword == 'ready':
                if on_peers:
                    on_peers(peers)
                return
            if keyword == 'peer':
                peers.append(value)
            elif keyword == 'chrony':
                self.result['chrony_bound_ns'] = clock.chrony_bound(value)
            else:
                self.result[keyword] = printable(value)
        raise Failed('the machine sends too many facts')

    async def measure_clock(self):
        """Ask for the time of day. The machine has read its clock between request and reply."""
        best = None
        for _ in range(CLOCK_ROUNDS):
            before = time.time_ns()
            await self.send(b'clock\n')
            value = (await self.reply('time'))[1]
            after = time.time_ns()
            try:
                best = clock.better(best, clock.round_trip(before, clock.parse_time(value), after))
            except ValueError as error:
                raise Failed(str(error)) from None
        self.result['clock'] = best

    @staticmethod
    def check_file(value):
        fields = value.split(' ', 3)
        if len(fields) != 4 or not re.fullmatch('[0-9]{1,15}', fields[0]) or \
                not re.fullmatch(r'-|[0-9]{1,12}\.[0-9]{1,9}', fields[1]) or \
                not re.fullmatch('-|[a-z]{1,20}', fields[2]):
            raise Failed('the machine describes its file in a wrong way')
        span, limit = (None if field == '-' else field for field in fields[1:3])
        return int(fields[0]), span, limit, printable(fields[3])

    async def copy(self, size, archive):
        """Copy the file. Each chunk must arrive within the timeout."""
        with archive.new_file(self.name, size) as file:
            await self.send(b'send\n')
            left = size
            while left:
                self.step = f'more than {size - left} of {size} bytes'
                async with self.limit():
                    data = await self.ssh.stdout.readexactly(min(left, CHUNK))
                file.write(data)
                left -= len(data)
        self.result['file'] = archive.member(self.name)


