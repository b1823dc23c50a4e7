"""Validation of resource names and of quantities, such as the 500m in `cpu: 500m`."""

from __future__ import annotations

from polykind import errors, names
from polykind.apis.core import resource_names
from polykind.errors import FieldError
from polykind.quantity import parse_quantity


def validate_resource_name(name: str, at: str) -> list[FieldError]:
    """Validate that a name is that of one of Kubernetes' own resources, such as cpu, or has a domain."""
    found = [errors.invalid(at, name, text) for text in names.qualified_name(name)]
    if not found and "/" not in name and not resource_names.is_standard(name):
        found.append(errors.invalid(at, name, "must be a standard resource type or fully qualified"))
    return found


def validate_container_resource_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of a resource that a container requests."""
    found = validate_resource_name(name, at)
    if "/" not in name:
        if not resource_names.is_standard_for_container(name):
            found.append(errors.invalid(at, name, "must be a standard resource for containers"))
    elif not resource_names.is_native(name) and not resource_names.is_extended(name):
        found.append(errors.invalid(at, name, "doesn't follow extended resource name standard"))
    return found


def validate_quota_resource_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of a resource that a quota limits."""
    found = validate_resource_name(name, at)
    if "/" not in name and not resource_names.is_standard_for_quota(name):
        found.append(errors.invalid(at, name, "must be a standard resource for quota"))
    return found


def validate_quantity(name: str, text: str, at: str) -> list[FieldError]:
    """Validate that a quantity is not negative and, for a resource such as pods, an integer."""
    quantity = parse_quantity(text)
    found = [errors.invalid(at, text, "must be greater than or equal to 0")] if quantity.sign < 0 else []
    if resource_names.is_integer(name) and quantity.milli_value() % 1000:
        found.append(errors.invalid(at, text, "must be an integer"))
    return found


def validate_positive_quantity(text: str, at: str) -> list[FieldError]:
    """Validate that a quantity is greater than zero."""
    return [] if parse_quantity(text).sign > 0 else [errors.invalid(at, text, "must be greater than zero")]


def validate_basic_quantity(text: str, at: str) -> list[FieldError]:
    """Validate that a quantity, rounded to an integer, is not negative."""
    value = parse_quantity(text).value()
    return [errors.invalid(at, value, "must be a valid resource quantity")] if value < 0 else []
