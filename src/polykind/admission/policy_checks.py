"""What is counted of the checks of policies, under the reference's names."""

from __future__ import annotations

from polykind.admission.expression import OUT_OF_BUDGET
from polykind.metrics.metrics import Metrics

NO_ERROR = "no_error"
_SECONDS = (0.0000005, 0.001, 0.01, 0.1, 1.0)


class Checks:
    """The checks of all policies of a kind; `more` are labels that not every kind has."""

    def __init__(self, metrics: Metrics, kind: str, *more: str) -> None:
        labels = ("policy", "policy_binding", "error_type", *more)
        name = f"apiserver_{kind}_admission_policy_check"
        self._total = metrics.counter(
            f"{name}_total", f"Checks of {kind} policies, by policy, binding and what went wrong.", labels
        )
        self._seconds = metrics.histogram(
            f"{name}_duration_seconds", f"Seconds that an expression of a {kind} policy took.", labels, _SECONDS
        )

    def count(self, policy: str, binding: str, error: str, seconds: float, *more: str) -> None:
        self._total.of(policy, binding, error, *more).add()
        self._seconds.of(policy, binding, error, *more).observe(seconds)


def error_type(message: str) -> str:
    """What a check is counted as that ended with a message: the reference tells by how it begins."""
    if message.startswith("compilation"):
        return "compile_error"
    return "out_of_budget" if message.startswith(OUT_OF_BUDGET.partition(",")[0]) else "invalid_error"
