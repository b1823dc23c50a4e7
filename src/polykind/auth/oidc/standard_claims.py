"""The types of the standard claims of a token, as kube-apiserver's library for OpenID Connect decodes them."""

from __future__ import annotations

import re
from typing import Any

from polykind.auth.oidc.claim_mapping import unmarshal_error
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote

_is_number = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?").fullmatch


def types_problem(claims: JsonObject) -> str:
    """Return the reason why the claims cannot be decoded, or ""."""
    problems = [
        *(_string_problem(claims, name) for name in ("iss", "sub", "nonce", "at_hash")),
        _audience_problem(claims.get("aud")),
        *(_time_problem(claims, name) for name in ("exp", "iat", "nbf")),
        *(_map_problem(claims, name) for name in ("_claim_names", "_claim_sources")),
    ]
    return next(filter(None, problems), "")


def unix_time(value: Any) -> int | None:
    """Return a time of a token in seconds: a number, or a string with a number. Return None for another value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return int(float(value))
    except (ValueError, OverflowError):
        return None


def _string_problem(claims: JsonObject, name: str) -> str:
    value = claims.get(name)
    return "" if isinstance(value, str | None) else unmarshal_error(value, "string", f"struct field idToken.{name}")


def _audience_problem(value: Any) -> str:
    if isinstance(value, str | None):
        return ""
    field = "struct field idToken.aud"
    if not isinstance(value, list):
        return unmarshal_error(value, "[]string", field)
    wrong = next((item for item in value if not isinstance(item, str | None)), None)
    return "" if wrong is None else unmarshal_error(wrong, "string", field)


def _time_problem(claims: JsonObject, name: str) -> str:
    if name not in claims or (name == "nbf" and claims[name] is None):
        return ""
    value = claims[name]
    if isinstance(value, str) and not _is_number(value):
        return f"json: invalid number literal, trying to unmarshal {go_quote(go_quote(value))} into Number"
    if value is None:
        return 'strconv.ParseFloat: parsing "": invalid syntax'
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return unmarshal_error(value, "json.Number", f"struct field idToken.{name}")
    return "" if unix_time(value) is not None else f"strconv.ParseFloat: parsing {go_quote(str(value))}: out of range"


def _map_problem(claims: JsonObject, name: str) -> str:
    value = claims.get(name)
    if value is None or (isinstance(value, dict) and name == "_claim_sources"):
        return ""
    field = f"struct field idToken.{name}"
    if not isinstance(value, dict):
        return unmarshal_error(value, "map", field)
    wrong = next((item for item in value.values() if not isinstance(item, str | None)), None)
    return "" if wrong is None else unmarshal_error(wrong, "string", field)
