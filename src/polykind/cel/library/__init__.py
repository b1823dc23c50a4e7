"""The function libraries: an implementation for every overload."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polykind.cel.evaluation_errors import NO_OVERLOAD, EvalError
from polykind.cel.function_declarations import OVERLOADS_BY_ID
from polykind.cel.library import (
    authz,
    ip_addresses,
    lists,
    named_formats,
    quantity,
    regex,
    semver,
    standard,
    strings,
    urls,
)


def _not_implemented(*args: Any) -> Any:
    raise EvalError(NO_OVERLOAD)


IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(OVERLOADS_BY_ID, _not_implemented),
    **standard.FUNCTIONS,
    **strings.FUNCTIONS,
    **lists.FUNCTIONS,
    **regex.FUNCTIONS,
    **ip_addresses.FUNCTIONS,
    **quantity.FUNCTIONS,
    **semver.FUNCTIONS,
    **urls.FUNCTIONS,
    **named_formats.FUNCTIONS,
    **authz.FUNCTIONS,
}
"""By overload id. The planner itself implements lazily evaluated functions, which are placeholders here."""
