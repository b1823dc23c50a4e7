"""CustomResourceDefinitions and their versions, as the conversion toolkit uses them."""

from polykind.toolkit.crd_versions import CRD, CRDVersion, RejectedError, read_crd

__all__ = ["CRD", "CRDVersion", "RejectedError", "read_crd"]
