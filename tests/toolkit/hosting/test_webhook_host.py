"""A host over real TLS: responses, start and stop."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading
from typing import Any

import aiohttp
import pytest

from polykind.contract import JsonObject
from polykind.convert import Conversions
from polykind.toolkit.hosting.host_certificates import ManagedCertificates
from polykind.toolkit.hosting.tls_listener import TLSListener
from polykind.toolkit.hosting.webhook_host import Host
from tests.support.waiting import eventually_async
from tests.toolkit.crds import GROUP
from tests.toolkit.hosting.hosts import Clock, calling, crontabs, names, review


async def test_caller_that_trusts_the_bundle_gets_a_response() -> None:
    async with Host([crontabs()]) as host, calling(host) as caller:
        status, response = await caller.convert(review("one", "two"))
        assert (status, names(response)) == (200, ["one", "two"])
        assert host.url == f"https://127.0.0.1:{host.port}/convert"


async def test_caller_without_the_bundle_cannot_connect() -> None:
    async with Host([crontabs()]) as host, Host([crontabs()]) as other:
        async with calling(host, bundle=other.ca_bundle) as caller:
            with pytest.raises(aiohttp.ClientConnectorCertificateError, match="unable to get local issuer certificate"):
                await caller.convert()
        assert host.metrics.reviews == {"converted": 0, "failed": 0, "refused": 0}


async def test_host_can_restart() -> None:
    host = Host([crontabs()])
    for _ in range(3):
        async with host, calling(host) as caller:
            assert (await caller.convert())[0] == 200
            where = ("127.0.0.1", host.port)
        with pytest.raises(ConnectionRefusedError), socket.socket() as probe:
            probe.connect(where)


def test_host_can_restart_in_another_loop() -> None:
    host = Host([crontabs()])

    async def once() -> int:
        async with host, calling(host) as caller:
            return (await caller.convert())[0]

    assert [asyncio.run(once()), asyncio.run(once())] == [200, 200]


async def test_occupied_port_fails_cleanly() -> None:
    async with Host([crontabs()]) as host:
        other = Host([crontabs()], port=host.port)
        with pytest.raises(OSError, match="Address already in use"):
            await other.start()
        with pytest.raises(AssertionError, match="the host is not running"):
            _ = other.port


async def test_health_readiness_and_metrics_pages() -> None:
    async with Host([crontabs()]) as host, calling(host) as caller:
        assert await caller.get("/healthz") == (200, "ok")
        assert await caller.get("/readyz") == (200, "ok")
        await caller.convert(review("one", "two"))
        await caller.convert(review(host="bad"))
        await caller.convert({})
        status, page = await caller.get("/metrics")
    assert status == 200
    for line in (
        'polykind_host_reviews_total{result="converted"} 1.0',
        'polykind_host_reviews_total{result="failed"} 1.0',
        'polykind_host_reviews_total{result="refused"} 1.0',
        "polykind_host_converted_objects_total 2.0",
        "polykind_host_review_seconds_count 3.0",
    ):
        assert line in page.splitlines()


async def test_failed_review_is_returned_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with Host([crontabs()]) as host, calling(host) as caller:
        status, response = await caller.convert(review("one", host="bad"))
    message = "CronTab one cannot be converted from v1 to v2: ValueError: this host is bad"
    assert (status, response["result"]) == (200, {"status": "Failed", "message": message})
    logged = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert logged == [f"webhook host: {message}; requests for this object fail until the converter or object is fixed"]


async def test_large_body_is_rejected() -> None:
    async with Host([crontabs()], most_bytes=1000) as host, calling(host) as caller:
        assert await caller.convert(review(*"x" * 100)) == (413, "a review must not exceed 1000 bytes\n")
        assert (await caller.convert())[0] == 200


class Gate:
    """Return conversions that wait until they are released."""

    def __init__(self) -> None:
        self.entered, self.open = threading.Event(), threading.Event()
        self.conversions = Conversions(f"CronTab.{GROUP}")
        self.conversions.add("v1", "v2", self._wait)

    def _wait(self, obj: JsonObject) -> None:
        self.entered.set()
        assert self.open.wait(20)


async def test_slow_conversion_does_not_block_others() -> None:
    gate = Gate()
    async with Host([gate.conversions]) as host, calling(host) as caller:
        slow = asyncio.ensure_future(caller.convert())
        await asyncio.to_thread(gate.entered.wait, 20)
        assert await caller.get("/healthz") == (200, "ok")
        gate.open.set()
        assert (await slow)[0] == 200


async def test_stop_finishes_requests_in_progress() -> None:
    gate = Gate()
    host = Host([gate.conversions])
    await host.start()
    async with calling(host) as caller:
        slow = asyncio.ensure_future(caller.convert())
        await asyncio.to_thread(gate.entered.wait, 20)
        stopping = asyncio.ensure_future(host.stop())
        await asyncio.sleep(0)
        gate.open.set()
        status, response = await slow
        assert (status, names(response)) == (200, ["one"])
        await stopping


async def test_slow_review_times_out() -> None:
    gate = Gate()
    async with Host([gate.conversions], seconds=0.01) as host, calling(host) as caller:
        assert await caller.convert() == (504, "the conversion took more than 0.01 s\n")
        gate.open.set()
        assert host.metrics.reviews["failed"] == 1


async def test_slow_request_body_times_out() -> None:
    async with Host([crontabs()], seconds=0.01) as host:
        context = ssl.create_default_context(cadata=host.ca_bundle.decode())
        reader, writer = await asyncio.open_connection("127.0.0.1", host.port, ssl=context)
        writer.write(b"POST /convert HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
        writer.close()


async def test_disconnect_during_a_request_is_harmless(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    message = "webhook host: a caller disconnected before its review was complete"
    async with Host([crontabs()]) as host:
        context = ssl.create_default_context(cadata=host.ca_bundle.decode())
        _, writer = await asyncio.open_connection("127.0.0.1", host.port, ssl=context)
        writer.write(b"POST /convert HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        await writer.drain()
        writer.close()
        await eventually_async(lambda: message in caplog.messages)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_sys_exit_does_not_end_the_host() -> None:
    def leave(obj: JsonObject, to: str) -> JsonObject:
        raise SystemExit(3)

    async with Host([leave]) as host, calling(host) as caller:
        _, response = await caller.convert()
        message = f"CronTab one cannot be converted from {GROUP}/v1 to {GROUP}/v2: it called sys.exit"
        assert response["result"] == {"status": "Failed", "message": message}
        assert await caller.get("/healthz") == (200, "ok")


async def test_expired_certificate_is_not_ready() -> None:
    clock = Clock()
    async with Host([crontabs()], clock=clock) as host, calling(host) as caller:
        assert await caller.get("/readyz") == (200, "ok")
        clock.turn(days=91)
        end = host.certificates.expires
        assert await caller.get("/readyz") == (503, f"the certificate expired on {end:%Y-%m-%d}")


async def test_tcp_probe_is_harmless(caplog: pytest.LogCaptureFixture) -> None:
    async with Host([crontabs()]) as host, calling(host) as caller:
        reader, writer = await asyncio.open_connection("127.0.0.1", host.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await reader.read() == b""
        writer.close()
        assert (await caller.convert())[0] == 200
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_number_of_connections_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polykind.toolkit.hosting.tls_listener.MAX_CONNECTIONS", 1)
    async with Host([crontabs()]) as host:
        context = ssl.create_default_context(cadata=host.ca_bundle.decode())
        _, first = await asyncio.open_connection("127.0.0.1", host.port, ssl=context)
        with pytest.raises((ConnectionError, ssl.SSLError)):
            await asyncio.open_connection("127.0.0.1", host.port, ssl=context)
        first.close()


async def test_serving_certificate_is_renewed_while_running() -> None:
    clock = Clock()
    clock.turn(days=-70)
    host = Host([crontabs()], certificates=ManagedCertificates(["127.0.0.1"], clock=clock))
    async with host, calling(host) as caller:
        before = host.certificates.expires
        clock.turn(days=70)
        await host.refresh()
        assert (host.certificates.expires - before).days == 70
        assert (await caller.convert())[0] == 200


async def test_failed_renewal_is_logged_and_old_certificate_served(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken:
        async def update(self, change: Any) -> None:
            if host_runs:
                raise OSError("the disk is full")
            change({})

    host_runs = False
    certificates = ManagedCertificates(["127.0.0.1"], store=Broken(), clock=Clock())
    async with Host([crontabs()], certificates=certificates) as host, calling(host) as caller:
        host_runs = True
        await host.refresh()
        end = host.certificates.expires
        message = f"webhook host: cannot renew certificates: the disk is full; the current ones expire on {end}"
        assert [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR] == [message]
        assert (await caller.convert())[0] == 200


async def test_conversion_of_a_crd() -> None:
    async with Host([crontabs()]) as host:
        assert host.conversion["strategy"] == "Webhook"
        webhook = host.conversion["webhook"]
        assert webhook["conversionReviewVersions"] == ["v1"]
        assert webhook["clientConfig"]["url"] == host.url


@pytest.mark.parametrize(("address", "url"), [("0.0.0.0", "https://127.0.0.1:"), ("::1", "https://[::1]:")])
async def test_urls_of_listen_addresses(address: str, url: str) -> None:
    async with Host([crontabs()], address=address) as host, calling(host) as caller:
        assert host.url.startswith(url)
        assert (await caller.convert())[0] == 200


async def test_accept_error_is_retried(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("polykind.toolkit.hosting.tls_listener._ACCEPT_RETRY_SECONDS", 0.0)

    class Full:
        """A socket whose first accept fails because of too many open files."""

        def __init__(self, real: socket.socket) -> None:
            self._real, self._full = real, True

        def accept(self) -> Any:
            if self._full:
                self._full = False
                raise OSError(24, "Too many open files")
            return self._real.accept()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

    async with Host([crontabs()]) as host, calling(host) as caller:
        listening = host._listener
        assert isinstance(listening, TLSListener)
        assert listening._socket is not None
        monkeypatch.setattr(listening, "_socket", Full(listening._socket))
        assert (await caller.convert())[0] == 200
    assert "raise ulimit -n" in caplog.text
