# SPDX-License-Identifier: GPL-2.0-only
"""Read a trace of Perfetto with Google's protobuf.

need_perfetto_reader (perfetto.sh) compiles the schema.
"""
import sys
import zlib

import perfetto_pb2


def read_packets(path):
    """Return all packets. Exit with an error if the trace has what the schema lacks."""
    with open(path, 'rb') as file:
        data = file.read()
    data = b''.join(zlib.decompress(packet.compressed) if packet.HasField('compressed') else
                    perfetto_pb2.Trace(packet=[packet]).SerializeToString()
                    for packet in perfetto_pb2.Trace.FromString(data).packet)
    trace, again = (perfetto_pb2.Trace.FromString(data) for _ in range(2))
    again.DiscardUnknownFields()
    if again.ByteSize() != trace.ByteSize():
        sys.exit('# ERROR: fields that the schema lacks')
    return trace.packet
