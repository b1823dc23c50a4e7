"""The strategy of PodDisruptionBudgets: rules for creates and updates."""

from __future__ import annotations

from polykind import names
from polykind.apis.policy import validation
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy
from polykind.schema.metadata_validation import validate_object_meta

_EMPTY_SELECTOR_LABEL = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
"""The label in a v1 selector that stands for an empty selector of policy/v1beta1, which matches no pods."""
_MATCH_NONE = {"matchExpressions": [{"key": _EMPTY_SELECTOR_LABEL, "operator": "Exists"}]}


class PodDisruptionBudgetStrategy(BuiltinStrategy):
    """Prepares and validates PodDisruptionBudgets. Their names can be any path segment, not only DNS names."""

    counts_generation = True

    def default(self, obj: JsonObject) -> None:
        _remove_reserved_label(obj["spec"])

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        found = validation.validate_disruption_budget_spec(obj["spec"], None)
        return found or validate_object_meta(obj["metadata"], namespaced=True, name_rule=names.path_segment)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return validation.validate_disruption_budget_spec(new["spec"], old["spec"])

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return validation.validate_disruption_budget_status(new["status"])


def _remove_reserved_label(spec: JsonObject) -> None:
    """Remove expressions with the label for empty selectors, unless such an expression is the whole selector."""
    selector = spec.get("selector") or {}
    expressions = selector.get("matchExpressions") or ()
    kept = [e for e in expressions if e.get("key") != _EMPTY_SELECTOR_LABEL]
    if len(kept) == len(expressions) or selector == _MATCH_NONE:
        return
    if kept:
        selector["matchExpressions"] = kept
    else:
        del selector["matchExpressions"]
