"""ConfigMaps: validation, immutability and everything that is derived from their declaration."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.apis.core.types import CONFIG_MAP
from polykind.apis.core.validation import data_key_errors, validate_config_map, validate_config_map_update
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apis.machinery.protobuf_writer import encode_message
from polykind.contract import JsonObject
from tests.support.kubectl import Kubectl
from tests.support.live import Live, live
from tests.support.server import ServerProcess

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
IMMUTABLE = "Forbidden: field is immutable when `immutable` is set"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as server:
        yield server


def config_map(name: str = "settings", **fields: object) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **fields}


@pytest.mark.parametrize(
    ("key", "reasons"),
    [
        ("app.properties", 0),
        ("KEY_name-1", 0),
        ("a" * 253, 0),
        ("a" * 254, 1),
        ("a/b", 1),
        ("", 1),
        (".", 1),
        ("..", 1),
        ("..hidden", 1),
        (".hidden", 0),
    ],
)
def test_data_key_errors(key: str, reasons: int) -> None:
    assert len(data_key_errors(key)) == reasons


def test_key_must_not_be_in_data_and_binary_data() -> None:
    (error,) = validate_config_map(config_map(data={"k": "v"}, binaryData={"k": "aGk="}))
    assert str(error) == 'data[k]: Invalid value: "k": duplicate of key present in binaryData'


def test_total_size_is_limited_to_one_mebibyte() -> None:
    half = "x" * (512 * 1024)
    assert validate_config_map(config_map(data={"a": half, "b": half})) == []
    (error,) = validate_config_map(config_map(data={"a": half, "b": half}, binaryData={"c": "eA=="}))
    assert str(error) == "[]: Too long: may not be more than 1048576 bytes"


def test_immutable_config_map_cannot_change() -> None:
    old = config_map(immutable=True, data={"a": "1"})
    assert validate_config_map_update(old, old) == []
    changed = config_map(data={"a": "2"}, binaryData={"b": "eA=="})
    messages = [f"{field}: {IMMUTABLE}" for field in ("immutable", "data", "binaryData")]
    assert [str(error) for error in validate_config_map_update(changed, old)] == messages


def test_protobuf_round_trip() -> None:
    obj = config_map(immutable=True, data={"a": "1"}, binaryData={"b": "aGVsbG8="})
    fields = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}
    decoded = decode_message(encode_message(obj, CONFIG_MAP), CONFIG_MAP)
    assert {key: decoded[key] for key in ("immutable", "data", "binaryData")} == {
        key: fields[key] for key in ("immutable", "data", "binaryData")
    }


async def test_list_items_have_no_type_even_if_the_data_looks_like_one(running: Live) -> None:
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": "x"}
    created = await running.ask("POST", CONFIG_MAPS, config_map(data=data))
    listed = await running.ask("GET", CONFIG_MAPS)
    assert listed["items"] == [{"data": data, "metadata": created["metadata"]}]


async def test_patch_apply_watch_and_table(running: Live) -> None:
    path = f"{CONFIG_MAPS}/settings"
    await running.ask("POST", CONFIG_MAPS, config_map(data={"a": "1"}, binaryData={"b": "eA=="}))
    patched = await running.ask("PATCH", path, {"data": {"a": None, "c": "3"}}, kind=STRATEGIC)
    assert patched["data"] == {"c": "3"}
    applied = await running.ask("PATCH", f"{path}?fieldManager=me", config_map(data={"d": "4"}), kind=APPLY)
    assert applied["data"] == {"c": "3", "d": "4"}
    owner = next(entry for entry in applied["metadata"]["managedFields"] if entry["manager"] == "me")
    assert owner["fieldsV1"] == {"f:data": {"f:d": {}}}
    event = await running.until(CONFIG_MAPS, lambda kind, obj: kind == "ADDED")
    assert event["object"]["data"] == {"c": "3", "d": "4"}


async def test_null_in_binary_data_is_empty(running: Live) -> None:
    created = await running.ask("POST", CONFIG_MAPS, config_map(binaryData={"a": None, "b": "eA=="}))
    assert created["binaryData"] == {"a": "", "b": "eA=="}


async def test_update_of_immutable_config_map_is_forbidden(running: Live) -> None:
    await running.ask("POST", CONFIG_MAPS, config_map(immutable=True, data={"a": "1"}))
    rejected = await running.ask("PUT", f"{CONFIG_MAPS}/settings", config_map(data={"a": "1"}), expect=422)
    assert rejected["message"] == f'ConfigMap "settings" is invalid: immutable: {IMMUTABLE}'


def test_kubectl(server: ServerProcess, tmp_path: Path) -> None:
    kubectl = Kubectl(server.kubeconfig, tmp_path)
    kubectl("create", "configmap", "settings", "--from-literal=a=1", "--from-literal=b=2")
    table = kubectl("get", "cm", "settings").out.splitlines()
    assert table[0].split() == ["NAME", "DATA", "AGE"]
    assert table[1].split()[:2] == ["settings", "2"]
    assert "a:\n----\n1\n" in kubectl("describe", "cm", "settings", "--show-events=false").out
    assert "immutable" in kubectl("explain", "configmaps").out
    kubectl("delete", "cm", "settings")
