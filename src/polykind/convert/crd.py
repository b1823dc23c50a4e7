"""CustomResourceDefinitions and their versions, as conversions see them."""

from polykind.toolkit.crd_versions import CRD, CRDVersion, RejectedError, read_crd

__all__ = ["CRD", "CRDVersion", "RejectedError", "read_crd"]
