from __future__ import annotations

from typing import Any

import pytest

from polykind.contract import Converter, JsonObject
from polykind.conversion.converter_factory import build_converter
from polykind.conversion.monitored_converter import MonitoredConverter
from polykind.errors import APIError
from polykind.toolkit.declare.library import Library
from polykind.webhook.resolver import Resolver
from tests.conversion import converters
from tests.conversion.hook import Hook, crontab
from tests.conversion.test_monitored_converter import StillClock

V1 = "example.com/v1"


def _crd(conversion: JsonObject | None, generation: int = 1) -> JsonObject:
    return {
        "metadata": {"name": "crontabs.example.com", "uid": "crd-uid", "generation": generation},
        "spec": {
            "group": "example.com",
            "names": {"plural": "crontabs", "kind": "CronTab"},
            "versions": [{"name": "v1beta1"}, {"name": "v1"}],
            **({"conversion": conversion} if conversion else {}),
        },
    }


def _build(conversion: JsonObject | None, **more: Any) -> MonitoredConverter:
    return build_converter(_crd(conversion, more.pop("generation", 1)), resolver=Resolver(), clock=StillClock(), **more)


@pytest.mark.parametrize("conversion", [None, {"strategy": "None"}])
async def test_none_is_the_default(conversion: JsonObject | None) -> None:
    gate = _build(conversion)
    converter: Converter = gate
    assert await converter.convert([crontab()], V1) == [crontab(version="v1")]
    assert not gate.is_remote


async def test_a_webhook_is_called(hook: Hook) -> None:
    gate = _build({"strategy": "Webhook", "webhook": hook.stanza()})
    assert await gate.convert([crontab()], V1) == [crontab(version="v1")]
    assert len(hook.calls) == 1
    await gate.close()


async def test_a_library_comes_before_the_strategy(hook: Hook) -> None:
    webhook = {"strategy": "Webhook", "webhook": hook.stanza()}
    gate = _build(webhook, libraries=[Library("here", converters.picky)])
    assert await gate.convert([crontab()], V1) == [crontab(version="v1")]
    assert not hook.calls
    await gate.close()
    other = _build(webhook, libraries=[Library("here", {("Other.example.com", "v1", "v2"): len})])
    await other.convert([crontab()], V1)
    assert len(hook.calls) == 1
    await other.close()


async def test_with_the_gate_off_nothing_that_needs_a_webhook_succeeds(hook: Hook) -> None:
    webhook = {"strategy": "Webhook", "webhook": hook.stanza()}
    gate = _build(webhook, feature_gates={"CustomResourceWebhookConversion": False})
    assert await gate.convert([], V1) == []
    assert await gate.convert([crontab(version="v1")], V1) == [crontab(version="v1")]
    with pytest.raises(APIError) as caught:
        await gate.convert([crontab("a", "v1"), crontab("b")], V1)
    assert caught.value.code == 500
    assert caught.value.message.startswith("webhook conversion is disabled on this cluster; ")
    assert "default/b" in caught.value.message
    assert not hook.calls
    await gate.close()


def test_the_identity_changes_with_whatever_may_change_results() -> None:
    webhook = {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://a"}}}
    gates = [
        _build(None),
        _build(None, generation=2),
        _build(webhook),
        _build(None, libraries=[Library("here", converters.moves)]),
    ]
    assert len({gate.identity for gate in gates}) == 4
    assert _build(None).identity == gates[0].identity
