# SPDX-License-Identifier: GPL-2.0-only
"""Run perf on the file of another machine, without the rights of the caller.

bubblewrap shows perf its own program, libraries and the file, read-only, and neither the network
nor other processes. Without bubblewrap, perf of root becomes the user nobody, and reads a copy that
belongs to nobody; perf of others keeps its user. Memory, CPU time and files are limited anyway.
What perf prints is read up to a limit that the caller sets.
"""
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

TIMEOUT_S = 600
MAX_TEXT = 1 << 24              # of what is not converted [bytes]
LIMITS = ('prlimit', f'--as={4 << 30}', f'--cpu={TIMEOUT_S}', f'--fsize={1 << 24}',
          '--core=0', '--')
VISIBLE = ('/usr', '/bin', '/lib', '/lib32', '/lib64', '/opt', '/etc/ld.so.cache')
NOBODY = 65534
PROBE = threading.Lock()
AS_NOBODY = ('unshare', '--net', '--ipc', '--pid', '--fork', '--kill-child', '--', 'setpriv',
             f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups', '--inh-caps=-all',
             '--bounding-set=-all', '--no-new-privs', '--')
UNPRIVILEGED = ('unshare', '--user', '--net', '--ipc', '--pid', '--fork', '--kill-child', '--')


def bubblewrap(file):
    command = ['bwrap', '--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL',
               '--clearenv', '--proc', '/proc', '--dev', '/dev']
    for path in VISIBLE:
        command += ['--ro-bind-try', path, path]
    command += ['--ro-bind', os.path.realpath(shutil.which('perf') or 'perf'), '/perf',
                '--ro-bind', file, '/recording', '--chdir', '/', '--', '/perf']
    return command


def works(command):
    try:
        return subprocess.run([*command, '--version'], stdin=subprocess.DEVNULL, timeout=60,
                              capture_output=True, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@functools.cache
def kind():
    """Return how perf can be confined here: 'bubblewrap', 'nobody', 'namespaces' or None."""
    if works(LIMITS + tuple(bubblewrap('/dev/null'))):
        return 'bubblewrap'
    if os.geteuid() == 0 and works(LIMITS + AS_NOBODY + ('perf',)):
        return 'nobody'
    how = 'namespaces' if works(LIMITS + UNPRIVILEGED + ('perf',)) else None
    rights = 'files of other machines are parsed with your rights'
    if shutil.which('bwrap'):
        failed = 'run bubblewrap' if how else 'run bubblewrap or create namespaces'
        print(f'perf fleet: cannot {failed}: {rights}', file=sys.stderr)
    else:
        print(f'perf fleet: {rights}: install bubblewrap', file=sys.stderr)
    return how


def confine(path, stack):
    """Return a command that runs perf, how that names the file, and files that it inherits."""
    with PROBE:                 # threads call this
        how = kind()
    if how == 'bubblewrap':
        return bubblewrap(path), '/recording', ()
    if how == 'nobody':
        copy = stack.enter_context(tempfile.TemporaryFile(dir=os.path.dirname(path) or '.'))
        with open(path, 'rb') as source:
            shutil.copyfileobj(source, copy)
        copy.flush()
        os.fchown(copy.fileno(), NOBODY, NOBODY)
        return [*AS_NOBODY, 'perf'], f'/proc/self/fd/{copy.fileno()}', (copy.fileno(),)
    return [*(UNPRIVILEGED if how else ()), 'perf'], path, ()


def kill(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


class Run:
    """
    A perf command that runs.

    stdout      what it prints, to be read up to the end unless it is given up
    """

    def __init__(self, process, errors, name):
        self.process, self.errors, self.name = process, errors, name
        self.stdout = process.stdout

    def failure(self):
        """Wait for the end after all was read. Return the reason if it has failed, or None."""
        if self.process.wait() == 0:
            return None
        self.errors.seek(max(0, self.errors.seek(0, os.SEEK_END) - 4096))
        lines = self.errors.read().decode(errors='replace').strip().split('\n')
        if lines[-1]:
            return ''.join(char if char.isprintable() else '?' for char in lines[-1][:200])
        return f'perf has ended with status {self.process.returncode}'


@contextlib.contextmanager
def perf(path, *args):
    """Run a perf command on a file: '-i FILE' is added. At the end it is killed."""
    with contextlib.ExitStack() as stack:
        command, name, files = confine(os.path.abspath(path), stack)
        errors = stack.enter_context(tempfile.TemporaryFile())
        process = subprocess.Popen([*LIMITS, *command, *args, '-f', '-i', name], pass_fds=files,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=errors, start_new_session=True)
        timer = threading.Timer(TIMEOUT_S, kill, (process,))
        timer.start()
        try:
            yield Run(process, errors, name)
        finally:
            timer.cancel()
            if process.returncode is None:
                kill(process)
            process.stdout.close()
            process.wait()


def text(path, *args):
    """Return the output of a perf command, or nothing if it fails or prints too much."""
    try:
        with perf(path, *args) as run:
            output = run.stdout.read(MAX_TEXT)
            if len(output) == MAX_TEXT or run.failure():
                return ''
            return output.decode(errors='replace')
    except OSError:
        return ''
