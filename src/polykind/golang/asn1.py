"""Errors that Go's encoding/asn1 reports for bytes that do not begin with a DER-encoded SEQUENCE."""

from __future__ import annotations

_SEQUENCE = 16
_PARAMETERS = (
    "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 "
    "timeType:0 set:false omitEmpty:false}"
)


def struct_error(data: bytes, struct: str) -> str:
    """Return Go's error for data that is not exactly one DER SEQUENCE, or "" if it is. `struct` is the Go type."""
    if not data:
        return "asn1: syntax error: sequence truncated"
    first, at = data[0], 1
    tag = first & 0x1F
    if tag == 0x1F:
        return "asn1: syntax error: truncated base 128 integer"
    if at >= len(data):
        return "asn1: syntax error: truncated tag or length"
    length, at = data[at], at + 1
    if length & 0x80:
        size = length & 0x7F
        if not size:
            return "asn1: syntax error: indefinite length found (not DER)"
        length = 0
        for _ in range(size):
            if at >= len(data):
                return "asn1: syntax error: truncated tag or length"
            if length >= 1 << 23:
                return "asn1: structure error: length too large"
            length, at = length << 8 | data[at], at + 1
            if not length:
                return "asn1: structure error: superfluous leading zeros in length"
        if length < 0x80:
            return "asn1: structure error: non-minimal length"
    is_compound = bool(first & 0x20)
    if (first >> 6, tag, is_compound) != (0, _SEQUENCE, True):
        header = f"{{class:{first >> 6} tag:{tag} length:{length} isCompound:{str(is_compound).lower()}}}"
        return f"asn1: structure error: tags don't match ({_SEQUENCE} vs {header}) {_PARAMETERS} {struct} @{at}"
    if at + length > len(data):
        return "asn1: syntax error: data truncated"
    return "asn1: syntax error: trailing data" if at + length < len(data) else ""
