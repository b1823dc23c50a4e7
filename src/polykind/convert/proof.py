"""Generated tests for conversions."""

from polykind.convert._deprecated import deprecated_names
from polykind.toolkit.proving.proofs import PROPERTIES, ProofRun, objects, proofs

__all__ = ["PROPERTIES", "ProofRun", "objects", "proofs"]

__getattr__ = deprecated_names(
    __name__,
    {"Trial": "polykind.convert.proof:ProofRun", "definition_in": "polykind.convert.crd:read_crd"},
)
