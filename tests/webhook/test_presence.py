"""The evidence that a webhook was replaced."""

from __future__ import annotations

import asyncio
import ssl
from typing import cast

import pytest

from polykind.webhook.presence import WebhookPresence


class FakeTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.closing = False

    def is_closing(self) -> bool:
        return self.closing


class FakeTLS:
    def __init__(self, certificate: bytes) -> None:
        self.certificate = certificate

    def getpeercert(self, _: bool) -> bytes:
        return self.certificate


def tls(certificate: bytes = b"one") -> ssl.SSLObject:
    return cast(ssl.SSLObject, FakeTLS(certificate))


@pytest.fixture
def presence() -> WebhookPresence:
    known = WebhookPresence()
    known.answered(FakeTransport(), "10.0.0.1", tls())
    return known


def test_first_connection_is_no_replacement(presence: WebhookPresence) -> None:
    assert (presence.replacements, presence.connected) == (0, True)


def test_further_connection_to_the_same_address_is_no_replacement(presence: WebhookPresence) -> None:
    presence.answered(FakeTransport(), "10.0.0.1", tls())
    assert presence.replacements == 0


def test_connection_after_a_refused_one_is_a_replacement(presence: WebhookPresence) -> None:
    presence.refused()
    assert presence.replacements == 0
    presence.answered(FakeTransport(), "10.0.0.1", tls())
    presence.answered(FakeTransport(), "10.0.0.1", tls())
    assert presence.replacements == 1


def test_addresses_and_certificates_count_when_they_are_new(presence: WebhookPresence) -> None:
    presence.answered(FakeTransport(), "10.0.0.2", tls())
    assert presence.replacements == 1
    presence.answered(FakeTransport(), "10.0.0.2", tls(b"two"))
    assert presence.replacements == 2
    presence.answered(FakeTransport(), "10.0.0.1", tls())
    assert presence.replacements == 2


def test_it_is_connected_while_a_connection_is_open() -> None:
    presence, transports = WebhookPresence(), [FakeTransport(), FakeTransport()]
    for transport in transports:
        presence.answered(transport, "10.0.0.1", tls())
    transports[0].closing = True
    assert presence.connected


def test_it_is_not_connected_when_all_connections_are_closed() -> None:
    presence, transport = WebhookPresence(), FakeTransport()
    presence.answered(transport, "10.0.0.1", tls())
    transport.closing = True
    assert not presence.connected


def test_moved_webhook_is_a_replacement(presence: WebhookPresence) -> None:
    presence.moved()
    assert (presence.replacements, presence.connected) == (1, False)
