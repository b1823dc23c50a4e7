"""Declarations of built-in types, and a decoder that follows the rules of Go's encoding/json."""

from __future__ import annotations

from polykind.apis.machinery.decoding import DecodeError, Decoding
from polykind.apis.machinery.decoding_program import AtypicalError, typical_decoder
from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import ValueType
from polykind.contract import JsonObject
from polykind.errors import BadRequestError

__all__ = ["Field", "Struct", "UndecodableObjectError", "ValueType", "decode"]


class UndecodableObjectError(BadRequestError):
    """An object does not match its type. `detail` is the decoder's reason, without the sentence in front of it."""

    def __init__(self, kind: str, version: str, reason: str) -> None:
        super().__init__(f'{kind} in version "{version}" cannot be handled as a {kind}: {reason}')
        self.detail = reason


def decode(value: object, struct: Struct, *, report: bool) -> tuple[JsonObject, list[str]]:
    """Return the object as Go would encode it after decoding, and the paths of unknown fields if `report` is true.

    Raise UndecodableObjectError if the object does not match `struct`.
    """
    try:
        return typical_decoder(struct).decode(value), []
    except AtypicalError:
        return _decode(value, struct, report)


def _decode(value: object, struct: Struct, report: bool) -> tuple[JsonObject, list[str]]:
    run = Decoding(report)
    try:
        decoded: JsonObject = struct.decode(value, None, run)
    except DecodeError as error:
        raise UndecodableObjectError(struct.kind, struct.version, str(error)) from None
    except RecursionError:
        raise UndecodableObjectError(struct.kind, struct.version, "exceeded max depth") from None
    if run.error is not None:
        raise UndecodableObjectError(struct.kind, struct.version, str(run.error))
    return decoded, list(dict.fromkeys(run.unknown))
