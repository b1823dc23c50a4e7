"""Rounding of quantities in resource lists, such as the requests of a container and the capacity of a volume."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.quantity import Quantity, parse_quantity


def round_resources(requirements: JsonObject | None) -> None:
    """Round the quantities in the limits and requests of a container or claim, in place."""
    for field in ("limits", "requests"):
        round_quantities((requirements or {}).get(field))


def round_quantities(resources: JsonObject | None) -> None:
    """Round the quantities of a resource list up to thousandths, in place."""
    if not resources:
        return
    for name, text in resources.items():
        # Only quantities with more than three decimal places end with n or u, or have a negative exponent.
        if text.endswith(("n", "u")) or "e-" in text:
            quantity = parse_quantity(text)
            resources[name] = Quantity.of_milli(quantity.milli_value(), quantity.format).canonical()
