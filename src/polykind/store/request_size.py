"""The maximum size of a write: the limits of etcd, which apply to all stores."""

from __future__ import annotations

from typing import Final

from polykind.contract import RequestSizeError

MAX_REQUEST_BYTES: Final = 1536 * 1024
"""etcd's default limit for the size of a request (--max-request-bytes)."""
MAX_MESSAGE_BYTES: Final = 2 * 1024 * 1024
"""The limit for the size of a gRPC message from kube-apiserver to etcd."""
ALWAYS_ACCEPTED_BYTES: Final = 1024 * 1024
"""Values up to this size are below all limits, whatever the length of the key."""
_PUT_OVERHEAD: Final = 26
"""The bytes of a write transaction in addition to the value and the keys, including the newline after the value."""
_REVISION_OVERHEAD: Final = 7
_RAFT_OVERHEAD: Final = 15


TOO_LARGE: Final = "etcdserver: request is too large"


def check_request_size(key: str, value: bytes, expect: int | None, *, message_only: bool = False) -> None:
    """Raise RequestSizeError if kube-apiserver on etcd would refuse to write the value.

    The transaction contains the key twice for a create, and three times for an update. If `message_only` is true, check
    only the limit of a gRPC message: etcd itself checks --max-request-bytes, which users of etcd can raise.
    """
    keys = len(key.encode()) * (3 if expect else 2)
    size = len(value) + keys + _PUT_OVERHEAD + (_REVISION_OVERHEAD if expect else 0)
    if size > MAX_MESSAGE_BYTES:
        raise RequestSizeError(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max "
            f"({size} vs. {MAX_MESSAGE_BYTES})"
        )
    if size + _RAFT_OVERHEAD > MAX_REQUEST_BYTES and not message_only:
        raise RequestSizeError(TOO_LARGE)
