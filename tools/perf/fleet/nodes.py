# SPDX-License-Identifier: GPL-2.0-only
"""Find the machines: ClusterShell's node sets, and the peers of TCP connections."""
import ipaddress
import re
import socket

from . import sandbox

MAX_PEERS = 4096
MAX_NODES = 10000
MAX_ADDRESSES = 1 << 20
MAX_LINE = 1 << 20
RECORDER = re.compile(r'[A-Za-z0-9_][A-Za-z0-9_.:%-]*')
# ssh takes a name that begins with "-" for an option.
NAME = re.compile(r'([A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9_:][A-Za-z0-9_.:%-]*')
RANGES = re.compile(r'\[([^\]]*)\]')
RANGE = re.compile(r'(\d+)-(\d+)(?:/(\d+))?')
# Node sets have no such brackets, and no ranges with a colon.
BRACKETED_ADDRESS = re.compile(r'\[([0-9A-Fa-f.]*:[^\]]*)\](?=[,!&^\s]|$)')


class NodesError(Exception):
    pass


def count_ranges(text):
    """Return how many machines the ranges of a node set have at most, without building the set."""
    total = 0
    for part in re.split(r'[,!&^](?![^\[]*\])', text):
        product = 1
        for ranges in RANGES.findall(part):
            product *= sum((int(last) - int(first)) // (int(step or 1) or 1) + 1
                           for first, last, step in RANGE.findall(ranges)) + ranges.count(',') + 1
        total += product
    return total


def node_set(text):
    try:
        from ClusterShell.NodeSet import NodeSet, NodeSetException
        from ClusterShell.NodeUtils import GroupResolverError, GroupSourceError
    except ImportError:
        raise NodesError('Cannot import ClusterShell: install python3-clustershell') from None
    text = BRACKETED_ADDRESS.sub(r'\1', text)
    if count_ranges(text) > 2 * MAX_NODES:
        raise NodesError(f"Cannot use the node set '{text}': it has more than {MAX_NODES} machines")
    try:
        return NodeSet(text)
    except NodeSetException as error:
        raise NodesError(f"Cannot use the node set '{text}': {error}") from None
    except (GroupResolverError, GroupSourceError) as error:
        raise NodesError(f"Cannot use the node set '{text}': no group source {error}, see "
                         'groups.conf(5)') from None


def select(wanted, excluded=None):
    """Return the names of a node set, in its order."""
    nodes = node_set(wanted)
    if excluded:
        nodes.difference_update(node_set(excluded))
    if len(nodes) > MAX_NODES:
        raise NodesError(
            f"Cannot use the node set '{wanted}': it has more than {MAX_NODES} machines")
    names = list(nodes)
    for name in names:
        if not NAME.fullmatch(name):
            raise NodesError(f"Cannot use '{name}': it is not the name of a machine")
    return names


def select_one(text):
    names = select(text)
    if len(names) != 1:
        raise NodesError(f"Cannot use '{text}': it is not one machine, and no file")
    return names[0]


def fold(names):
    """Return names as a node set, as short as ClusterShell can write it."""
    return str(node_set(','.join(names)))


def own_name():
    return socket.gethostname()


def own_names():
    return {own_name(), own_name().partition('.')[0], socket.getfqdn()}


def host_of(name):
    """Return the name of a machine without a user."""
    return name.rpartition('@')[2]


def addresses_of(name):
    try:
        return {info[4][0].partition('%')[0] for info in socket.getaddrinfo(host_of(name), None)}
    except (OSError, UnicodeError):
        return set()


def parse_address(text):
    """Return an address without port scope and brackets, or None if nobody else has it."""
    try:
        address = ipaddress.ip_address(text.strip('[]').partition('%')[0])
    except ValueError:
        return None
    address = getattr(address, 'ipv4_mapped', None) or address
    if address.is_loopback or address.is_multicast or address.is_unspecified or \
            address.is_link_local:
        return None
    return str(address)


def choose_peers(addresses, first, names=None, excluded=()):
    """Return the machines that have these addresses, without the @first, which has told them.

    Without @names, the addresses themselves are the machines, but for those of machines that are
    @excluded.
    """
    others = addresses_of(first).union(*map(addresses_of, excluded))
    peers = sorted({address for address in map(parse_address, addresses) if address} - others)
    if names is None:
        return peers[:MAX_PEERS]
    return [name for name in names if name != first and addresses_of(name).intersection(peers)]


def peers_in_file(file):
    """Return the addresses of the other ends of TCP connections with events in a perf.data file.

    In the events of sockets, saddr is the end of the machine that recorded them.
    """
    own, others = set(), set()
    with sandbox.perf(file, 'script', '--kallsyms', '/dev/null', '-F', 'trace') as script:
        while line := script.stdout.readline(MAX_LINE):
            text = line.decode(errors='replace')
            own.update(re.findall(r'\bsaddr(?:v6)?=([0-9a-fA-F.:]{1,64})', text))
            others.update(re.findall(r'\bdaddr(?:v6)?=([0-9a-fA-F.:]{1,64})', text))
            if max(len(own), len(others)) > MAX_ADDRESSES:
                raise NodesError(f'Cannot use {file}: it has more than {MAX_ADDRESSES} addresses')
        failure = script.failure()
    if failure:
        raise NodesError(f'Cannot read {file}: {failure}')
    return others - own
