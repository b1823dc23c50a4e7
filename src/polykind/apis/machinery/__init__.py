"""Built-in types, which Go decodes into structs: what of an input they keep, and how they are written again."""

from __future__ import annotations

from polykind.apis.machinery.decoding import DecodeError, Decoding
from polykind.apis.machinery.fields import Field, Kind, Struct
from polykind.contract import JsonObject
from polykind.errors import BadRequestError

__all__ = ["Field", "Kind", "Struct", "Undecodable", "decode"]


class Undecodable(BadRequestError):
    """The input does not fit the type; `why` is the decoder's own text."""

    def __init__(self, kind: str, version: str, why: str) -> None:
        super().__init__(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')
        self.detail = why


def decode(value: object, type_: Struct, *, report: bool) -> tuple[JsonObject, list[str]]:
    """The object as Go would encode it after decoding, and (if asked to report) the paths of unknown fields."""
    run = Decoding(report)
    try:
        decoded: JsonObject = type_.decode(value, None, run)
    except DecodeError as refusal:
        raise Undecodable(type_.kind, type_.version, str(refusal)) from None
    except RecursionError:
        raise Undecodable(type_.kind, type_.version, "exceeded max depth") from None
    if run.refusal is not None:
        raise Undecodable(type_.kind, type_.version, str(run.refusal))
    return decoded, list(dict.fromkeys(run.unknown))
