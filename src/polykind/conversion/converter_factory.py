"""The converter for a CRD, chosen by its conversion strategy or by an in-process library."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from polykind.codec import json_codec
from polykind.contract import Clock, JsonObject
from polykind.conversion.conversion_errors import CALL, AttemptError, ConversionFailedError
from polykind.conversion.conversion_observer import Observer
from polykind.conversion.converter_health import Health
from polykind.conversion.monitored_converter import CALL_SECONDS, MonitoredConverter, RemoteConverter
from polykind.webhook.target import Resolver

if TYPE_CHECKING:
    from polykind.declare.library import Library
    from polykind.webhook.credentials import WebhookCredentials
    from polykind.webhook.presence import WebhookPresence

WEBHOOK_GATE = "CustomResourceWebhookConversion"
_DISABLED = "webhook conversion is disabled on this cluster"


def build_converter(
    crd: JsonObject,
    *,
    resolver: Resolver,
    clock: Clock,
    libraries: Sequence[Library] = (),
    feature_gates: Mapping[str, bool] | None = None,
    credentials: WebhookCredentials | None = None,
    observer: Observer | None = None,
    on_health: Callable[[Health], None] | None = None,
    seconds: float = CALL_SECONDS,
) -> MonitoredConverter:
    """Return a converter for a v1 CRD. When the CRD changes, the caller builds a new converter and closes this one.

    If one of the in-process `libraries` handles the kind, it is used instead of the CRD's conversion strategy.
    `seconds` is the timeout of one call to a webhook, and `credentials` are what this server signs in with.
    """
    spec, metadata = crd["spec"], crd["metadata"]
    group, kind, name = spec["group"], spec["names"]["kind"], metadata["name"]
    conversion = spec.get("conversion") or {}
    library = next((one for one in libraries if one.handles(group, kind)), None)
    remote: RemoteConverter | None = None
    if library:
        from polykind.conversion.in_process_converter import InProcessConverter

        remote = InProcessConverter(library.spec, library.function(group, kind), seconds=seconds)
    elif conversion.get("strategy") == "Webhook" and not (feature_gates or {}).get(WEBHOOK_GATE, True):
        remote = _DisabledConverter()
    elif conversion.get("strategy") == "Webhook":
        # Most servers convert nothing through a webhook, so import its client at first use.
        from polykind.conversion.webhook_converter import WebhookConverter

        config = conversion.get("webhook") or {}
        remote = WebhookConverter(name, config, resolver, credentials=credentials, seconds=seconds, observer=observer)
    configuration = library.spec if library else conversion
    parts = [metadata.get("uid"), metadata.get("generation"), configuration]
    return MonitoredConverter(
        name,
        [f"{group}/{version['name']}" for version in spec["versions"]],
        hashlib.sha256(json_codec.encode(parts)).hexdigest()[:16],
        remote,
        clock=clock,
        observer=observer,
        on_health=on_health,
        disabled_reason=f"{_DISABLED} ({remote.address})" if isinstance(remote, _DisabledConverter) else "",
    )


class _DisabledConverter:
    """Replaces the webhook converter if the feature gate for webhook conversion is off. Every conversion fails."""

    name = address = f"--feature-gates={WEBHOOK_GATE}=false"
    certificate_expires: datetime | None = None
    presence: WebhookPresence | None = None
    service = ""
    repair = ""

    def reconnect(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def convert(self, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        for obj in objects:
            if obj.get("apiVersion") != to:
                error = AttemptError(_DISABLED, CALL, "Connection", explanation="the feature gate is off")
                raise ConversionFailedError(error, obj, to, self.address)
        return list(objects)
