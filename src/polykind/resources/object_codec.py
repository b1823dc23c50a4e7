"""Decoding of request objects into the shape of one served version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from polykind.apply.typemodel import TypeModel
from polykind.contract import JsonObject


class Decoded(NamedTuple):
    """A decoded object and what decoding has found out about it."""

    obj: JsonObject
    unknown_fields: list[str]
    """Paths of fields that the schema does not know; empty unless the caller asks for them."""
    validated: bool = False
    """True if decoding has already validated all values against the schema."""


class ObjectCodec(ABC):
    """Decodes, defaults and encodes the objects of one resource at one version."""

    @property
    @abstractmethod
    def model(self) -> TypeModel:
        """The field types that server-side apply works with."""

    @abstractmethod
    def decode(self, value: JsonObject, *, report_unknown: bool) -> Decoded:
        """Coerce, prune and default the object of a request. Raise BadRequestError if it cannot be decoded."""

    def default(self, obj: JsonObject) -> JsonObject:
        """Set the defaults of an object that server-side apply or a mutating webhook has produced."""
        return self.decode(obj, report_unknown=False).obj

    def normalize(self, obj: JsonObject) -> None:
        """Prune and default, in place, a valid object that apply, scale or a mutating webhook has produced."""
        return

    def ordered(self, obj: JsonObject) -> JsonObject:
        """Return the object with its keys in the order in which kube-apiserver writes them."""
        return obj

    def check_kind(self, kind: str, api_version: str) -> None:
        """Raise DecodeError if a request body is of a kind that the type's scheme does not know."""
        return

    def own_decoder_paths(self, value: JsonObject) -> list[str]:
        """Return the paths of fields with a decoder of their own; such decoders accept duplicate keys."""
        return []

    def conversion_error(self, value: JsonObject) -> str:
        """Return why Go's unstructured converter rejects the value; "" if it does not."""
        return ""

    def to_message(self, obj: JsonObject) -> bytes:
        """Encode an object as a protobuf message without envelope."""
        raise NotImplementedError

    def from_message(self, data: bytes) -> JsonObject:
        """Decode a protobuf message without envelope. Raise ProtobufError if it is malformed."""
        raise NotImplementedError
