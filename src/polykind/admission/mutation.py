"""One mutation of a policy: what its expression gives is laid over the object, or done to it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from polykind import errors
from polykind.admission.attributes import Attributes
from polykind.admission.expression import MUTATIONS, OUT_OF_BUDGET, PER_EVALUATION, Environment
from polykind.admission.patching import defaulted, reread
from polykind.admission.patience import Interrupted, patiently
from polykind.admission.policy_expressions import Expression, OutOfBudget, Scope
from polykind.apis import machinery
from polykind.apply import jsonpatch
from polykind.apply.configuration import Unfit, configured
from polykind.apply.rejected import Rejected, TestFailed
from polykind.cel.mutation_types import JSONPatchOperation
from polykind.cel.runtime_values import ConstructedObject
from polykind.cel.to_native import UnconvertibleError, object_to_native, to_json, type_name_errors
from polykind.codec import json_codec
from polykind.contract import JsonObject

_printable = re.compile(r"[^\x00-\x07\x0b\x0e-\x1f\x7f]*").fullmatch
_NO_JSON = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"


class MutationFailure(Exception):
    """A mutation that fails; says why. What becomes of that, its policy decides."""


class Mutation:
    """A mutation, compiled."""

    def __init__(self, mutation: JsonObject, environment: Environment, variables: Mapping[str, Expression]) -> None:
        field, result = MUTATIONS[mutation["patchType"]]
        self._expression = Expression(mutation[field].get("expression") or "", environment, (result,))
        self._variables = variables
        self._lay = field == "applyConfiguration"

    async def make(self, asked: Attributes, obj: JsonObject, values: Mapping[str, Any]) -> JsonObject:
        """What becomes of an object. Raises MutationFailure, and the APIErrors that no policy decides about."""
        given = await self._evaluated(values)
        try:
            return _laid(asked, obj, given) if self._lay else _done(asked, obj, given)
        except RecursionError:
            raise MutationFailure("exceeded max depth") from None

    async def _evaluated(self, values: Mapping[str, Any]) -> Any:
        expression = self._expression
        if expression.wrong:
            raise MutationFailure(expression.wrong)
        try:
            result = await patiently(
                lambda check: expression.run(Scope(values, self._variables, PER_EVALUATION, check))
            )
        except Interrupted as failure:
            raise MutationFailure(str(failure)) from None
        except OutOfBudget:
            raise MutationFailure(OUT_OF_BUDGET) from None
        if result.failure:
            raise MutationFailure(result.failure)
        return result.value


def _laid(asked: Attributes, obj: JsonObject, made: ConstructedObject) -> JsonObject:
    """The object with a configuration laid over it."""
    _check_names(made)
    try:
        applied = object_to_native(made)
    except UnconvertibleError:
        raise MutationFailure("invalid return type: *dynamic.ObjectVal") from None
    applied |= {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    model = asked.model(obj["apiVersion"])
    if model is None:
        why = f"no corresponding type for {obj['apiVersion']}, Kind={obj['kind']}"
        raise MutationFailure(f"error applying patch: failed to convert patch object to typed object: {why}")
    try:
        merged = configured(obj, applied, model)
    except Unfit as unfit:
        raise MutationFailure(f"error applying patch: {unfit}") from None
    _refuse_odd_numbers(applied)
    try:
        return asked.default(json_codec.decode(json_codec.encode(merged)))
    except machinery.Undecodable as error:
        raise MutationFailure(error.why) from None


def _done(asked: Attributes, obj: JsonObject, patches: list[JSONPatchOperation]) -> JsonObject:
    """The object after the operations of a JSON patch."""
    try:
        made = reread(asked, jsonpatch.patched(obj, [_operation(patch) for patch in patches]))
    except TestFailed:
        return obj
    except Rejected as rejected:
        raise MutationFailure(f"JSON Patch: {rejected.why}") from None
    if asked.resource.subresource == "scale":
        # The reference cannot turn what was patched into a Scale again.
        why = f"request to convert CR to an invalid group/version: {asked.resource.kind_version}"
        raise MutationFailure(why)
    if complaint := asked.complaint(made):
        raise errors.InternalError(complaint)
    return defaulted(asked, made)


def _operation(patch: JSONPatchOperation) -> JsonObject:
    operation: JsonObject = {name: _quotable(patch.get(name)) for name in ("op", "path")}
    if patch.has("from"):
        operation["from"] = _quotable(patch.get("from"))
    if patch.has("value"):
        value = patch.get("value")
        if isinstance(value, ConstructedObject):
            _check_names(value)
        try:
            operation["value"] = to_json(value)
        except UnconvertibleError as wrong:
            raise MutationFailure(f"{_NO_JSON}: {wrong}") from None
    return operation


def _quotable(text: str) -> str | bool:
    """The text, or what is none: the reference quotes it as Go does, which JSON cannot always read."""
    return text if _printable(text) else False


def _check_names(made: ConstructedObject) -> None:
    if found := type_name_errors(made, made.type.name):
        raise MutationFailure("type mismatch: " + "\n".join(found))


def _refuse_odd_numbers(applied: JsonObject) -> None:
    """What is no number cannot be stored."""
    pending: list[Any] = [applied]
    while pending:
        value = pending.pop()
        if isinstance(value, dict | list):
            pending.extend(value.values() if isinstance(value, dict) else value)
        elif isinstance(value, float) and not math.isfinite(value):
            shown = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
            raise errors.UnknownReasonError(f"json: unsupported value: {shown}")
