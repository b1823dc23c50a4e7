"""Registration of a host in CRDs, with a real server over real TLS."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from polykind.clock import SystemClock
from polykind.cluster.cluster_access import ClusterAccess, read_kubeconfigs
from polykind.cluster.cluster_client import ClusterClient, UnreachableError
from polykind.contract import JsonObject
from polykind.convert import Conversions
from polykind.declare.library import Library
from polykind.pki.authority import make_authority
from polykind.server.server import Server
from polykind.server.settings import Settings
from polykind.toolkit.hosting import trust_bundle
from polykind.toolkit.hosting.host_certificates import Certificates, ManagedCertificates
from polykind.toolkit.hosting.webhook_endpoint import WebhookEndpoint
from polykind.toolkit.hosting.webhook_host import Host
from polykind.toolkit.hosting.webhook_registration import WebhookRegistration, check_complete
from tests.support.client import Client
from tests.support.kubectl import Kubectl
from tests.support.live import DEFINITIONS, Live, live
from tests.support.server import free_port
from tests.toolkit.crds import GROUP, HOST, HOSTS, crd_manifest
from tests.toolkit.hosting.hosts import Clock, calling, crontabs

NAME = f"crontabs.{GROUP}"
KIND = f"CronTab.{GROUP}"
PATH = f"{DEFINITIONS}/{NAME}"
MERGE = "application/merge-patch+json"
BACKOFF = (0.02, 0.05)
OBJECTS = "/apis/stable.example.com/v{}/namespaces/default/crontabs"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path, conversion_cache=False) as running:
        yield running


def cluster(server: Live) -> ClusterClient:
    return ClusterClient(read_kubeconfigs([server.server.kubeconfig]))


def registration(server: Live, endpoint: WebhookEndpoint | None = None, **options: Any) -> WebhookRegistration:
    return WebhookRegistration(cluster(server), endpoint, **{"backoff": BACKOFF, "propagation_seconds": 0.2, **options})


async def define(server: Live, *, objects: int = 1, **spec: Any) -> None:
    """Create the CRD and objects that are stored at v2."""
    await server.define(crd_manifest(HOST, HOSTS, **spec))
    for number in range(objects):
        obj = {"apiVersion": f"{GROUP}/v2", "kind": "CronTab", "metadata": {"name": f"c{number}"}}
        await server.ask("POST", OBJECTS.format(2), {**obj, "spec": {"hosts": [f"{number}.example"]}})


async def conversion(server: Live) -> JsonObject:
    found: JsonObject = (await server.ask("GET", PATH))["spec"]["conversion"]
    return found


async def authorities(server: Live) -> list[x509.Certificate]:
    config = (await conversion(server))["webhook"]["clientConfig"]
    return trust_bundle.parse_certificates(base64.b64decode(config.get("caBundle", "")))


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while not await true():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def hosted(wired: WebhookRegistration, *converters: Any, **options: Any) -> AsyncIterator[Host]:
    async with Host(converters or [crontabs()], registration=wired, **options) as host:
        yield host


async def ready(host: Host) -> None:
    async with asyncio.timeout(20):
        await host.ready()


async def test_crd_is_patched_and_both_versions_are_readable(server: Live, tmp_path: Path) -> None:
    await define(server)
    async with hosted(registration(server)) as host:
        await ready(host)
        assert await conversion(server) == host.conversion
        read_back = await server.ask("GET", f"{OBJECTS.format(1)}/c0")
        assert read_back["spec"] == {"host": "0.example", "port": 80}
        kubectl = Kubectl(server.server.kubeconfig, tmp_path)
        got = await asyncio.to_thread(kubectl.json, "get", "crontabs.v1.stable.example.com", "c0")
        assert got["spec"]["host"] == "0.example"
        manifest = {"apiVersion": f"{GROUP}/v1", "kind": "CronTab", "metadata": {"name": "c1"}, "spec": {"host": "x"}}
        await asyncio.to_thread(kubectl, "apply", "-f", "-", stdin=json.dumps(manifest))
        assert (await server.ask("GET", f"{OBJECTS.format(2)}/c1"))["spec"]["hosts"] == ["x"]


async def test_readyz_reports_registration(server: Live) -> None:
    await define(server)
    async with hosted(registration(server)) as host, calling(host) as caller:
        status, text = await caller.get("/readyz")
        assert (status, text) in [
            (503, "the host is not registered in its CRDs yet"),
            (200, f"ok\n{NAME}: registered; the API server converts to v1\n"),
        ]
        await ready(host)
        assert await caller.get("/readyz") == (200, f"ok\n{NAME}: registered; the API server converts to v1\n")
        assert await caller.get("/healthz") == (200, "ok")


async def test_self_test_without_objects_succeeds(server: Live) -> None:
    await define(server, objects=0)
    async with hosted(registration(server)) as host:
        await ready(host)
        assert host.readiness().text == f"ok\n{NAME}: registered; there is no object to test with yet\n"


async def test_service_is_written_to_the_crd(server: Live) -> None:
    await define(server, objects=0)
    async with hosted(registration(server, WebhookEndpoint.of_service("crontabs/converter:8443/x"))) as host:
        await ready(host)
        config = (await conversion(server))["webhook"]["clientConfig"]
        assert config["service"] == {"namespace": "crontabs", "name": "converter", "port": 8443, "path": "/x"}
        assert config["caBundle"] == base64.b64encode(host.ca_bundle).decode()


async def test_registered_crd_is_not_patched_again(server: Live) -> None:
    await define(server)
    host = Host([crontabs()], port=free_port(), registration=registration(server))
    for _ in range(2):
        async with host:
            await ready(host)
            version = (await server.ask("GET", PATH))["metadata"]["resourceVersion"]
    async with host:
        await ready(host)
        assert (await server.ask("GET", PATH))["metadata"]["resourceVersion"] == version


async def test_ca_is_appended_to_an_existing_bundle(server: Live) -> None:
    theirs = make_authority("theirs", datetime.now(UTC)).certificate_pem
    config = {"url": "https://elsewhere/convert", "caBundle": base64.b64encode(theirs).decode()}
    webhook = {"conversionReviewVersions": ["v1beta1", "v1"], "clientConfig": config}
    await define(server, objects=0, conversion={"strategy": "Webhook", "webhook": webhook})
    async with hosted(registration(server)) as host:
        await ready(host)
        assert await authorities(server) == trust_bundle.parse_certificates(theirs + host.ca_bundle)
        assert (await conversion(server))["webhook"]["conversionReviewVersions"] == ["v1beta1", "v1"]


@pytest.mark.parametrize(
    "damage",
    [
        {"webhook": {"clientConfig": {"caBundle": None}}},
        {"webhook": {"clientConfig": {"url": "https://elsewhere/convert"}}},
        {"strategy": "None", "webhook": None},
    ],
)
async def test_foreign_change_is_patched_again(server: Live, damage: JsonObject) -> None:
    await define(server)
    async with hosted(registration(server)) as host:
        await ready(host)
        before = await conversion(server)
        await server.ask("PATCH", PATH, {"spec": {"conversion": damage}}, kind=MERGE)

        async def repaired() -> bool:
            return await conversion(server) == before

        await until(repaired)
        assert (await server.ask("GET", f"{OBJECTS.format(1)}/c0"))["spec"]["host"] == "0.example"


async def test_crd_created_later_is_patched(server: Live) -> None:
    async with hosted(registration(server)) as host:
        message = (
            f"not ready\nCronTab.{GROUP}: not registered: the API server does not serve this kind: "
            "apply its CustomResourceDefinition\n"
        )

        async def condition_holds() -> bool:
            return host.readiness().text == message

        await until(condition_holds)
        await define(server)
        await ready(host)


async def test_missing_named_crd_is_not_ready(server: Live) -> None:
    async with hosted(registration(server, crds=["things.example.com"])) as host:
        message = (
            "not ready\nthings.example.com: not registered: the CustomResourceDefinition does not exist: apply it\n"
        )

        async def condition_holds() -> bool:
            return host.readiness().text == message

        await until(condition_holds)


async def test_crd_of_an_unknown_kind_is_not_ready(server: Live) -> None:
    await define(server)
    other = Conversions("Other.example.com")
    async with hosted(registration(server, crds=[NAME]), other) as host:
        message = (
            f"not ready\n{NAME}: not registered: this host does not convert CronTab.{GROUP}: add a --converter for it\n"
        )

        async def condition_holds() -> bool:
            return host.readiness().text == message

        await until(condition_holds)
        assert await conversion(server) == {"strategy": "None"}


async def test_recreated_crd_is_patched_again(server: Live) -> None:
    await define(server)
    async with hosted(registration(server)) as host:
        await ready(host)
        await server.ask("DELETE", PATH)

        async def condition_holds() -> bool:
            return "not registered" in host.readiness().text

        await until(condition_holds)
        await define(server)
        await ready(host)
        assert await conversion(server) == host.conversion


async def test_unreachable_server_is_retried(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    settings = Settings(data_dir=tmp_path / "data", secure_port=free_port())
    async with Server(settings) as first:
        access = read_kubeconfigs([first.kubeconfig])
        once = Live(first)
        await define(once)
        once.client.close()
    wired = WebhookRegistration(ClusterClient(access), backoff=BACKOFF, propagation_seconds=0.2)
    async with hosted(wired) as host, calling(host) as caller:
        assert (await caller.convert())[0] == 200

        async def condition_holds() -> bool:
            return f"not ready\n{KIND}: {access.server} is unreachable: " in host.readiness().text

        await until(condition_holds)
        async with Server(settings) as second:
            await ready(host)
            again = Live(second)
            assert (await again.ask("GET", f"{OBJECTS.format(1)}/c0"))["spec"]["host"] == "0.example"
            again.client.close()
            away = [record for record in caplog.records if " is unreachable: " in record.getMessage()]
            assert len(away) == 1
            assert away[0].getMessage().endswith("; retrying")
        assert host._registration is not None
        host._registration.wake()

        async def noticed() -> bool:
            return f"{NAME}: {access.server} is unreachable: " in host.readiness().text

        await until(noticed)
        assert host.readiness().ready, "that the API server is away is no fault of the host"


async def test_self_test_detects_failing_conversion(server: Live) -> None:
    await define(server)
    async with hosted(registration(server)) as host:
        await ready(host)
        host.faults.fail("told to")
        wired = host._registration
        assert wired is not None
        wired.wake()

        async def condition_holds() -> bool:
            return not host.readiness().ready

        await until(condition_holds)
        text = host.readiness().text
        assert text.startswith(
            f"not ready\n{NAME}: registered, but the API server cannot list v1: conversion webhook for "
        )
        assert "told to" in text
        host.faults.clear()
        await ready(host)


async def test_without_self_test_registered_means_ready(server: Live) -> None:
    await define(server)
    async with hosted(registration(server, self_test=False)) as host:
        host.faults.fail("told to")
        await ready(host)
        assert host.readiness().text == f"ok\n{NAME}: registered\n"


async def test_incomplete_conversions_of_a_crd_are_not_ready(server: Live) -> None:
    await server.define(crd_manifest(HOST, HOSTS, HOSTS))
    async with hosted(registration(server)) as host:

        async def condition_holds() -> bool:
            return "no steps lead from" in host.readiness().text

        await until(condition_holds)
        assert host.readiness().text == (
            f"not ready\n{NAME}: not registered: CronTab.{GROUP}: "
            "no steps lead from v1 to v3, v2 to v3, v3 to v1, v3 to v2; "
            "declare these steps, or remove the versions from the CRD\n"
        )
        assert await conversion(server) == {"strategy": "None"}


def test_incomplete_conversions_are_rejected_at_start() -> None:
    half, other = Conversions("A.example.com"), Conversions("B.example.com")
    half.add("v1", "v2", dict)
    other.add("v1", "v2", dict)
    message = "A.example.com: no steps lead from v2 to v1\nB.example.com: no steps lead from v2 to v1"
    with pytest.raises(ValueError, match="no steps lead") as caught:
        check_complete([Library("a", half), Library("b", other)])
    assert str(caught.value) == message


async def test_converter_without_kinds_needs_crd_names() -> None:
    def convert(obj: Any, to: str) -> Any:
        return obj

    access = ClusterAccess("https://127.0.0.1:1")
    with pytest.raises(ValueError, match="the converter does not name its kinds; name the CRDs with --crd"):
        await Host([convert], registration=WebhookRegistration(ClusterClient(access))).start()


async def test_conflicts_are_retried(server: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    await define(server)
    reached = cluster(server)
    patch = reached.patch
    raced = 0

    async def late(path: str, changes: JsonObject) -> JsonObject:
        nonlocal raced
        if raced < 2:
            raced += 1
            await server.ask("PATCH", PATH, {"metadata": {"labels": {"race": f"r{raced}"}}}, kind=MERGE)
        return await patch(path, changes)

    monkeypatch.setattr(reached, "patch", late)
    async with hosted(WebhookRegistration(reached, backoff=(30.0,), propagation_seconds=0.2)) as host:
        await ready(host)
        assert (raced, (await server.ask("GET", PATH))["metadata"]["labels"]) == (2, {"race": "r2"})


async def test_competing_hosts_stop_patching(server: Live) -> None:
    await define(server, objects=0)
    async with hosted(registration(server)) as one, hosted(registration(server)) as two:

        async def condition_holds() -> bool:
            return any("another writer keeps changing spec.conversion" in h.readiness().text for h in (one, two))

        await until(condition_holds)
        generation = (await server.ask("GET", PATH))["metadata"]["generation"]
        assert generation <= 14


async def test_malformed_response_is_reported(server: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    reached = cluster(server)

    async def strange(path: str) -> JsonObject:
        return {"versions": [{}]}

    monkeypatch.setattr(reached, "get", strange)
    async with hosted(WebhookRegistration(reached, backoff=BACKOFF)) as host:

        async def condition_holds() -> bool:
            return "returned an unexpected response: KeyError('groupVersion')" in host.readiness().text

        await until(condition_holds)


class Reading:
    """Reads repeatedly at the version that is not stored."""

    def __init__(self, server: Live) -> None:
        self.count = 0
        self._server = server
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Reading:
        self._tasks = [asyncio.create_task(self._read()) for _ in range(4)]
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        for outcome in await asyncio.gather(*self._tasks, return_exceptions=True):
            if not isinstance(outcome, asyncio.CancelledError):
                raise AssertionError("a read has failed") from outcome

    async def _read(self) -> None:
        client: Client
        async with self._server.another() as client:
            while True:
                reply = await client.call("GET", OBJECTS.format(1))
                assert reply.status == 200, reply.body
                self.count += 1

    async def more(self) -> None:
        """Wait until each reader has read again."""
        enough = self.count + 3 * len(self._tasks)
        async with asyncio.timeout(20):
            while self.count < enough:
                assert not any(task.done() for task in self._tasks)
                await asyncio.sleep(0.01)


class Turned(Clock):
    """A manual clock for certificates; waiting takes real time."""

    def monotonic(self) -> float:
        return SystemClock().monotonic()


async def test_ca_rotation_fails_no_request(server: Live) -> None:
    clock = Turned(datetime.now(UTC) - timedelta(days=4 * 365 + 10))
    await define(server, objects=3)
    certificates: Certificates = ManagedCertificates(["127.0.0.1"], clock=clock)
    await certificates.refresh()
    old = trust_bundle.parse_certificates(certificates.ca_bundle)
    clock.at = datetime.now(UTC) - timedelta(days=5)
    async with hosted(registration(server, clock=clock, propagation_seconds=0.5), certificates=certificates) as host:
        await ready(host)
        async with Reading(server) as reading:
            await reading.more()

            async def appended() -> bool:
                return len(await authorities(server)) == 2

            await until(appended)
            assert (await authorities(server))[0] == old[0]
            new = (await authorities(server))[1]

            async def swapped() -> bool:
                await reading.more()
                return trust_bundle.parse_certificates(host.ca_bundle)[0] == new

            await until(swapped)
            await reading.more()
            clock.turn(days=3)
            await host.refresh()

            async def dropped() -> bool:
                return await authorities(server) == [new]

            await until(dropped)
            await reading.more()
        assert host.metrics.reviews["failed"] == 0


async def test_bundle_of_another_replica_also_waits_for_propagation(server: Live) -> None:
    clock = Clock(datetime.now(UTC) - timedelta(days=1))
    await define(server)
    certificates = ManagedCertificates(["127.0.0.1"], clock=clock)
    async with hosted(registration(server, clock=clock, propagation_seconds=30), certificates=certificates) as host:
        await ready(host)
        wired = host._registration
        assert wired is not None

        async def looked() -> None:
            """Wait for two more checks of the CRD."""
            for _ in range(2):
                before = host.metrics.reviews["converted"]
                wired.wake()

                async def tested(before: int = before) -> bool:
                    return host.metrics.reviews["converted"] > before

                await until(tested)

        clock.turn(seconds=40)
        await looked()
        served = certificates.context
        certificates.rotate()
        await certificates.refresh()
        encoded = base64.b64encode(certificates.ca_bundle).decode()
        config = {"webhook": {"clientConfig": {"caBundle": encoded}}}
        await server.ask("PATCH", PATH, {"spec": {"conversion": config}}, kind=MERGE)
        await looked()
        await host.refresh()
        assert certificates.context is served
        clock.turn(seconds=40)
        await looked()
        assert certificates.context is not served


async def test_temporary_certificates_are_not_published(server: Live, caplog: pytest.LogCaptureFixture) -> None:
    class Unreachable:
        """A store that is reachable at the third attempt."""

        attempts = 0

        async def update(self, change: Any) -> None:
            self.attempts += 1
            if self.attempts < 3:
                raise OSError("nobody there") from UnreachableError("nobody there")
            change({})

    await define(server)
    shelf = Unreachable()
    certificates = ManagedCertificates(["127.0.0.1"], store=shelf)
    async with hosted(registration(server), certificates=certificates) as host:
        await ready(host)
        assert (certificates.temporary, shelf.attempts) == (False, 3)
        assert await authorities(server) == trust_bundle.parse_certificates(host.ca_bundle)
    assert (
        "host certificates: the store is unreachable, serving a temporary certificate: nobody there" in caplog.messages
    )
