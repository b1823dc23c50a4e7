"""CustomResourceDefinition objects: pure rules over their v1 shape, whichever version a request speaks."""

from polykind.crd.codec import decode, encode
from polykind.crd.strategy import prepare_create, prepare_status_update, prepare_update
from polykind.crd.validation import validate_create, validate_status_update, validate_update
from polykind.crd.warnings import warnings

__all__ = [
    "decode",
    "encode",
    "prepare_create",
    "prepare_status_update",
    "prepare_update",
    "validate_create",
    "validate_status_update",
    "validate_update",
    "warnings",
]
