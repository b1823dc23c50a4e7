"""The strategy of Leases: rules for creates and updates."""

from __future__ import annotations

from polykind.apis.coordination.validation import validate_lease_spec
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy

_ELECTION_FIELDS = ("strategy", "preferredHolder")


class LeaseStrategy(BuiltinStrategy):
    """Prepares Leases for storage and validates them."""

    creates_on_update = True
    checks_finalizer_names = False

    def prepare_create(self, obj: JsonObject) -> None:
        self._drop_election_fields(obj, {})

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_lease_spec(obj["spec"])

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        self._drop_election_fields(new, old["spec"])

    def _drop_election_fields(self, lease: JsonObject, old_spec: JsonObject) -> None:
        """Remove the fields of the disabled feature CoordinatedLeaderElection, unless the stored Lease has them."""
        for field in _ELECTION_FIELDS:
            if old_spec.get(field) is None:
                lease["spec"].pop(field, None)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validate_lease_spec(new["spec"])
