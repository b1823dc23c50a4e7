"""Feature gates that are disabled on data that uses the feature, and enabled again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.conversion.hook import Hook
from tests.support.live import DEFINITIONS, Live, live

GROUP = "example.com"
NAME = f"crontabs.{GROUP}"
MERGE = "application/merge-patch+json"
WEBHOOKS_OFF = {"CustomResourceWebhookConversion": False}
DEFAULTING_OFF = {"CustomResourceDefaulting": False}
DISABLED = "webhook conversion is disabled on this cluster"


def crontabs(version: str, name: str = "") -> str:
    return f"/apis/{GROUP}/{version}/crontabs" + (f"/{name}" if name else "")


def crontab(version: str, name: str, **spec: Any) -> JsonObject:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "CronTab", "metadata": {"name": name}, "spec": spec}


def definition(
    conversion: JsonObject | None = None, *, storage: str = "v1", name: str = "crontabs", spec: JsonObject | None = None
) -> JsonObject:
    properties: dict[str, JsonObject] = {
        "v1": {"old": {"type": "string", "maxLength": 3}},
        "v2": {"new": {"type": "string", "maxLength": 5}},
    }
    versions = []
    for version, own in properties.items():
        fields = {"type": "object", "properties": {**own, **(spec or {})}}
        schema = {"type": "object", "properties": {"spec": fields, "status": {"type": "object"}}}
        stanza: JsonObject = {"name": version, "served": True, "storage": version == storage}
        stanza["schema"] = {"openAPIV3Schema": schema}
        if version == "v1":
            stanza["subresources"] = {"status": {}}
        versions.append(stanza)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": name, "kind": name.title()[:-1] if name != "crontabs" else "CronTab"},
            "versions": versions,
            "conversion": conversion or {"strategy": "None"},
        },
    }


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    async with Hook() as running:
        yield running


def webhook(hook: Hook) -> JsonObject:
    return {"strategy": "Webhook", "webhook": hook.webhook_config()}


async def mixed(server: Live, hook: Hook) -> None:
    """Create one object stored as v1 and one as v2, the storage version."""
    await server.define(definition(webhook(hook)))
    await server.ask("POST", crontabs("v1"), crontab("v1", "first"))
    stored_as_v2 = {"spec": {"versions": definition(storage="v2")["spec"]["versions"]}}
    await server.ask("PATCH", f"{DEFINITIONS}/{NAME}", stored_as_v2, kind=MERGE)
    await server.ask("POST", crontabs("v2"), crontab("v2", "second"))


async def test_webhook_conversion_fails_while_the_gate_is_disabled(tmp_path: Path, hook: Hook) -> None:
    async with live(tmp_path) as server:
        await mixed(server, hook)
        before = await server.ask("GET", crontabs("v2"))
    hook.calls.clear()
    async with live(tmp_path, feature_gates=WEBHOOKS_OFF) as server:
        for method, path, body in (
            ("GET", crontabs("v1", "first"), None),
            ("GET", crontabs("v1", "absent"), None),
            ("GET", crontabs("v1"), None),
            ("GET", crontabs("v1") + "?watch=1", None),
            ("GET", crontabs("v2", "first"), None),
            ("GET", crontabs("v2"), None),
            ("POST", crontabs("v1"), crontab("v1", "third")),
            ("DELETE", crontabs("v2", "first"), None),
            ("DELETE", crontabs("v1"), None),
        ):
            status = await server.ask(method, path, body, expect=500)
            assert (status["kind"], status["status"]) == ("Status", "Failure"), path
            assert status["message"].startswith(DISABLED), status
        assert (await server.ask("GET", crontabs("v2", "second")))["metadata"]["name"] == "second"
        await server.ask("POST", crontabs("v2"), crontab("v2", "third"))
        await server.ask("DELETE", crontabs("v2", "third"))
    assert not hook.calls
    async with live(tmp_path) as server:
        assert (await server.ask("GET", crontabs("v2")))["items"] == before["items"]
        assert len((await server.ask("GET", crontabs("v1")))["items"]) == 2


async def test_empty_list_fails_if_it_needed_the_disabled_webhook(tmp_path: Path, hook: Hook) -> None:
    async with live(tmp_path) as server:
        await server.define(definition(webhook(hook)))
    async with live(tmp_path, feature_gates=WEBHOOKS_OFF) as server:
        await server.ask("GET", crontabs("v2"), expect=500)
        assert (await server.ask("GET", crontabs("v1")))["items"] == []


async def test_per_version_settings_stay_in_force(tmp_path: Path, hook: Hook) -> None:
    async with live(tmp_path) as server:
        await server.define(definition(webhook(hook)))
    async with live(tmp_path, feature_gates=WEBHOOKS_OFF) as server:
        await server.ask("POST", crontabs("v1"), crontab("v1", "long", old="1234"), expect=422)
        made = await server.ask("POST", crontabs("v1"), {**crontab("v1", "one", old="123", new="x"), "status": {}})
        assert made["spec"] == {"old": "123"}
        assert "status" not in made
        await server.ask("GET", f"{crontabs('v1', 'one')}/status")


async def test_disabled_gate_keeps_existing_webhooks_and_rejects_new_ones(tmp_path: Path, hook: Hook) -> None:
    why = (
        "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook, "
        "but not allowed because the CustomResourceWebhookConversion feature is disabled"
    )
    async with live(tmp_path) as server:
        await server.define(definition(webhook(hook)))
        await server.define(definition(name="plains"))
    async with live(tmp_path, feature_gates=WEBHOOKS_OFF) as server:
        moved = {"spec": {"conversion": {"webhook": {"clientConfig": {"url": "https://elsewhere.example.com/"}}}}}
        changed = await server.ask("PATCH", f"{DEFINITIONS}/{NAME}", moved, kind=MERGE)
        assert changed["spec"]["conversion"]["webhook"]["clientConfig"]["url"] == "https://elsewhere.example.com/"
        refused = await server.ask("POST", DEFINITIONS, definition(webhook(hook), name="others"), expect=422)
        assert refused["message"] == f'CustomResourceDefinition.apiextensions.k8s.io "others.{GROUP}" is invalid: {why}'
        begun = {"spec": {"conversion": webhook(hook)}}
        refused = await server.ask("PATCH", f"{DEFINITIONS}/plains.{GROUP}", begun, kind=MERGE, expect=422)
        assert why in refused["message"]
        ended = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        await server.ask("PATCH", f"{DEFINITIONS}/{NAME}", ended, kind=MERGE)
        await server.ask("GET", crontabs("v2"))
        await server.ask("PATCH", f"{DEFINITIONS}/{NAME}", begun, kind=MERGE, expect=422)


async def test_v1beta1_update_cannot_introduce_per_version_settings(tmp_path: Path) -> None:
    beta = DEFINITIONS.replace("/v1/", "/v1beta1/")
    crd = {**definition(), "apiVersion": "apiextensions.k8s.io/v1beta1"}
    async with live(tmp_path, feature_gates=WEBHOOKS_OFF) as server:
        made = await server.ask("POST", beta, crd)
        assert [sorted(v) for v in made["spec"]["versions"]] == [["name", "served", "storage"]] * 2
        await server.ask("DELETE", f"{beta}/{NAME}")
        await server.gone(DEFINITIONS, NAME)
    async with live(tmp_path) as server:
        made = await server.ask("POST", beta, crd)
        assert "schema" in made["spec"]["versions"][0]
    async with live(tmp_path, feature_gates=WEBHOOKS_OFF) as server:
        kept = await server.ask("PATCH", f"{beta}/{NAME}", {"metadata": {"labels": {"a": "b"}}}, kind=MERGE)
        assert kept["spec"] == made["spec"]


DEFAULTED = {"colour": {"type": "string", "default": "red"}}


async def test_disabled_gate_rejects_first_defaults_and_keeps_existing_ones(tmp_path: Path) -> None:
    async with live(tmp_path) as server:
        await server.define(definition(spec=DEFAULTED))
        await server.define(definition(name="plains"))
        await server.ask("POST", crontabs("v1"), crontab("v1", "one"))
    async with live(tmp_path, feature_gates=DEFAULTING_OFF) as server:
        assert (await server.ask("GET", crontabs("v1", "one")))["spec"] == {"colour": "red"}
        await server.ask("POST", crontabs("v1"), crontab("v1", "two"))
        refused = await server.ask("POST", DEFINITIONS, definition(name="others", spec=DEFAULTED), expect=422)
        where = "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[colour].default"
        assert f"{where}: Forbidden: must not be set" in refused["message"]
        begun = {"spec": {"versions": definition(name="plains", spec=DEFAULTED)["spec"]["versions"]}}
        await server.ask("PATCH", f"{DEFINITIONS}/plains.{GROUP}", begun, kind=MERGE, expect=422)
        more = {"size": {"type": "integer", "default": 1}, **DEFAULTED}
        further = {"spec": {"versions": definition(spec=more)["spec"]["versions"]}}
        await server.ask("PATCH", f"{DEFINITIONS}/{NAME}", further, kind=MERGE)
        assert (await server.ask("GET", crontabs("v1", "one")))["spec"] == {"colour": "red", "size": 1}
    async with live(tmp_path) as server:
        await server.define(definition(name="others", spec=DEFAULTED))
