"""Every built-in kind: a minimal object becomes what kube-apiserver 1.36.4 returned for it.

`data/defaults.json` has, for each kind, the path, the object sent and the object returned, in the order in which the
objects were created. A LimitRange, for example, sets resources of the pod that was created after it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from polykind.testing.exceptions import Refused
from polykind.testing.server_client import Client, Connection
from polykind.testing.server_factory import Factory

_RECORDED: dict[str, JsonObject] = json.loads((Path(__file__).parent / "data" / "defaults.json").read_text())
_UNORDERED = ("resourceRules", "nonResourceRules", "nonResourceURLs")
_is_time = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z").fullmatch
_is_uid = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch
_METADATA = {"uid": "<uid>", "resourceVersion": "<rv>", "creationTimestamp": "<time>"}


@pytest.fixture(scope="module")
def responses(polykind_factory: Factory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, JsonObject]]:
    """The responses of one server to all recorded creates, by kind."""
    tokens = tmp_path_factory.mktemp("tokens") / "tokens.csv"
    tokens.write_text('admin-token,admin,admin,"system:masters"\n')
    with polykind_factory.serve(authorization_mode=("RBAC",), token_auth_file=tokens) as server:
        client = Client(server.url, "admin-token", server.ca)
        yield asyncio.run(_create_all(client))


async def _create_all(client: Client) -> dict[str, JsonObject]:
    async with client.connect() as connection:
        return {kind: await _create(connection, case) for kind, case in _RECORDED.items()}


async def _create(connection: Connection, case: JsonObject) -> JsonObject:
    try:
        return await connection.request("POST", case["path"], case["sent"])
    except Refused as error:
        return {"refused": str(error)}


@pytest.mark.parametrize("kind", _RECORDED)
def test_a_minimal_object_gets_the_recorded_defaults(kind: str, responses: dict[str, JsonObject]) -> None:
    recorded = _RECORDED[kind]
    assert _normalized(responses[kind], recorded["sent"]) == _normalized(recorded["returned"], recorded["sent"])


def _normalized(obj: Any, sent: JsonObject) -> Any:
    """Replace what differs from run to run: uids, resourceVersions, times and allocated addresses."""
    if isinstance(obj, list):
        return [_normalized(item, sent) for item in obj]
    if not isinstance(obj, dict):
        if not isinstance(obj, str) or obj in json.dumps(sent):
            return obj
        return "<time>" if _is_time(obj) else "<uid>" if _is_uid(obj) else obj
    out: JsonObject = {}
    for key, value in obj.items():
        if key == "managedFields":
            continue
        if key in ("clusterIP", "clusterIPs"):
            out[key] = "<clusterIP>"
        elif key in _UNORDERED:
            out[key] = sorted(_normalized(value, sent), key=json.dumps)
        else:
            out[key] = _METADATA[key] if key in ("uid", "resourceVersion") and _is_generated(value) else value
            out[key] = _normalized(out[key], sent)
    return out


def _is_generated(value: Any) -> bool:
    return isinstance(value, str) and (value.isdigit() or re.fullmatch("[0-9a-f-]{36}", value) is not None)
