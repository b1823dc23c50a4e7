"""Lazy loading of the CEL compiler, because its import takes time and many servers have no CRD with rules."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from polykind.contract import JsonObject
from polykind.crd.cel_rules import RuleCheckRequest
from polykind.crd.schema_walker import VALIDATIONS, all_schemas
from polykind.crd.structural import unsupported_reason
from polykind.errors import FieldError

if TYPE_CHECKING:
    from polykind.cel import RuleCompiler, Rules


def rules_of(openapi: JsonObject | None) -> Rules | None:
    """Return the CEL rules of a schema. Return None if it has no rules or is an old, non-structural schema."""
    if not openapi or not any(VALIDATIONS in node for node in all_schemas(openapi)) or unsupported_reason(openapi):
        return None
    from polykind.cel import compile_schema

    return compile_schema(openapi)


class Compiler:
    """Compiles and checks the CEL rules of CRDs. Imports the CEL compiler at its first use."""

    @cached_property
    def _compiler(self) -> RuleCompiler:
        from polykind.cel import RuleCompiler

        return RuleCompiler()

    def check(self, request: RuleCheckRequest) -> list[FieldError]:
        return self._compiler.check(request)

    def check_default(self, schema: JsonObject, value: Any, path: str, *, root: bool) -> list[FieldError]:
        return self._compiler.check_default(schema, value, path, root=root)
