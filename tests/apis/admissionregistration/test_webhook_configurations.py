"""Webhook configurations as resources: defaults, generations, tables, updates and patches."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from tests.support.live import Live, live
from tests.support.widgets import APPLY, MERGE

PATH = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
STRATEGIC = "application/strategic-merge-patch+json"
HOOK: JsonObject = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://127.0.0.1:9/x"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        yield running


def configuration(*webhooks: JsonObject) -> JsonObject:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "m"},
        "webhooks": list(webhooks),
    }


async def test_configuration_is_stored_with_defaults(running: Live) -> None:
    made = await running.ask("POST", PATH, configuration(HOOK))
    assert made["metadata"]["generation"] == 1
    assert made["webhooks"] == [
        {
            **HOOK,
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "timeoutSeconds": 10,
            "reinvocationPolicy": "Never",
        }
    ]


async def test_generation_counts_changes_of_webhooks(running: Live) -> None:
    await running.ask("POST", PATH, configuration(HOOK))
    same = await running.ask("PATCH", f"{PATH}/m", {"metadata": {"labels": {"a": "b"}}}, kind=MERGE)
    assert same["metadata"]["generation"] == 1
    other = await running.ask("PATCH", f"{PATH}/m", {"webhooks": []}, kind=MERGE)
    assert (other["metadata"]["generation"], "webhooks" in other) == (2, False)


async def test_webhooks_merge_by_name(running: Live) -> None:
    await running.ask("POST", PATH, configuration(HOOK, {**HOOK, "name": "b.example.com"}))
    patch = {
        "webhooks": [{"name": "b.example.com", "timeoutSeconds": 3}, {"name": "a.example.com", "$patch": "delete"}]
    }
    made = await running.ask("PATCH", f"{PATH}/m", patch, kind=STRATEGIC)
    assert [(w["name"], w["timeoutSeconds"]) for w in made["webhooks"]] == [("b.example.com", 3)]


async def test_webhooks_are_owned_by_name(running: Live) -> None:
    await running.ask("PATCH", f"{PATH}/m?fieldManager=one", configuration(HOOK), kind=APPLY)
    both = await running.ask(
        "PATCH", f"{PATH}/m?fieldManager=two", configuration({**HOOK, "name": "b.example.com"}), kind=APPLY
    )
    assert [w["name"] for w in both["webhooks"]] == ["a.example.com", "b.example.com"]
    less = await running.ask("PATCH", f"{PATH}/m?fieldManager=one", configuration(), kind=APPLY)
    assert [w["name"] for w in less["webhooks"]] == ["b.example.com"]
    changed = configuration({**HOOK, "name": "b.example.com", "sideEffects": "NoneOnDryRun"})
    await running.ask("PATCH", f"{PATH}/m?fieldManager=one", changed, kind=APPLY, expect=409)


async def test_invalid_configuration_is_rejected(running: Live) -> None:
    answer = await running.ask("POST", PATH, configuration({**HOOK, "name": "short"}), expect=422)
    assert answer["message"] == (
        'MutatingWebhookConfiguration.admissionregistration.k8s.io "m" is invalid: webhooks[0].name: '
        'Invalid value: "short": should be a domain with at least three segments separated by dots'
    )
    wrong = configuration({**HOOK, "rules": [{"operations": "CREATE"}]})
    answer = await running.ask("POST", PATH, wrong, expect=400)
    assert answer["message"].endswith(
        "json: cannot unmarshal string into Go struct field RuleWithOperations.webhooks.rules.operations "
        "of type []v1.OperationType"
    )


async def test_table_and_list(running: Live) -> None:
    await running.ask("POST", PATH, configuration(HOOK))
    running.client.accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
    table = await running.ask("GET", PATH)
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Webhooks", "Age"]
    assert table["rows"][0]["cells"][:2] == ["m", 1]
    running.client.accept = "application/json"
    listed = await running.ask("GET", PATH)
    assert (listed["kind"], len(listed["items"])) == ("MutatingWebhookConfigurationList", 1)
