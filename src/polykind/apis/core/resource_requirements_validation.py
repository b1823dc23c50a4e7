"""Validation of the resources that containers and pods request and limit."""

from __future__ import annotations

from collections.abc import Callable, Collection

from polykind.apis.core.pod_resources import quantities
from polykind.apis.core.resource_names import (
    HUGE_PAGES,
    POD_RESOURCES,
    is_huge_pages,
    is_overcommit_allowed,
    is_pod_level,
)
from polykind.apis.core.resource_validation import (
    validate_container_resource_name,
    validate_quantity,
    validate_resource_name,
)
from polykind.contract import JsonObject
from polykind.errors import FieldError, duplicate, forbidden, invalid, not_found, not_supported, required
from polykind.names import dns1123_label
from polykind.quantity import Quantity, QuantityError, parse_quantity

NameErrors = Callable[[str, str], list[FieldError]]


def validate_resource_requirements(
    requirements: JsonObject,
    at: str,
    *,
    claim_names: Collection[str] = (),
    name_errors: NameErrors = validate_container_resource_name,
) -> list[FieldError]:
    """Validate requests and limits, and the references to resource claims of the pod."""
    found: list[FieldError] = []
    limits, requests = quantities(requirements.get("limits")), quantities(requirements.get("requests"))
    for name, limit in sorted(limits.items()):
        found += _validate_quantity(name, limit, f"{at}.limits[{name}]", name_errors)
        found += _huge_page_errors(name, limit, f"{at}.limits[{name}]")
    for name, request in sorted(requests.items()):
        found += _validate_quantity(name, request, f"{at}.requests[{name}]", name_errors)
        found += _validate_overcommit(name, request, limits.get(name), at)
        found += _huge_page_errors(name, request, f"{at}.requests[{name}]")
    used = {*limits, *requests}
    if any(map(is_huge_pages, used)) and used.isdisjoint(POD_RESOURCES):
        found.append(forbidden(at, "HugePages require cpu or memory"))
    return found + _validate_claims(requirements.get("claims") or [], claim_names, f"{at}.claims")


def validate_pod_resource_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of a resource that is requested for a whole pod."""
    found = validate_resource_name(name, at)
    if not found and not is_pod_level(name):
        found.append(not_supported(at, name, sorted((*POD_RESOURCES, HUGE_PAGES))))
    return found


def _validate_quantity(name: str, quantity: Quantity, at: str, name_errors: NameErrors) -> list[FieldError]:
    return name_errors(name, at) + validate_quantity(name, quantity.canonical(), at)


def _huge_page_errors(name: str, quantity: Quantity, at: str) -> list[FieldError]:
    if not is_huge_pages(name) or _is_multiple_of_page_size(name, quantity):
        return []
    text = quantity.canonical()
    return [invalid(at, text, f"{text} is not positive integer multiple of {name}")]


def _is_multiple_of_page_size(name: str, quantity: Quantity) -> bool:
    """True if a quantity is an integer multiple of the page size in the name of its resource."""
    try:
        size = parse_quantity(name.removeprefix(HUGE_PAGES))
    except QuantityError:
        return False
    return size.sign > 0 and size.milli_value() % 1000 == 0 and quantity.value() % size.value() == 0


def _validate_overcommit(name: str, request: Quantity, limit: Quantity | None, at: str) -> list[FieldError]:
    if limit is None:
        if is_overcommit_allowed(name):
            return []
        return [required(f"{at}.limits", "Limit must be set for non overcommitable resources")]
    relation = ""
    if request != limit and not is_overcommit_allowed(name):
        relation = "equal to"
    elif request > limit:
        relation = "less than or equal to"
    if not relation:
        return []
    return [invalid(f"{at}.requests", request.canonical(), f"must be {relation} {name} limit of {limit.canonical()}")]


def _validate_claims(claims: list[JsonObject], pod_claims: Collection[str], at: str) -> list[FieldError]:
    found: list[FieldError] = []
    used: set[str] = set()
    for index, claim in enumerate(claims):
        here, name = f"{at}[{index}]", claim.get("name") or ""
        if not name:
            found.append(required(here))
            continue
        found += _validate_claim_is_unique(name, claim.get("request") or "", used, here)
        if name not in pod_claims:
            listed = f": {', '.join(sorted(pod_claims))}" if pod_claims else " which is empty"
            found.append(not_found(here, name, f"must be one of the names in pod.spec.resourceClaims{listed}"))
    return found


def _validate_claim_is_unique(name: str, request: str, used: set[str], at: str) -> list[FieldError]:
    """Validate that a container uses a claim, or one request of the claim, only once.

    A container that uses the whole claim cannot also use one of its requests.
    """
    if name in used:
        return [duplicate(at, name)]
    found = [invalid(f"{at}.request", request, reason) for reason in dns1123_label(request)] if request else []
    key = f"{name}/{request}" if request else name
    if key in used:
        found.append(duplicate(at, key))
    elif not request:
        found += [duplicate(at, name) for other in used if other.startswith(f"{name}/")]
    used.add(key)
    return found
