"""Names and quantities of resources."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polykind.apis.core import resource_validation as validation
from polykind.apis.core.resource_defaults import round_quantities
from polykind.errors import FieldError

Check = Callable[[str, str], list[FieldError]]


@pytest.mark.parametrize(
    ("check", "valid", "invalid"),
    [
        (
            validation.validate_resource_name,
            ["cpu", "storage", "a.b/c", "requests.hugepages-2Mi"],
            ["odd", "a b", "/x"],
        ),
        (validation.validate_container_resource_name, ["cpu", "hugepages-2Mi", "a.b/c"], ["pods", "requests.cpu/x"]),
        (validation.validate_quota_resource_name, ["pods", "count/x", "limits.cpu"], ["storage", "odd"]),
    ],
)
def test_names(check: Check, valid: list[str], invalid: list[str]) -> None:
    assert [name for name in valid if check(name, "at")] == []
    assert [name for name in invalid if not check(name, "at")] == []


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("cpu", "500m", []),
        ("cpu", "-1", ["must be greater than or equal to 0"]),
        ("a.b/c", "1500m", ["must be an integer"]),
        ("pods", "-500m", ["must be greater than or equal to 0", "must be an integer"]),
    ],
)
def test_quantities(name: str, text: str, expected: list[str]) -> None:
    assert [error.detail for error in validation.validate_quantity(name, text, "at")] == expected


def test_quantities_are_rounded_up_to_thousandths() -> None:
    resources = {"a": "1u", "b": "1500u", "c": "1.5", "d": "2Gi", "e": "0"}
    round_quantities(resources)
    assert resources == {"a": "1m", "b": "2m", "c": "1.5", "d": "2Gi", "e": "0"}
