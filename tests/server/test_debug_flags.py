"""The flags that can be changed while the server runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from polykind.http.messages import Request
from polykind.server.debug_flags import respond_about_flags
from tests.support.live import live
from tests.support.permissions import RBAC_GROUP, ROLES, ask_as, live_with_users

VERBOSITY = "/debug/flags/v"


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    logger = logging.getLogger("polykind")
    level = logger.level
    yield
    logger.setLevel(level)


def put(text: str, method: str = "PUT") -> tuple[int, str]:
    response = respond_about_flags(Request(method, VERBOSITY, "", {}, text.encode()), VERBOSITY)
    assert response is not None
    assert isinstance(response.body, bytes)
    assert response.body.endswith(b"\n")
    return response.status, response.body.decode().removesuffix("\n")


@pytest.mark.parametrize(("text", "level"), [("4", logging.DEBUG), ("2147483647", logging.DEBUG), ("03", logging.INFO)])
def test_verbosity_is_set(text: str, level: int) -> None:
    assert put(text) == (200, f"successfully set klog.logging.verbosity to {text}")
    assert logging.getLogger("polykind").level == level


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("-1", 'strconv.ParseUint: parsing "-1": invalid syntax'),
        ("+1", 'strconv.ParseUint: parsing "+1": invalid syntax'),
        ("4\n", 'strconv.ParseUint: parsing "4\\n": invalid syntax'),
        ("4294967296", 'strconv.ParseUint: parsing "4294967296": value out of range'),
        ("9" * 100_000, f'strconv.ParseUint: parsing "{"9" * 100_000}": value out of range'),
        (
            "4294967295",
            'failed set klog.logging.verbosity 4294967295: strconv.ParseInt: parsing "4294967295": value out of range',
        ),
    ],
)
def test_invalid_verbosity_is_rejected(text: str, reason: str) -> None:
    assert put(text) == (400, reason)


def test_other_methods_are_not_supported() -> None:
    for method in ("GET", "POST", "DELETE", "PATCH"):
        assert put("4", method) == (406, "unsupported http method")


async def test_index_lists_the_flag(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        for path in ("/debug/flags", "/debug/flags/", "/debug/flags/other", "/debug/flags/v/"):
            reply = await running.client.call("GET", path)
            assert (reply.status, reply.headers[b"content-type"]) == (200, b"text/html; charset=utf-8")
            assert b"<tr>v<br>" in reply.body
        assert (await running.client.call("GET", "/debug")).status == 404
        assert "/debug/flags" not in (await running.ask("GET", "/"))["paths"]


async def test_path_needs_permission(tmp_path: Path) -> None:
    async with live_with_users(tmp_path, "ann") as running:
        refused = await ask_as(running, "ann", "PUT", VERBOSITY, expect=403)
        assert refused["message"] == 'forbidden: User "ann" cannot put path "/debug/flags/v"'
        rules = [{"verbs": ["put"], "nonResourceURLs": [VERBOSITY]}]
        await running.ask("POST", f"{ROLES}/clusterroles", {"metadata": {"name": "r"}, "rules": rules})
        role = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "r"}
        subjects = [{"kind": "User", "name": "ann"}]
        body = {"metadata": {"name": "r"}, "roleRef": role, "subjects": subjects}
        await running.ask("POST", f"{ROLES}/clusterrolebindings", body)
        async with running.another() as client:
            client.token = "ann"
            reply = await client.call("PUT", VERBOSITY, 4)
        assert (reply.status, reply.body) == (200, b"successfully set klog.logging.verbosity to 4\n")
