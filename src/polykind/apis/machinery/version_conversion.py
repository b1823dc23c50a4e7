"""Conversion of built-in objects between API versions, or groups, whose objects the server stores at one version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from polykind.apis import machinery
from polykind.apis.machinery.kinds import Kind
from polykind.contract import JsonObject

Convert = Callable[[JsonObject], JsonObject]
"""A function that converts an object. The result may share unchanged parts with the argument."""


class VersionConversion(NamedTuple):
    """Functions that convert the objects of a kind to and from the version at which they are stored."""

    to_stored: Convert
    from_stored: Convert


@cache
def _conversion(kind: Kind) -> VersionConversion:
    """Import and return the conversion that a kind declares.

    If it declares none, its objects differ from the stored objects only in apiVersion.
    """
    return VersionConversion(dict, dict) if kind.conversion is None else kind.conversion()


class StoredKind:
    """The declarations of one kind at all versions, whether the server serves the version or not.

    kube-apiserver validates all objects at an internal version. This server validates them at the stored version.
    """

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = {kind.group_version.api_version: kind for kind in kinds}
        self.stored = next(
            (kind for kind in kinds if (kind.group, kind.version) == (kind.stored_group, kind.stored_version)), kinds[0]
        )

    def to_stored(self, obj: JsonObject, kind: Kind) -> JsonObject:
        """Convert an object from the version of `kind` to the stored version."""
        if kind is self.stored:
            return obj
        return {**_conversion(kind).to_stored(obj), "apiVersion": self.stored.group_version.api_version}

    def from_stored(self, obj: JsonObject, kind: Kind) -> JsonObject:
        """Convert an object from the stored version to the version of `kind`."""
        if kind is self.stored:
            return obj
        return {**_conversion(kind).from_stored(obj), "apiVersion": kind.group_version.api_version}

    def convert(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        """Convert an object from its own apiVersion to another one.

        Return None if one of the two versions is unknown.
        """
        source, target = self.kinds.get(obj.get("apiVersion", "")), self.kinds.get(api_version)
        if source is None or target is None:
            return None
        if source is target:
            return obj
        converted = self.from_stored(self.to_stored(obj, source), target)
        return machinery.decode(converted, target, report=False)[0]
