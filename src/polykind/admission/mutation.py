"""One mutation of a MutatingAdmissionPolicy: ApplyConfiguration or JSONPatch."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from polykind import errors
from polykind.admission.attributes import Attributes
from polykind.admission.evaluation_deadline import EvaluationInterruptedError, run_with_deadline
from polykind.admission.policy_expressions import EvaluationScope, Expression, OutOfBudgetError
from polykind.admission.versioned_attributes import apply_defaults, decode_patched
from polykind.apis import machinery
from polykind.apis.admissionregistration.cel_environment import MUTATIONS, OUT_OF_BUDGET, PER_EVALUATION, Environment
from polykind.apply import json_patch
from polykind.apply.apply_configuration import ApplyConfigurationError, merge_configuration
from polykind.apply.patch_errors import PatchRejectedError, PatchTestFailedError
from polykind.cel.mutation_types import JSONPatchOperation
from polykind.cel.runtime_values import ConstructedObject
from polykind.cel.to_native import UnconvertibleError, object_to_native, to_json, type_name_errors
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote

_printable = re.compile(r"[^\x00-\x07\x0b\x0e-\x1f\x7f]*").fullmatch
_NO_JSON = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"


class MutationError(Exception):
    """A mutation that failed. The failure policy of the admission policy decides if the request goes on."""


class Mutation:
    """A compiled mutation of a policy."""

    def __init__(self, mutation: JsonObject, environment: Environment, variables: Mapping[str, Expression]) -> None:
        field, result = MUTATIONS[mutation["patchType"]]
        self._expression = Expression(mutation[field].get("expression") or "", environment, (result,))
        self._variables = variables
        self._is_apply_configuration = field == "applyConfiguration"

    async def apply(self, attributes: Attributes, obj: JsonObject, values: Mapping[str, Any]) -> JsonObject:
        """Return the mutated object. On failure, raise MutationError if the failure policy applies, else APIError."""
        value = await self._evaluate(values)
        try:
            return (
                _apply_configuration(attributes, obj, value)
                if self._is_apply_configuration
                else _apply_json_patch(attributes, obj, value)
            )
        except RecursionError:
            raise MutationError("exceeded max depth") from None

    async def _evaluate(self, values: Mapping[str, Any]) -> Any:
        expression = self._expression
        if expression.compilation_error:
            raise MutationError(expression.compilation_error)
        try:
            result = await run_with_deadline(
                lambda check: expression.run(EvaluationScope(values, self._variables, PER_EVALUATION, check))
            )
        except EvaluationInterruptedError as failure:
            raise MutationError(str(failure)) from None
        except OutOfBudgetError:
            raise MutationError(OUT_OF_BUDGET) from None
        if result.error:
            raise MutationError(result.error)
        return result.value


def _apply_configuration(attributes: Attributes, obj: JsonObject, constructed: ConstructedObject) -> JsonObject:
    """Merge the constructed configuration into the object, as server-side apply does."""
    _check_type_names(constructed)
    try:
        applied = object_to_native(constructed)
    except UnconvertibleError:
        raise MutationError("invalid return type: *dynamic.ObjectVal") from None
    applied |= {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    apply_type = attributes.apply_type(obj["apiVersion"])
    if apply_type is None:
        group, _, version = obj["apiVersion"].rpartition("/")
        message = f"no corresponding type for {group}/{version}, Kind={obj['kind']}"
        raise MutationError(f"error applying patch: failed to convert patch object to typed object: {message}")
    try:
        merged = merge_configuration(obj, applied, apply_type)
    except ApplyConfigurationError as unfit:
        raise MutationError(f"error applying patch: {unfit}") from None
    _check_finite_numbers(applied)
    _check_version(attributes, obj)
    try:
        return attributes.default(json_codec.decode(json_codec.encode(merged)))
    except machinery.UndecodableObjectError as error:
        raise MutationError(error.detail) from None


def _apply_json_patch(attributes: Attributes, obj: JsonObject, patches: list[JSONPatchOperation]) -> JsonObject:
    """Apply the operations of a JSON patch to the object."""
    try:
        patched = decode_patched(attributes, json_patch.apply_operations(obj, [_operation(patch) for patch in patches]))
    except PatchTestFailedError:
        return obj
    except PatchRejectedError as rejected:
        raise MutationError(f"JSON Patch: {rejected.cause}") from None
    if attributes.resource.subresource == "scale":
        # kube-apiserver cannot decode a patched Scale, because it looks for the apiVersion of the Scale in the CRD.
        message = f"request to convert CR to an invalid group/version: {attributes.resource.kind_version}"
        raise MutationError(message)
    _check_version(attributes, obj)
    if strict_error := attributes.strict_error(patched):
        raise errors.InternalError(strict_error)
    return apply_defaults(attributes, patched)


def _check_version(attributes: Attributes, obj: JsonObject) -> None:
    """Raise MutationError if a built-in object has another version than the request.

    As in kube-apiserver, a policy can match such an object but not change it.
    """
    expected = attributes.resource.kind_version
    if not attributes.implied_type or obj["apiVersion"] == expected:
        return
    kind = attributes.resource.kind
    before, after = (f"{api_version.rpartition('/')[2]}.{kind}" for api_version in (obj["apiVersion"], expected))
    if before != after:
        raise MutationError(f"converting ({before}) to ({after}): unknown conversion")
    scheme = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'
    raise MutationError(f"{before} is not suitable for converting to {go_quote(expected)} {scheme}")


def _operation(patch: JSONPatchOperation) -> JsonObject:
    operation: JsonObject = {name: _go_quotable(patch.get(name)) for name in ("op", "path")}
    if patch.has("from"):
        operation["from"] = _go_quotable(patch.get("from"))
    if patch.has("value"):
        value = patch.get("value")
        if isinstance(value, ConstructedObject):
            _check_type_names(value)
        try:
            operation["value"] = to_json(value)
        except UnconvertibleError as error:
            raise MutationError(f"{_NO_JSON}: {error}") from None
    return operation


def _go_quotable(text: str) -> str | bool:
    """Return the text, or False if Go would quote it in a way that is not valid JSON.

    kube-apiserver quotes the text with %q. False makes the patch fail to decode, as in kube-apiserver.
    """
    return text if _printable(text) else False


def _check_type_names(constructed: ConstructedObject) -> None:
    if type_errors := type_name_errors(constructed, constructed.type.name):
        raise MutationError("type mismatch: " + "\n".join(type_errors))


def _check_finite_numbers(applied: JsonObject) -> None:
    """Raise UnknownReasonError if the configuration contains NaN or an infinity, which JSON cannot encode."""
    pending: list[Any] = [applied]
    while pending:
        value = pending.pop()
        if isinstance(value, dict | list):
            pending.extend(value.values() if isinstance(value, dict) else value)
        elif isinstance(value, float) and not math.isfinite(value):
            number = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
            raise errors.UnknownReasonError(f"json: unsupported value: {number}")
