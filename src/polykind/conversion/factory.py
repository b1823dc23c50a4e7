"""The converter that a CRD asks for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from polykind.codec import json_codec
from polykind.contract import Clock, JsonObject
from polykind.conversion.failure import CALL, ConversionFailedError, Failure
from polykind.conversion.health import Health
from polykind.conversion.monitored_converter import MonitoredConverter, Remote
from polykind.conversion.observer import Observer
from polykind.conversion.webhook_converter import SECONDS, WebhookConverter
from polykind.webhook.resolver import Resolver
from polykind.webhook.trust import ClientCertificate

if TYPE_CHECKING:
    from polykind.toolkit.declare.library import Library

WEBHOOK_GATE = "CustomResourceWebhookConversion"


def build(
    crd: JsonObject,
    *,
    resolver: Resolver,
    clock: Clock,
    libraries: Sequence[Library] = (),
    feature_gates: Mapping[str, bool] | None = None,
    client_certificate: ClientCertificate | None = None,
    observer: Observer | None = None,
    on_health: Callable[[Health], None] | None = None,
    seconds: float = SECONDS,
) -> MonitoredConverter:
    """The way to convert objects of a v1 CRD as it stands now; build another when it changes, and close this one.

    A library that handles the kind comes before the strategy that the CRD names.
    """
    spec, metadata = crd["spec"], crd["metadata"]
    group, kind, name = spec["group"], spec["names"]["kind"], metadata["name"]
    conversion = spec.get("conversion") or {}
    library = next((one for one in libraries if one.handles(group, kind)), None)
    remote: Remote | None = None
    if library:
        from polykind.conversion.in_process import InProcessConverter

        remote = InProcessConverter(library.spec, library.function(group, kind), seconds=seconds)
    elif conversion.get("strategy") == "Webhook":
        if (feature_gates or {}).get(WEBHOOK_GATE, True):
            remote = WebhookConverter(
                name,
                conversion.get("webhook") or {},
                resolver,
                client_certificate=client_certificate,
                seconds=seconds,
                observer=observer,
            )
        else:
            remote = _Disabled()
    means = library.spec if library else conversion
    parts = [metadata.get("uid"), metadata.get("generation"), means]
    return MonitoredConverter(
        name,
        [f"{group}/{version['name']}" for version in spec["versions"]],
        hashlib.sha256(json_codec.encode(parts)).hexdigest()[:16],
        remote,
        clock=clock,
        observer=observer,
        on_health=on_health,
        off=f"{_SAID} ({remote.address})" if isinstance(remote, _Disabled) else "",
    )


class _Disabled:
    """Stands for every webhook where the feature gate is off: what would need one fails, and says why."""

    name = address = f"--feature-gates={WEBHOOK_GATE}=false"
    certificate_expires: datetime | None = None

    async def close(self) -> None:
        pass

    async def convert(self, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        for obj in objects:
            if obj.get("apiVersion") != to:
                off = Failure(_SAID, CALL, "Connection", explained=_OFF)
                raise ConversionFailedError(off, obj, to, self.address)
        return list(objects)


_SAID = "webhook conversion is disabled on this cluster"
_OFF = "the feature gate is off"
