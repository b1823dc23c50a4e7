from __future__ import annotations

from typing import Any

import pytest

from polykind.contract import Converter, JsonObject
from polykind.conversion.converter_factory import build_converter
from polykind.conversion.monitored_converter import MonitoredConverter
from polykind.declare.library import Library
from polykind.errors import APIError
from polykind.webhook.target import Resolver
from tests.conversion import converters
from tests.conversion.hook import Hook, crontab
from tests.conversion.test_monitored_converter import FixedClock

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
    return build_converter(_crd(conversion, more.pop("generation", 1)), resolver=Resolver(), clock=FixedClock(), **more)


@pytest.mark.parametrize("conversion", [None, {"strategy": "None"}])
async def test_strategy_none_is_the_default(conversion: JsonObject | None) -> None:
    monitored = _build(conversion)
    converter: Converter = monitored
    assert await converter.convert([crontab()], V1) == [crontab(version="v1")]
    assert not monitored.is_remote


async def test_strategy_webhook_calls_the_webhook(hook: Hook) -> None:
    converter = _build({"strategy": "Webhook", "webhook": hook.webhook_config()})
    assert await converter.convert([crontab()], V1) == [crontab(version="v1")]
    assert len(hook.calls) == 1
    await converter.close()


async def test_library_has_precedence_over_the_strategy(hook: Hook) -> None:
    webhook = {"strategy": "Webhook", "webhook": hook.webhook_config()}
    converter = _build(webhook, libraries=[Library("here", converters.picky)])
    assert await converter.convert([crontab()], V1) == [crontab(version="v1")]
    assert not hook.calls
    await converter.close()
    other = _build(webhook, libraries=[Library("here", {("Other.example.com", "v1", "v2"): len})])
    await other.convert([crontab()], V1)
    assert len(hook.calls) == 1
    await other.close()


async def test_disabled_feature_gate_fails_webhook_conversions(hook: Hook) -> None:
    webhook = {"strategy": "Webhook", "webhook": hook.webhook_config()}
    converter = _build(webhook, feature_gates={"CustomResourceWebhookConversion": False})
    assert await converter.convert([], V1) == []
    assert await converter.convert([crontab(version="v1")], V1) == [crontab(version="v1")]
    with pytest.raises(APIError) as caught:
        await converter.convert([crontab("a", "v1"), crontab("b")], V1)
    assert caught.value.code == 500
    assert caught.value.message.startswith("webhook conversion is disabled on this cluster; ")
    assert "default/b" in caught.value.message
    assert not hook.calls
    await converter.close()


def test_identity_changes_with_the_crd_and_the_converter() -> None:
    webhook = {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://a"}}}
    built = [
        _build(None),
        _build(None, generation=2),
        _build(webhook),
        _build(None, libraries=[Library("here", converters.moves)]),
    ]
    assert len({converter.identity for converter in built}) == 4
    assert _build(None).identity == built[0].identity
