"""The DenyServiceExternalIPs plugin."""

from __future__ import annotations

from polykind.admission.attributes import Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, forbidden
from polykind.contract import JsonObject


class DenyServiceExternalIPs(BuiltinPlugin):
    """Rejects a write that adds external IP addresses to a Service."""

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        new, old = (set(((s or {}).get("spec") or {}).get("externalIPs") or ()) for s in (obj, attributes.old))
        if not new <= old:
            raise forbidden(attributes, "Use of external IPs is denied by admission control")
