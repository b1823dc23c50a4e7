"""Deprecated: use `polykind.convert.files`."""

from polykind.convert._deprecated import deprecated_names

__getattr__ = deprecated_names(
    __name__,
    {
        "Converted": "polykind.convert.files:ConvertedDocument",
        "Offline": "polykind.convert.files:OfflineConverter",
    },
)
