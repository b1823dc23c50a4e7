"""The CEL environment of admission expressions: variables, their types and cost budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polykind.cel import Program, compile_expression
from polykind.cel.cel_types import (
    AUTHORIZER_TYPES,
    BOOL,
    DYN,
    INT,
    NULL,
    PRIMITIVES,
    STRING,
    TIMESTAMP,
    Type,
    WrapperType,
    list_of,
    map_of,
    struct_type,
)
from polykind.cel.mutation_types import JSON_PATCH_TYPE, OBJECT_TYPE

PER_EVALUATION = 10_000_000
"""The cost budget of all expressions of a policy, for one binding and one param."""
PER_MATCH = 2_500_000
"""The cost budget of all match conditions of a webhook or policy."""
OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
VARIABLES = "kubernetes.variables"
AUTHORIZER_VARIABLES = {
    "authorizer": AUTHORIZER_TYPES["Authorizer"],
    "authorizer.requestResource": AUTHORIZER_TYPES["ResourceCheck"],
}
MUTATIONS = {
    "ApplyConfiguration": ("applyConfiguration", OBJECT_TYPE),
    "JSONPatch": ("jsonPatch", list_of(JSON_PATCH_TYPE)),
}
"""For each patchType: the field of a mutation that holds the expression, and the expression's result type."""

_STRINGS = list_of(STRING)
_LABELS = map_of(STRING, STRING)
_KIND, _RESOURCE = struct_type("kubernetes.GroupVersionKind"), struct_type("kubernetes.GroupVersionResource")
_USER = struct_type("kubernetes.UserInfo")
_REQUEST, _NAMESPACE = struct_type("kubernetes.AdmissionRequest"), struct_type("kubernetes.Namespace")
_META, _SPEC = struct_type("kubernetes.NamespaceMetadata"), struct_type("kubernetes.NamespaceSpec")
_STATUS, _CONDITION = struct_type("kubernetes.NamespaceStatus"), struct_type("kubernetes.NamespaceCondition")

_FIELDS: dict[str, dict[str, Type]] = {
    _KIND.name: dict.fromkeys(("group", "version", "kind"), STRING),
    _RESOURCE.name: dict.fromkeys(("group", "version", "resource"), STRING),
    _USER.name: {"username": STRING, "uid": STRING, "groups": _STRINGS, "extra": map_of(STRING, _STRINGS)},
    _REQUEST.name: {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
    _NAMESPACE.name: {"metadata": _META, "spec": _SPEC, "status": _STATUS},
    _META.name: {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), STRING),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), TIMESTAMP),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), INT),
        **dict.fromkeys(("labels", "annotations"), _LABELS),
        "finalizers": _STRINGS,
    },
    _SPEC.name: {"finalizers": _STRINGS},
    _STATUS.name: {"conditions": list_of(_CONDITION), "phase": STRING},
    _CONDITION.name: {
        **dict.fromkeys(("status", "type", "message", "reason"), STRING),
        "lastTransitionTime": TIMESTAMP,
    },
}
_STRUCTS = frozenset(_FIELDS)
_PRIMITIVES = frozenset((*PRIMITIVES.values(), NULL))
_COMMON_VARIABLES = {"object": DYN, "oldObject": DYN, "namespaceObject": _NAMESPACE, "request": _REQUEST}


class Environment:
    """The variables that the expressions of one policy or webhook may use.

    The caller adds the policy's composition variables (spec.variables) to the dict `variables`, so that later
    expressions can use them.
    """

    def __init__(
        self,
        *,
        params: bool = False,
        authorizer: bool = True,
        variables: dict[str, Type] | None = None,
        patches: bool = False,
    ) -> None:
        """If `patches` is true, expressions may construct objects and JSON patches."""
        self._variables: Mapping[str, Type] = {
            **_COMMON_VARIABLES,
            **({"params": DYN} if params else {}),
            **({"variables": struct_type(VARIABLES)} if variables is not None else {}),
        }
        self._authorizer = authorizer
        self.uses_authorizer = False
        """True if any compiled expression may use the variable `authorizer`."""
        self._patches = patches
        self._structs = _STRUCTS if variables is None else _STRUCTS | {VARIABLES}
        self._variable_types = variables if variables is not None else {}

    def compile(self, text: str, results: Sequence[Type] = (BOOL,)) -> Program:
        """Compile an expression whose result type must be in `results`. Raise CompilationError if it is invalid."""
        variables = self._variables
        if self._authorizer and "authorizer" in text:
            # Declaring a variable has a cost, so declare `authorizer` only for expressions that mention it.
            self.uses_authorizer = True
            variables = {**variables, **AUTHORIZER_VARIABLES}
        return compile_expression(
            text, variables, fields=self._field, structs=self._structs, results=results, patches=self._patches
        )

    def _field(self, type_: str, name: str) -> Type | None:
        return self._variable_types.get(name) if type_ == VARIABLES else _FIELDS.get(type_, {}).get(name)


def composed_type(result: Type) -> Type:
    """Return the type of a composition variable: `result` if it consists of primitive types, else dyn."""
    if result.kind in ("list", "map"):
        params = [composed_type(param) for param in result.params]
        return list_of(params[0]) if len(params) == 1 else map_of(params[0], params[1])
    return result if result in _PRIMITIVES and not isinstance(result, WrapperType) else DYN
