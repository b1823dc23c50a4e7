"""ConversionReview, the request to and the response of a conversion webhook, at v1 and v1beta1."""

from __future__ import annotations

from polykind.apis.machinery.type_tables import type_table

CONVERSION_REVIEWS = {
    version: type_table("apiextensions", version).struct("ConversionReview") for version in ("v1", "v1beta1")
}
"""The types of ConversionReview, by version."""
