"""The CronTab resource on the shared server, and a client that checks the server's health after each request."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator

import pytest

from tests.conformance.client import Answer, Server
from tests.support.crontabs import crontab, definition
from tests.support.server import ServerProcess

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

Ask = Callable[..., Answer]


@pytest.fixture(scope="module")
def tabs(server: ServerProcess) -> Iterator[str]:
    """The path of a collection with one object, my-crontab."""
    api, group = Server(server.url, server.token), f"r{uuid.uuid4().hex[:8]}.example.com"
    made = api.call("POST", CRDS, json.dumps(definition(group)).encode())
    assert made.status == 201, made.body
    path = f"/apis/{group}/v1/namespaces/default/crontabs"
    deadline = time.monotonic() + 20
    while api.call("GET", path).status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert api.call("POST", path, json.dumps(crontab(group)).encode()).status == 201
    yield path
    api.call("DELETE", f"{CRDS}/crontabs.{group}")


@pytest.fixture
def ask(server: ServerProcess) -> Iterator[Ask]:
    """Send a request and check afterwards that the server is still healthy."""
    api = Server(server.url, server.token)

    def call(method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return api.call(method, path, body, named)

    yield call
    assert server.alive(), server.tail()
    assert api.call("GET", "/readyz").body == b"ok"


def refusal(answer: Answer) -> dict[str, object]:
    """Return the Status of a 4xx response. Fail for anything else."""
    assert 400 <= answer.status < 500, (answer.status, answer.body[:500])
    status: dict[str, object] = json.loads(answer.body)
    assert status["kind"] == "Status"
    assert status["status"] == "Failure"
    assert status["code"] == answer.status
    assert status["message"]
    return status
