"""Rules of one resource for creates, updates and status updates, as in kube-apiserver's registry strategies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from polykind.contract import JsonObject
from polykind.errors import FieldError


class Validation(NamedTuple):
    """The result of validating an object."""

    errors: list[FieldError]
    ratcheted: Sequence[str] = ()
    """Warnings about broken CEL rules that are tolerated because the update does not touch their fields."""


class Strategy(ABC):
    """Prepares and validates the objects of one resource at one version. It keeps no state between requests."""

    unconditional_update = False
    """True if an update may omit the resourceVersion."""
    grants = False
    """True if objects grant permissions, so that the writer must hold them (RBAC escalation check)."""
    reads_params = False
    """True if objects refer to params, so that the writer must be allowed to read those."""

    @abstractmethod
    def prepare_create(self, obj: JsonObject) -> None:
        """Reset, in place, the fields that a create cannot set."""

    @abstractmethod
    def validate_create(self, obj: JsonObject, *, values_validated: bool = False) -> Validation:
        """Validate a new object. `values_validated`: decoding has already validated its values."""

    @abstractmethod
    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        """Reset, in place, the fields that an update cannot set."""

    @abstractmethod
    def validate_update(self, new: JsonObject, old: JsonObject) -> Validation: ...

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        """Return `new` without the changes that the status endpoint does not accept."""
        raise NotImplementedError

    def validate_status(self, new: JsonObject, old: JsonObject) -> Validation:
        raise NotImplementedError

    def prepare_finalize(self, new: JsonObject, old: JsonObject) -> None:
        """Reset, in place, the fields that the finalize endpoint cannot set."""
        raise NotImplementedError

    def validate_finalize(self, new: JsonObject, old: JsonObject) -> Validation:
        raise NotImplementedError

    def canonicalize(self, obj: JsonObject) -> None:
        """Bring a validated object, in place, into the shape in which it is stored."""
        return

    def for_admission(self, obj: JsonObject) -> JsonObject:
        """Return an object that is not yet validated as mutating webhooks and policies see it."""
        return obj

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        """Return the warnings that a successful create (`old` is None) or update sends to the client."""
        return []
