"""Validate the CEL expressions of webhooks and policies by compiling them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from polykind.apis.admissionregistration.cel_environment import Environment
from polykind.apis.admissionregistration.validation import validate_match_conditions
from polykind.cel import CompilationError
from polykind.cel.cel_types import BOOL, Type
from polykind.contract import JsonObject
from polykind.errors import FieldError, internal, invalid


def validate_match_expressions(
    conditions: Sequence[JsonObject], path: str, *, params: bool = False
) -> list[FieldError]:
    """Validate match conditions. If `params` is true, the expressions may use the variable `params`."""
    environment = Environment(params=params)
    return validate_match_conditions(conditions, path, partial(validate_expression, environment))


def validate_expression(
    environment: Environment, text: str, path: str, results: Sequence[Type] = (BOOL,)
) -> list[FieldError]:
    """Compile an expression whose result has one of the types `results`. Return the compilation error, or []."""
    try:
        environment.compile(text, results)
    except CompilationError as error:
        return [compilation_field_error(path, text, error)]
    return []


def compilation_field_error(path: str, text: str, error: CompilationError) -> FieldError:
    return internal(path, str(error)) if error.internal else invalid(path, text, str(error))
