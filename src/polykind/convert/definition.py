"""Deprecated: use `polykind.convert.crd`."""

from polykind.convert._deprecated import deprecated_names

__getattr__ = deprecated_names(
    __name__,
    {
        "Definition": "polykind.convert.crd:CRD",
        "DefinedVersion": "polykind.convert.crd:CRDVersion",
        "Unfit": "polykind.convert.crd:RejectedError",
    },
)
