"""Defaults of resource lists, such as the requests of a container and the capacity of a volume."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.quantity import Quantity, parse_quantity


def round_resources(requirements: JsonObject | None) -> None:
    """Round the limits and requests, in place."""
    for field in ("limits", "requests"):
        round_quantities((requirements or {}).get(field))


def round_quantities(resources: JsonObject | None) -> None:
    """Round the quantities of a resource list up to thousandths, in place."""
    if not resources:
        return
    for name, text in resources.items():
        # The canonical text of a finer quantity has one of these suffixes.
        if text.endswith(("n", "u")) or "e-" in text:
            quantity = parse_quantity(text)
            resources[name] = Quantity.of_milli(quantity.milli_value(), quantity.format).canonical()
