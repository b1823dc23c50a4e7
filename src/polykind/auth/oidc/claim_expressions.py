"""The CEL expressions of an AuthenticationConfiguration: conditions and mappings over `claims` and `user`."""

from __future__ import annotations

from typing import Any

from polykind.apis.apiserver.validation import validate_authentication_configuration, validate_jwt_authenticator
from polykind.auth.user import User
from polykind.cel import CompilationError, Program, compile_expression
from polykind.cel.ast import Call, Expr, Ident, Literal, Select, children
from polykind.cel.cel_types import BOOL, DYN, STRING, Type, list_of, map_of, struct_type
from polykind.cel.parser import parse
from polykind.cel.source import Source
from polykind.contract import JsonObject
from polykind.errors import FieldError, internal, invalid

CLAIMS, USER = "claims", "user"
_USER_INFO = struct_type("kubernetes.UserInfo")
_USER_FIELDS: dict[str, Type] = {
    "username": STRING,
    "uid": STRING,
    "groups": list_of(STRING),
    "extra": map_of(STRING, list_of(STRING)),
}
_VARIABLES: dict[str, dict[str, Type]] = {CLAIMS: {CLAIMS: map_of(STRING, DYN)}, USER: {USER: _USER_INFO}}


class ClaimExpressionError(Exception):
    """A CEL expression failed for the claims of a token, or has a result of the wrong type."""


def validate_config(config: JsonObject, service_account_issuers: tuple[str, ...]) -> list[FieldError]:
    """Validate an AuthenticationConfiguration, including its CEL expressions."""
    return validate_authentication_configuration(config, service_account_issuers, _Check())


def validate_authenticator(authenticator: JsonObject, service_account_issuers: tuple[str, ...]) -> list[FieldError]:
    """Validate the authenticator that the --oidc-* flags define."""
    return validate_jwt_authenticator(authenticator, "jwt[0]", service_account_issuers, _Check())


class ClaimExpression:
    """A compiled expression over the claims of a token or over a user."""

    def __init__(self, text: str, variable: str = CLAIMS) -> None:
        self.text = text
        self._variable = variable
        self._program = compile_claim_expression(text, variable)

    def evaluate(self, value: JsonObject) -> Any:
        """Return the result. Raise ClaimExpressionError if the evaluation fails."""
        result = self._program.run({self._variable: value})
        if result.error is not None:
            raise ClaimExpressionError(f"expression '{self.text}' resulted in error: {result.error}")
        return result.value

    def strings(self, value: JsonObject) -> list[str]:
        """Return the result as a list of strings without empty strings. The result can be a string, a list or null."""
        result = self.evaluate(value)
        items = [result] if isinstance(result, str) else [] if result is None else result
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise ClaimExpressionError("expression must return a string or a list of strings")
        return [item for item in items if item]

    def check(self, value: JsonObject, message: str) -> None:
        """Raise ClaimExpressionError with the message if the result is not true."""
        result = self.evaluate(value)
        if not isinstance(result, bool):
            raise ClaimExpressionError("validation expression must return a boolean")
        if not result:
            raise ClaimExpressionError(f"validation expression '{self.text}' failed: {message}")


def user_value(user: User) -> JsonObject:
    """Return a user as the value of the variable `user`."""
    extra = {key: list(values) for key, values in user.extra.items()}
    return {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}


def compile_claim_expression(text: str, variable: str = CLAIMS) -> Program:
    """Compile an expression over the variable `claims` or `user`. Raise CompilationError if it is invalid."""
    return compile_expression(
        text,
        _VARIABLES[variable],
        fields=lambda struct, field: _USER_FIELDS.get(field) if struct == _USER_INFO.name else None,
        structs=(_USER_INFO.name,),
        results=(),
        unescape_names=True,
    )


class _Check:
    """Checks expressions by compiling them."""

    def claims_errors(self, expression: str, path: str, *, condition: bool = False) -> list[FieldError]:
        return _compilation_errors(expression, path, CLAIMS, condition=condition)

    def user_errors(self, expression: str, path: str) -> list[FieldError]:
        return _compilation_errors(expression, path, USER, condition=True)

    def selects_claim(self, expression: str, claim: str) -> bool:
        ast = parse(Source(expression))
        return ast is not None and _selects(ast, claim)


def _compilation_errors(expression: str, path: str, variable: str, *, condition: bool) -> list[FieldError]:
    try:
        program = compile_claim_expression(expression, variable)
    except CompilationError as error:
        return [internal(path, str(error)) if error.internal else invalid(path, expression, str(error))]
    if condition and program.type != BOOL:
        return [invalid(path, expression, "must evaluate to bool")]
    return []


def _selects(node: Expr, claim: str) -> bool:
    if isinstance(node, Select) and node.name == claim and _is_claims(node.operand):
        return True
    if isinstance(node, Call) and node.function == "_?._" and _is_claims(node.args[0]):
        key = node.args[1]
        if isinstance(key, Literal) and key.value == claim:
            return True
    return any(_selects(child, claim) for child in children(node))


def _is_claims(node: Expr) -> bool:
    return isinstance(node, Ident) and node.name == CLAIMS
