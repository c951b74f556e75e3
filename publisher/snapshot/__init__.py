"""Watch lines and list pages as typed snapshots.

Fast when they have the shape that Kamaji gives them, tolerant when they have not.
"""

from publisher.snapshot.datastore import DataStoreSnapshot
from publisher.snapshot.decode import DATASTORE_DECODER, TCP_DECODER, UnreadableObjectError
from publisher.snapshot.tcp import TcpSnapshot

__all__ = ["DATASTORE_DECODER", "TCP_DECODER", "DataStoreSnapshot", "TcpSnapshot", "UnreadableObjectError"]
