"""The match conditions of an authorization webhook: CEL expressions over a SubjectAccessReview's spec."""

from __future__ import annotations

from collections.abc import Sequence

from polykind.cel import CompilationError, Program, compile_expression
from polykind.cel.cel_types import BOOL, STRING, Type, list_of, map_of, struct_type
from polykind.contract import JsonObject
from polykind.errors import FieldError, internal, invalid

_REQUEST = struct_type("kubernetes.SubjectAccessReviewSpec")
_RESOURCE, _PATH = struct_type("kubernetes.ResourceAttributes"), struct_type("kubernetes.NonResourceAttributes")
_SELECTORS = {name: struct_type(f"kubernetes.{name}SelectorAttributes") for name in ("Field", "Label")}
_REQUIREMENT = struct_type("kubernetes.SelectorRequirement")
_SELECTOR: dict[str, Type] = {"rawSelector": STRING, "requirements": list_of(_REQUIREMENT)}
_FIELDS: dict[str, dict[str, Type]] = {
    _REQUEST.name: {
        "resourceAttributes": _RESOURCE,
        "nonResourceAttributes": _PATH,
        "user": STRING,
        "groups": list_of(STRING),
        "extra": map_of(STRING, list_of(STRING)),
        "uid": STRING,
    },
    _RESOURCE.name: {
        **dict.fromkeys(("namespace", "verb", "group", "version", "resource", "subresource", "name"), STRING),
        "fieldSelector": _SELECTORS["Field"],
        "labelSelector": _SELECTORS["Label"],
    },
    _PATH.name: {"path": STRING, "verb": STRING},
    **{selector.name: _SELECTOR for selector in _SELECTORS.values()},
    _REQUIREMENT.name: {"key": STRING, "operator": STRING, "values": list_of(STRING)},
}


class MatchExpressions:
    """Compiled match conditions."""

    def __init__(self, conditions: Sequence[JsonObject]) -> None:
        self._programs = [(condition["expression"], _compile(condition["expression"])) for condition in conditions]

    def match(self, request: JsonObject) -> bool:
        """True if all conditions are true. One false condition decides. Otherwise raise ValueError if one fails."""
        failures = []
        for text, program in self._programs:
            result = program.run({"request": request})
            if result.error is not None:
                failures.append(f"cel evaluation error: expression '{text}' resulted in error: {result.error}")
            elif result.value is False:
                return False
        if failures:
            raise ValueError(failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]")
        return True


def condition_errors(expression: str, path: str) -> list[FieldError]:
    """Compile one condition. Return the error if it is invalid."""
    try:
        program = _compile(expression)
    except CompilationError as error:
        return [internal(path, str(error)) if error.internal else invalid(path, expression, str(error))]
    return [] if program.type == BOOL else [invalid(path, expression, "must evaluate to bool")]


def _compile(expression: str) -> Program:
    return compile_expression(
        expression,
        {"request": _REQUEST},
        fields=lambda struct, field: _FIELDS.get(struct, {}).get(field),
        structs=frozenset(_FIELDS),
        results=(),
    )
