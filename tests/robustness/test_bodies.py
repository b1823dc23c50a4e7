"""Malformed bodies get a Status, never a 500, a hang or a lost process."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.robustness.conftest import CRDS, Ask, refusal
from tests.support.crontabs import crontab, definition

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"

UNREADABLE = {
    "empty": b"",
    "blank": b"  \n ",
    "not json": b"{not json",
    "cut": b'{"apiVersion":"x","kind":',
    "two values": b"{} {}",
    "a list": b"[]",
    "a string": b'"text"',
    "a number": b"12",
    "null": b"null",
    "true": b"true",
    "bare surrogate": b'{"a":"\\ud800"}',
    "bad utf-8": b'{"a":"\xff\xfe"}',
    "nul bytes": b"\x00\x00\x00",
    "control characters": b'{"a":"\x01"}',
    "utf-16": '{"a":1}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "NaN": b'{"a":NaN}',
    "a huge exponent": b'{"a":1e999999}',
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "deep and whole": b'{"kind":"CronTab","a":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_malformed_body_is_rejected(ask: Ask, tabs: str, name: str) -> None:
    body = UNREADABLE[name]
    refusal(ask("POST", tabs, body))
    refusal(ask("PUT", f"{tabs}/my-crontab", body))
    refusal(ask("POST", CRDS, body))
    refusal(ask("POST", "/api/v1/namespaces", body))


@pytest.mark.parametrize("kind", [MERGE, JSON_PATCH, APPLY])
@pytest.mark.parametrize("name", UNREADABLE)
def test_malformed_patch_is_rejected_or_changes_nothing(ask: Ask, tabs: str, name: str, kind: str) -> None:
    query = "?fieldManager=test" if kind == APPLY else ""
    answer = ask("PATCH", f"{tabs}/my-crontab{query}", UNREADABLE[name], Content_Type=kind)
    if answer.status == 200:
        assert json.loads(answer.body)["spec"]["image"] == "my-awesome-cron-image"
    elif answer.status != 500 or kind != APPLY:
        refusal(answer)


VALUES: list[Any] = [None, True, 0, -1, 1.5, 10**30, "", "x", "\x00", "é" * 300, [], [None], [{}], {}, {"": None}]
METADATA = (
    "name",
    "namespace",
    "generateName",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "uid",
    "managedFields",
    "selfLink",
)


@pytest.mark.parametrize("field", METADATA)
def test_metadata_of_wrong_type_is_rejected_or_dropped(ask: Ask, tabs: str, field: str) -> None:
    group = tabs.split("/")[2]
    for value in VALUES:
        body = crontab(group, "strange")
        body["metadata"][field] = value
        raw = json.dumps(body).encode()
        made = ask("POST", f"{tabs}?dryRun=All", raw)
        if made.status != 201:
            refusal(made)
        patch = json.dumps({"metadata": {field: value}}).encode()
        patched = ask("PATCH", f"{tabs}/my-crontab?dryRun=All", patch, Content_Type=MERGE)
        if patched.status != 200:
            refusal(patched)


@pytest.mark.parametrize("field", ["apiVersion", "kind", "metadata", "spec", "status"])
def test_wrong_type_at_the_root_is_rejected_or_dropped(ask: Ask, tabs: str, field: str) -> None:
    group = tabs.split("/")[2]
    for value in VALUES:
        raw = json.dumps(crontab(group, "strange") | {field: value}).encode()
        made = ask("POST", f"{tabs}?dryRun=All", raw)
        if made.status != 201:
            refusal(made)


def _paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    return [at, *(path for key, member in members for path in _paths(member, (*at, key)))]


def _replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    head, *rest = path
    if isinstance(value, dict):
        return value | {head: _replaced(value[head], tuple(rest), new)}
    return [_replaced(v, tuple(rest), new) if i == head else v for i, v in enumerate(value)]


DEFINITION = definition("strange.example.com")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(_paths(DEFINITION)[1:]), value=st.sampled_from(VALUES))
def test_crd_with_one_strange_field_is_accepted_or_rejected(ask: Ask, path: tuple[Any, ...], value: Any) -> None:
    answer = ask("POST", f"{CRDS}?dryRun=All", json.dumps(_replaced(DEFINITION, path, value)).encode())
    if answer.status != 201:
        refusal(answer)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=JSON, status=JSON, extra=st.dictionaries(st.text(max_size=8), JSON, max_size=3))
def test_any_object_is_stored_or_rejected(ask: Ask, tabs: str, spec: Any, status: Any, extra: dict[str, Any]) -> None:
    body = extra | crontab(tabs.split("/")[2], "any") | {"spec": spec, "status": status}
    answer = ask("POST", f"{tabs}?dryRun=All", json.dumps(body).encode())
    if answer.status != 201:
        refusal(answer)


OPERATION = st.fixed_dictionaries(
    {},
    optional={
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "nonsense"]) | JSON,
        "path": st.sampled_from(["", "/", "/spec", "/spec/replicas", "/metadata/labels/x", "/spec/-", "/~2"]) | JSON,
        "from": st.sampled_from(["", "/spec", "/metadata/name"]) | JSON,
        "value": JSON,
    },
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=st.lists(OPERATION, max_size=4) | JSON)
def test_any_json_patch_is_applied_or_rejected(ask: Ask, tabs: str, operations: Any) -> None:
    body = json.dumps(operations).encode()
    answer = ask("PATCH", f"{tabs}/my-crontab?dryRun=All", body, Content_Type=JSON_PATCH)
    if answer.status != 200:
        refusal(answer)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(patch=JSON)
def test_any_merge_patch_is_applied_or_rejected(ask: Ask, tabs: str, patch: Any) -> None:
    answer = ask("PATCH", f"{tabs}/my-crontab?dryRun=All", json.dumps(patch).encode(), Content_Type=MERGE)
    if answer.status != 200:
        refusal(answer)


def test_body_above_three_mebibytes_is_too_large(ask: Ask, tabs: str) -> None:
    body = json.dumps(crontab(tabs.split("/")[2], "big", image="x" * (3 * 1024 * 1024))).encode()
    status = refusal(ask("POST", tabs, body))
    assert status["code"] == 413
    assert status["reason"] == "RequestEntityTooLarge"


def test_body_just_below_the_limit_is_stored(ask: Ask, tabs: str) -> None:
    body = json.dumps(crontab(tabs.split("/")[2], "big", image="x" * 1024 * 1024)).encode()
    assert ask("POST", f"{tabs}?dryRun=All", body).status == 201


def test_unknown_media_type_is_rejected(ask: Ask, tabs: str) -> None:
    body = json.dumps(crontab(tabs.split("/")[2], "other")).encode()
    for kind in ("text/plain", "application/xml", ";;;", "application/json; charset", "a" * 5000):
        assert refusal(ask("POST", tabs, body, Content_Type=kind))["code"] in (400, 415)
    assert refusal(ask("PATCH", f"{tabs}/my-crontab", b"{}", Content_Type="application/json"))["code"] == 415


def test_yaml_bomb_is_rejected(ask: Ask, tabs: str) -> None:
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    names = "abcdefghij"
    lines += [f"{n}: &{n} [{','.join([f'*{p}'] * 9)}]" for p, n in itertools.pairwise(names)]
    refusal(ask("POST", tabs, "\n".join(lines).encode(), Content_Type="application/yaml"))
