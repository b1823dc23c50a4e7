"""A quick check of key files in PEM, without the cryptography library, which takes long to import."""

from __future__ import annotations

import binascii
from pathlib import Path

_RSA = bytes.fromhex("06092a864886f70d010101")
_CURVES = tuple(map(bytes.fromhex, ("06082a8648ce3d030107", "06052b81040022", "06052b81040023")))
"""The object identifiers of the curves P-256, P-384 and P-521, encoded in DER."""
_RSA_LABELS = ("RSA PRIVATE KEY", "RSA PUBLIC KEY")
_PRIVATE_LABELS = ("RSA PRIVATE KEY", "EC PRIVATE KEY", "PRIVATE KEY")
_LABELS = (*_PRIVATE_LABELS, "RSA PUBLIC KEY", "PUBLIC KEY", "CERTIFICATE")


class TokenKeyError(ValueError):
    """A file contains no usable key. The message names the file."""


def is_key_file(path: Path, *, private: bool = False) -> bool:
    """True if every PEM block of a file has the structure of a supported key or certificate.

    If `private` is true, the file must consist of one private key. False means only that the file needs a closer look.
    """
    try:
        text = path.read_bytes().decode("ascii")
    except (OSError, ValueError):
        return False
    blocks = text.split("-----BEGIN ")[1:]
    labels = _PRIVATE_LABELS if private else _LABELS
    return bool(blocks) and (len(blocks) == 1 or not private) and all(_is_key(block, labels) for block in blocks)


def _is_key(block: str, labels: tuple[str, ...]) -> bool:
    """True if the text after `-----BEGIN ` is a PEM block with one of the labels and a complete DER sequence."""
    label, separator, rest = block.partition("-----")
    body, end, _ = rest.partition(f"-----END {label}-----")
    if label not in labels or not separator or not end:
        return False
    try:
        der = binascii.a2b_base64("".join(body.split()), strict_mode=True)
    except binascii.Error:
        return False
    known = label in _RSA_LABELS or _RSA in der or any(curve in der for curve in _CURVES)
    return known and _is_complete_sequence(der)


def _is_complete_sequence(der: bytes) -> bool:
    """True if the bytes are one ASN.1 sequence, neither truncated nor followed by other bytes."""
    if len(der) < 2 or der[0] != 0x30:
        return False
    if der[1] < 0x80:
        return len(der) == 2 + der[1]
    size = der[1] & 0x7F
    return len(der) == 2 + size + int.from_bytes(der[2 : 2 + size], "big")
