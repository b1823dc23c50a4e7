"""Permissions to change parts of a ResourceClaim's status, besides the permission to write the status itself.

A scheduler needs the subresource `binding` to allocate and reserve claims. A driver needs the subresource `driver` to
report its own devices. Neither subresource is served: they exist for authorization only, as in kube-apiserver.
"""

from __future__ import annotations

from msgspec.structs import replace

from polykind import errors
from polykind.apis.resource.claim_validation import device_id
from polykind.auth.authorizer import Access, Authorizer
from polykind.auth.forbidden import explained, forbidden
from polykind.auth.impersonation import bound_node
from polykind.contract import JsonObject
from polykind.errors import FieldError

_ASSOCIATED, _ARBITRARY = "associated-node:", "arbitrary-node:"


async def status_permission_errors(
    authorizer: Authorizer, access: Access, new: JsonObject, old: JsonObject
) -> list[FieldError]:
    """Return an error for each part of the status that the writer changes without permission.

    `access` is the permitted access to the subresource `status`. `new` and `old` are the statuses.
    """
    found = []
    if new.get("allocation") != old.get("allocation") or _consumers(new) != _consumers(old):
        binding = replace(access, subresource="binding", namespace="", name="")
        if refusal := await _refusal(authorizer, binding):
            reason = "changing status.allocation or status.reservedFor requires"
            reason = f'{reason} resource="resourceclaims/binding", verb="{access.verb}" permission: {refusal}'
            found.append(errors.forbidden("status.allocation", reason))
    if new.get("allocation") is None:
        # The devices of a claim that is not allocated are removed.
        return found
    verbs = [_ARBITRARY + access.verb]
    node = _allocated_node(new["allocation"])
    if node and node == bound_node(access.user):
        verbs.insert(0, _ASSOCIATED + access.verb)
    for driver in sorted(_changed_drivers(new, old)):
        if refusal := await _driver_refusal(authorizer, replace(access, subresource="driver", name=driver), verbs):
            reason = 'changing status.devices requires resource="resourceclaims/driver",'
            reason = f'{reason} verb="[{" ".join(verbs)}]" permission: {refusal}'
            found.append(errors.forbidden("status.devices", reason))
    return found


async def _driver_refusal(authorizer: Authorizer, access: Access, verbs: list[str]) -> str:
    """Return "" if one of the verbs is allowed, else the reason why the first one is not."""
    refusals = []
    for verb in verbs:
        refusal = await _refusal(authorizer, replace(access, verb=verb))
        if not refusal:
            return ""
        refusals.append(refusal)
    return refusals[0]


async def _refusal(authorizer: Authorizer, access: Access) -> str:
    """Return the error text for an access that is not allowed, else ""."""
    decision = await authorizer.decide(access)
    if decision.allowed:
        return ""
    return forbidden(access, explained(decision)).message


def _consumers(status: JsonObject) -> list[JsonObject]:
    return status.get("reservedFor") or []


def _changed_drivers(new: JsonObject, old: JsonObject) -> set[str]:
    """Return the drivers of all devices that the two statuses report differently."""
    reported, before = _devices(new), _devices(old)
    return {key[0] for key in reported.keys() | before.keys() if reported.get(key) != before.get(key)}


def _devices(status: JsonObject) -> dict[tuple[str, ...], JsonObject]:
    """Return the reported devices by their identity, without empty fields."""
    return {
        device_id(device): {name: value for name, value in device.items() if value not in (None, [])}
        for device in status.get("devices") or ()
    }


def _allocated_node(allocation: JsonObject) -> str:
    """Return the only node on which an allocation is usable, or "" if there may be others."""
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1 or terms[0].get("matchExpressions") or len(fields := terms[0].get("matchFields") or []) != 1:
        return ""
    values = fields[0].get("values") or []
    is_name = (fields[0].get("key"), fields[0].get("operator"), len(values)) == ("metadata.name", "In", 1)
    return values[0] if is_name else ""
