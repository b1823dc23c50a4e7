"""Helpers for tests of hosts: conversions, reviews, a client that trusts a host, and a manual clock."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp

from polykind.contract import JsonObject
from polykind.convert import Conversions
from polykind.toolkit.hosting.webhook_host import Host
from tests.toolkit.crds import GROUP


def crontabs() -> Conversions:
    """Return conversions between a `host` and a list of `hosts`."""
    out = Conversions(f"CronTab.{GROUP}")

    @out.step("v1", "v2")
    def up(obj: JsonObject) -> None:
        host = obj.get("spec", {}).pop("host", None)
        if host == "bad":
            raise ValueError("this host is bad")
        if host is not None:
            obj["spec"]["hosts"] = [host]

    @out.step("v2", "v1")
    def down(obj: JsonObject) -> None:
        hosts = obj.get("spec", {}).pop("hosts", None)
        if hosts:
            obj["spec"]["host"] = hosts[0]

    return out


def review(*names: str, host: str = "a.example", uid: str = "u1") -> JsonObject:
    """Return a review that converts objects from v1 to v2."""
    objects = [
        {"apiVersion": f"{GROUP}/v1", "kind": "CronTab", "metadata": {"name": name}, "spec": {"host": host}}
        for name in names or ("one",)
    ]
    request = {"uid": uid, "desiredAPIVersion": f"{GROUP}/v2", "objects": objects}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}


def names(response: JsonObject) -> list[str]:
    return [obj["metadata"]["name"] for obj in response["convertedObjects"]]


class Clock:
    """A clock that moves only on request."""

    def __init__(self, at: datetime | None = None) -> None:
        self.at = at or datetime.now(UTC)

    def turn(self, **by: float) -> None:
        self.at += timedelta(**by)

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()


class Caller:
    """Calls a host like an API server, with the CA bundle at the time of creation."""

    def __init__(self, host: Host, session: aiohttp.ClientSession) -> None:
        self.host, self.session = host, session

    async def convert(self, body: Any = None) -> tuple[int, Any]:
        """Return the status, and the review's response or the text."""
        async with self.session.post(self.host.url, json=review() if body is None else body) as answer:
            message = await answer.read()
            is_json = answer.status == 200 and message.startswith(b"{")
            return answer.status, (await answer.json())["response"] if is_json else message.decode()

    async def get(self, page: str) -> tuple[int, str]:
        async with self.session.get(f"https://127.0.0.1:{self.host.port}{page}") as answer:
            return answer.status, await answer.text()


@asynccontextmanager
async def calling(host: Host, *, bundle: bytes | None = None) -> AsyncIterator[Caller]:
    """Return a client that opens a connection for each call."""
    context = ssl.create_default_context(cadata=(bundle or host.ca_bundle).decode())
    connector = aiohttp.TCPConnector(ssl=context, force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield Caller(host, session)
