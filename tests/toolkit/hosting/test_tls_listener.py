from __future__ import annotations

import gc
import socket
import warnings
from collections.abc import Callable
from typing import Any, cast

import pytest

from polykind.toolkit.hosting.host_certificates import ManagedCertificates
from polykind.toolkit.hosting.tls_listener import TLSListener


class Nobody:
    """An HTTP server that has no connections."""

    connections: tuple[Any, ...] = ()


@pytest.mark.parametrize("leave", [TLSListener.close, TLSListener.abort])
async def test_accepted_connection_is_closed_before_its_handshake(leave: Callable[[TLSListener], None]) -> None:
    certificates = ManagedCertificates(["127.0.0.1"])
    await certificates.refresh()
    listening = TLSListener(cast(Any, Nobody()), lambda: certificates.context)
    await listening.open("127.0.0.1", 0)
    with socket.create_connection(("127.0.0.1", listening.port)) as client, warnings.catch_warnings():
        warnings.simplefilter("error")
        listening._accept()
        leave(listening)
        gc.collect()
        client.settimeout(10)
        assert client.recv(1) == b""
    listening.close()
