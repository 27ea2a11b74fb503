# SPDX-License-Identifier: GPL-2.0-only
"""Collect the files of all machines in a directory, and make one archive of them.

The archive is written when all machines are done, under another name, and renamed when complete.
No name in the archive comes from a machine: MACHINE.data has the name that the user gave.
"""
import contextlib
import io
import json
import os
import re
import shutil
import tarfile
import tempfile
import time

from . import sandbox
from .machine import Failed

MANIFEST = 'manifest.json'


class ArchiveError(Exception):
    pass


class Archive:
    """
    path        of the archive
    folder      in it
    spool       directory beside the archive, removed at the end
    budget      bytes that may still be stored
    """

    def __init__(self, path, max_size=None):
        self.path = os.path.abspath(path)
        if os.path.lexists(self.path):
            raise ArchiveError(f'Cannot write {path}: it exists already')
        self.folder = re.sub(r'\.tar$', '', os.path.basename(path))
        try:
            self.spool = tempfile.mkdtemp(prefix=f'.{self.folder}.', dir=os.path.dirname(self.path))
            # While the archive is made, its largest file is on the disk twice.
            disk = os.statvfs(self.spool)
            self.budget = disk.f_bavail * disk.f_frsize // 2
        except OSError as error:
            raise ArchiveError(f'Cannot write {path}: {error.strerror}') from None
        if max_size is not None:
            self.budget = min(self.budget, max_size)

    @staticmethod
    def member(machine):
        return re.sub('[^A-Za-z0-9_.-]', '_', machine) + '.data'

    def spooled(self, member):
        return os.path.join(self.spool, member)

    @contextlib.contextmanager
    def new_file(self, machine, size):
        """Store a file of a machine. The caller must write @size bytes."""
        path = self.spooled(self.member(machine))
        if size > self.budget:
            raise Failed(f'the file has {size} bytes, {self.budget} are left, see --max-size')
        if os.path.lexists(path):
            raise Failed(f'another machine has the file {os.path.basename(path)}')
        self.budget -= size
        try:
            with open(path, 'xb') as file:
                yield file
        except OSError as error:
            self.drop(path, size)
            if isinstance(error, (ConnectionError, TimeoutError)):
                raise
            raise Failed(f'cannot write {path}: {error.strerror}') from None
        except BaseException:
            self.drop(path, size)
            raise

    def drop(self, path, size):
        self.budget += size
        with contextlib.suppress(OSError):
            os.unlink(path)

    def copy_local(self, machine, path):
        """Store a file of this machine."""
        try:
            size = os.path.getsize(path)
            with open(path, 'rb') as source, self.new_file(machine, size) as file:
                shutil.copyfileobj(source, file)
        except OSError as error:
            raise Failed(f'cannot read {path}: {error.strerror}') from None
        return {'file': self.member(machine), 'size': size}

    def finish(self, manifest, others=()):
        """Write the archive: manifest first, so that it is found quickly."""
        part = self.path + '.part'
        try:
            with tarfile.open(part, 'x:') as tar:
                data = (json.dumps(manifest, indent=1) + '\n').encode()
                info = tarfile.TarInfo(f'{self.folder}/{MANIFEST}')
                info.size, info.mtime = len(data), int(time.time())
                tar.addfile(info, io.BytesIO(data))
                for member in [machine['file'] for machine in manifest['machines']
                               if 'file' in machine] + list(others):
                    tar.add(self.spooled(member), f'{self.folder}/{member}', filter=anonymous)
                    os.unlink(self.spooled(member))
            os.rename(part, self.path)
        except OSError as error:
            raise ArchiveError(f'Cannot write {part}: {error.strerror or error}. '
                               f'The files are in {self.spool}') from None
        os.rmdir(self.spool)

    def remove(self):
        shutil.rmtree(self.spool, ignore_errors=True)


def anonymous(info):
    info.uid = info.gid = 0
    info.uname = info.gname = ''
    info.mode = 0o600
    return info


def to_ns(text):
    """Return seconds with a fraction in ns."""
    seconds, _, fraction = text.partition('.')
    return int(seconds) * 10**9 + int(fraction.ljust(9, '0')[:9])


def describe_file(path):
    """Return what perf tells of a file: losses, clock pair, times of the first and last sample."""
    found = {}
    text = sandbox.text(path, 'script', '--header-only')
    # Texts of the machine, which the header has, may repeat such a line with other numbers.
    for key, pattern in (('first_s', r'^# time of first sample : ([0-9]{1,12}\.[0-9]{1,9})$'),
                         ('last_s', r'^# time of last sample : ([0-9]{1,12}\.[0-9]{1,9})$')):
        match = re.search(pattern, text, re.M)
        found[key] = float(match[1]) if match else None
    match = re.search(r'^# reference time: .* = ([0-9]{1,12}\.[0-9]{1,9}) \(TOD\) = '
                      r'([0-9]{1,12}\.[0-9]{1,9}) \(', text, re.M)
    if match:
        found['clock_pair'] = {'time_of_day_ns': to_ns(match[1]), 'clock_ns': to_ns(match[2])}
    match = re.search(r'^Events lost +([0-9]{1,20}) ', sandbox.text(path, 'loss'), re.M)
    found['lost_events'] = int(match[1]) if match else None
    return found
