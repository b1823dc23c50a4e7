"""CustomResourceDefinitions: validation and status. Functions take CRDs as apiextensions/v1."""

from polykind.crd.approval import approval_condition
from polykind.crd.naming import accept_names, establish
from polykind.crd.status import nonstructural_condition, reconcile, terminating_condition
from polykind.crd.strategy import prepare_create, prepare_status_update, prepare_update, warnings
from polykind.crd.validation import validate_create, validate_status_update, validate_update

__all__ = [
    "accept_names",
    "approval_condition",
    "establish",
    "nonstructural_condition",
    "prepare_create",
    "prepare_status_update",
    "prepare_update",
    "reconcile",
    "terminating_condition",
    "validate_create",
    "validate_status_update",
    "validate_update",
    "warnings",
]
