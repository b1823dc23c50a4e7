"""The strategy of a version at which objects are served but not stored."""

from __future__ import annotations

from collections.abc import Callable

from polykind.apis.machinery.version_conversion import StoredKind
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy

_COPIED = (
    "checks_finalizer_names",
    "creates_on_update",
    "default_policy_warning",
    "default_propagation_policy",
    "error_group",
    "grants",
    "name_rule",
    "reads_params",
    "representer_class",
    "reset_fields",
    "returns_deleted_object",
    "unconditional_update",
)


class ConvertedStrategy(BuiltinStrategy):
    """Applies the rules of a kind, which expect the stored version, to objects of another version.

    Only `default` gets objects of the other version.
    """

    restores_unwritable = True

    def __init__(self, rules: BuiltinStrategy, stored_kind: StoredKind) -> None:
        super().__init__(rules.kind)
        self._rules = rules
        self._stored_kind = stored_kind
        self.default = rules.default  # type: ignore[method-assign]
        for name in _COPIED:
            setattr(self, name, getattr(rules, name))

    def _stored(self, obj: JsonObject) -> JsonObject:
        return self._stored_kind.to_stored(obj, self.kind)

    def _change(self, obj: JsonObject, change: Callable[[JsonObject], object]) -> None:
        """Convert an object to the stored version, change it there, and replace the object by the result."""
        stored = self._stored(obj)
        change(stored)
        changed = self._stored_kind.from_stored(stored, self.kind)
        obj.clear()
        obj.update(changed)

    def prepare_create(self, obj: JsonObject) -> None:
        self._change(obj, self._rules.prepare_create)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self._rules.create_errors(self._stored(obj))

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        self._change(new, lambda stored: self._rules.prepare_update(stored, self._stored(old)))

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._rules.update_errors(self._stored(new), self._stored(old))

    def prepare_subresource(self, subresource: str, new: JsonObject, old: JsonObject) -> JsonObject:
        prepared = self._rules.prepare_subresource(subresource, self._stored(new), self._stored(old))
        return self._stored_kind.from_stored(prepared, self.kind)

    def subresource_errors(self, subresource: str, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._rules.subresource_errors(subresource, self._stored(new), self._stored(old))

    def canonicalize(self, obj: JsonObject) -> None:
        self._change(obj, self._rules.canonicalize)

    def restore_unwritable(self, new: JsonObject, old: JsonObject, subresource: str) -> JsonObject:
        if subresource:
            return self._rules.prepare_subresource(subresource, new, old)
        self._rules.prepare_update(new, old)
        return new

    def grace_period(self, obj: JsonObject, requested: int | None) -> int | None:
        return self._rules.grace_period(self._stored(obj), requested)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return self._rules.warnings(self._stored(new), None if old is None else self._stored(old))

    def subresource_warnings(self, subresource: str, new: JsonObject, old: JsonObject) -> list[str]:
        return self._rules.subresource_warnings(subresource, self._stored(new), self._stored(old))
