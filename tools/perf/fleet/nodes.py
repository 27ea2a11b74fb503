# SPDX-License-Identifier: GPL-2.0-only
"""Find the machines: ClusterShell's node sets, and the peers of TCP connections."""
import ipaddress
import re
import socket
import subprocess

MAX_PEERS = 4096
# ssh takes a name that begins with "-" for an option.
NAME = re.compile(r'[A-Za-z0-9_][A-Za-z0-9_.:%-]*')


class NodesError(Exception):
    pass


def node_set(text):
    try:
        from ClusterShell.NodeSet import NodeSet, NodeSetException
    except ImportError:
        raise NodesError('Cannot import ClusterShell: install python3-clustershell') from None
    try:
        return NodeSet(text)
    except NodeSetException as error:
        raise NodesError(f"Cannot use the node set '{text}': {error}") from None


def select(wanted, excluded=None):
    """Return the names of a node set, in its order."""
    nodes = node_set(wanted)
    if excluded:
        nodes.difference_update(node_set(excluded))
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


def addresses_of(name):
    try:
        return {info[4][0].partition('%')[0] for info in socket.getaddrinfo(name, None)}
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


def choose_peers(addresses, first, names=None):
    """Return the machines that have these addresses, without the @first, which has told them.

    Without @names, the addresses themselves are the machines.
    """
    own = addresses_of(first)
    peers = sorted({address for address in map(parse_address, addresses) if address} - own)
    if names is None:
        return peers[:MAX_PEERS]
    return [name for name in names if name != first and addresses_of(name).intersection(peers)]


def peers_in_file(file):
    """Return the addresses of the other ends of TCP connections with events in a perf.data file.

    In the events of sockets, saddr is the end of the machine that recorded them.
    """
    command = ['perf', 'script', '-i', file, '--kallsyms', '/dev/null', '-F', 'trace']
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, errors='replace') as script:
        own, others = set(), set()
        for line in script.stdout:
            own.update(re.findall(r'\bsaddr(?:v6)?=([0-9a-fA-F.:]+)', line))
            others.update(re.findall(r'\bdaddr(?:v6)?=([0-9a-fA-F.:]+)', line))
    if script.returncode:
        raise NodesError(f'Cannot read {file}: run perf script -i {file}')
    return others - own
