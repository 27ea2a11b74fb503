#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""List the BPF objects that a process holds, or those of a list that exist.

usage: bpf_objects.py held PID		print KIND:ID of each program, map and link
       bpf_objects.py existing KIND:ID...	print those that the kernel still has; as root
"""
import ctypes
import os
import re
import struct
import sys

SYS_BPF = 321
GET_FD_BY_ID = {'prog': 13, 'map': 14, 'link': 30}
libc = ctypes.CDLL(None, use_errno=True)


def held(pid):
    objects = set()
    folder = f'/proc/{pid}/fdinfo'
    for name in os.listdir(folder):
        try:
            with open(f'{folder}/{name}', encoding='ascii') as file:
                objects.update(re.findall(r'^(prog|map|link)_id:\t(\d+)$', file.read(),
                                          re.MULTILINE))
        except FileNotFoundError:
            pass
    return sorted(f'{kind}:{number}' for kind, number in objects)


def exists(item):
    kind, number = item.split(':')
    attributes = ctypes.create_string_buffer(struct.pack('<I', int(number)), 128)
    descriptor = libc.syscall(SYS_BPF, GET_FD_BY_ID[kind], attributes, 128)
    if descriptor >= 0:
        os.close(descriptor)
    return descriptor >= 0


print(*(held(sys.argv[2]) if sys.argv[1] == 'held' else filter(exists, sys.argv[2:])))
