"""What the functions do: an implementation for every overload."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polykind.cel.failures import NO_OVERLOAD, EvalError
from polykind.cel.library import authorization, core, formats, lists, net, quantity, regex, semver, strings, urls
from polykind.cel.overloads import BY_ID


def _absent(*args: Any) -> Any:
    raise EvalError(NO_OVERLOAD)


IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(BY_ID, _absent),
    **core.FUNCTIONS,
    **strings.FUNCTIONS,
    **lists.FUNCTIONS,
    **regex.FUNCTIONS,
    **net.FUNCTIONS,
    **quantity.FUNCTIONS,
    **semver.FUNCTIONS,
    **urls.FUNCTIONS,
    **formats.FUNCTIONS,
    **authorization.FUNCTIONS,
}
"""By the overload's id; what is evaluated lazily is not among them."""
