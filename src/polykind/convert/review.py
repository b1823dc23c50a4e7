"""Deprecated: use `polykind.convert.hosting`."""

from polykind.convert._deprecated import deprecated_names

__getattr__ = deprecated_names(
    __name__,
    {
        "BadReview": "polykind.convert.hosting:InvalidReviewError",
        "answered": "polykind.convert.hosting:convert_review",
    },
)
