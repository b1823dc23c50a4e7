"""The converter that a CRD asks for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from polykind.contract import Clock, JsonObject
from polykind.conversion.failure import CALL, ConversionFailed, Failure
from polykind.conversion.gate import ConversionGate, Remote
from polykind.conversion.health import Health
from polykind.conversion.observer import Observer
from polykind.conversion.resolver import Resolver
from polykind.conversion.trust import ClientCertificate
from polykind.conversion.webhook import SECONDS, WebhookConverter
from polykind.wire import codec

if TYPE_CHECKING:
    from polykind.convert.library import Library

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
) -> ConversionGate:
    """The way to convert objects of a v1 CRD as it stands now; build another when it changes, and close this one.

    A library that handles the kind comes before the strategy that the CRD names.
    """
    spec, metadata = crd["spec"], crd["metadata"]
    group, kind, name = spec["group"], spec["names"]["kind"], metadata["name"]
    conversion = spec.get("conversion") or {}
    library = next((one for one in libraries if one.handles(group, kind)), None)
    remote: Remote | None = None
    if library:
        from polykind.conversion.inprocess import InProcessConverter

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
    return ConversionGate(
        name,
        [f"{group}/{version['name']}" for version in spec["versions"]],
        hashlib.sha256(codec.encode(parts)).hexdigest()[:16],
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
                raise ConversionFailed(off, obj, to, self.address)
        return list(objects)


_SAID = "webhook conversion is disabled on this cluster"
_OFF = "the feature gate is off"
