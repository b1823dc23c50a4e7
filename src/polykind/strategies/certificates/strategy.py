"""The strategy of CertificateSigningRequests: rules for creates and updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from polykind import errors, names
from polykind.apis.certificates.validation import APPROVAL_CONDITIONS, validate_request, validate_request_update
from polykind.apply.fieldset import LEAF
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy
from polykind.resources.resource import Finish

if TYPE_CHECKING:
    from polykind.operations.operation import Operation

_REQUESTER_FIELDS = ("username", "uid", "groups", "extra")


class SigningRequestResource(BuiltinResource):
    """The resource `certificatesigningrequests`."""

    has_effects = True

    async def begin_create(self, op: Operation, obj: JsonObject, *, dry_run: bool) -> Finish | None:
        """Record the user that sends the create request in the spec."""
        for field in _REQUESTER_FIELDS:
            obj["spec"].pop(field, None)
        obj["spec"].update(op.client.info())
        return None

    async def begin_update(self, op: Operation, new: JsonObject, old: JsonObject, *, dry_run: bool) -> Finish | None:
        """Set missing times in the conditions of the status, in place, if the client writes to a subresource."""
        if op.subresource:
            _set_condition_times(new, old, op.now())
        return None


def _set_condition_times(new: JsonObject, old: JsonObject, now: str) -> None:
    before = _conditions(old)
    for condition in _conditions(new):
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if not condition.get("lastTransitionTime"):
            same = (c for c in before if all(c.get(name) == condition.get(name) for name in ("type", "status")))
            times = (c["lastTransitionTime"] for c in same if c.get("lastTransitionTime"))
            condition["lastTransitionTime"] = next(times, now)


def _conditions(csr: JsonObject) -> list[JsonObject]:
    return (csr.get("status") or {}).get("conditions") or []


class SigningRequestStrategy(BuiltinStrategy):
    """Prepares and validates CertificateSigningRequests.

    The spec is immutable. Approvers add conditions through the subresource `approval`, and signers add the
    certificate through the subresource `status`.
    """

    resource_class = SigningRequestResource
    unconditional_update = True
    reset_fields: ClassVar = {
        "": {"f:spec": LEAF, "f:status": LEAF},
        "status": {"f:spec": LEAF, "f:status": {"f:conditions": LEAF}},
        "approval": {"f:spec": LEAF, "f:status": {"f:certificate": LEAF}},
    }

    @staticmethod
    def name_rule(name: str, prefix: bool = False) -> list[str]:
        """Return no errors. `create_errors` checks the name, and only if the rest of the request is valid."""
        return []

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        found = self.meta_errors(obj, None) + validate_request(obj)
        name = obj["metadata"].get("name", "")
        return found or errors.all_invalid("metadata.name", name, names.path_segment(name))

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        new["spec"], new["status"] = old["spec"], old["status"]

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.subresource_errors("", new, old)

    def prepare_subresource(self, subresource: str, new: JsonObject, old: JsonObject) -> JsonObject:
        status = dict(new["status"])
        if subresource == "approval":
            status = {**old["status"], "conditions": status.get("conditions") or []}
        else:
            status["conditions"] = _with_old_approvals(_conditions(new), _conditions(old))
        if not status["conditions"]:
            del status["conditions"]
        return {**new, "spec": old["spec"], "status": status}

    def subresource_errors(self, subresource: str, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, None) + validate_request_update(
            new, old, may_approve=subresource == "approval", may_sign=subresource == "status"
        )
        return found + self.meta_errors(new, old)


def _with_old_approvals(new: list[JsonObject], old: list[JsonObject]) -> list[JsonObject]:
    """Return the new conditions with the old values of the conditions Approved and Denied.

    If the number of conditions of one of these types has changed, keep the new ones, so that validation rejects them.
    """
    conditions = list(new)
    for condition_type in APPROVAL_CONDITIONS:
        places = [index for index, condition in enumerate(new) if condition.get("type") == condition_type]
        kept = [condition for condition in old if condition.get("type") == condition_type]
        if len(places) == len(kept):
            for index, condition in zip(places, kept, strict=True):
                conditions[index] = condition
    return conditions
