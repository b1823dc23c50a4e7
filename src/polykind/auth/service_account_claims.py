"""The claims in the tokens of service accounts, as kube-apiserver writes and checks them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from datetime import datetime

from polykind.auth.user import AUTHENTICATED, User, service_account_groups, service_account_name
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.golang.json import json_type_name
from polykind.golang.strconv import float_to_int64

EXTENDED_SECONDS = 365 * 24 * 3600
EXTENDABLE_SECONDS = 3607
"""The token lifetime that kubelets request. Such tokens live for a year, because old clients do not renew them."""
_LEEWAY = 60
_INVALIDATED = "service account token has been invalidated"
_EXTRA = "authentication.kubernetes.io/"
_JWT = "go-jose/go-jose/jwt"

FindObject = Callable[[str, str, str], Awaitable[JsonObject | None]]
"""A function that returns the stored object with a plural, namespace and name, or None if it does not exist."""


class TokenError(ValueError):
    """A token of a service account is invalid. The message is the same as in kube-apiserver."""


def build_claims(
    account: JsonObject, bound: dict[str, JsonObject], audiences: list[str], issuer: str, token_id: str
) -> JsonObject:
    """Return the claims without times. `bound` has the objects whose deletion invalidates the token, by claim name."""
    meta = account["metadata"]
    private: JsonObject = {"namespace": meta["namespace"], "serviceaccount": _reference(account)}
    private.update({kind: _reference(obj) for kind, obj in bound.items()})
    return {
        "aud": audiences,
        "iss": issuer,
        "jti": token_id,
        "kubernetes.io": private,
        "sub": service_account_name(meta["namespace"], meta["name"]),
    }


def set_times(claims: JsonObject, now: int, seconds: int, warn_after: int | None) -> None:
    """Set the times at which a token is issued and expires.

    If `warn_after` is not None, also set the time after which a use of the token is reported as outdated.
    """
    claims.update(iat=now, nbf=now, exp=now + seconds)
    if warn_after is not None:
        claims["kubernetes.io"]["warnafter"] = now + warn_after


def _reference(obj: JsonObject) -> JsonObject:
    meta = obj["metadata"]
    return {"name": meta["name"], "uid": meta["uid"]} if meta.get("uid") else {"name": meta["name"]}


def check_types(claims: JsonObject) -> None:
    """Raise TokenError if a claim has a type that kube-apiserver cannot decode."""
    _check_strings(claims, "iss", "sub", "jti")
    audiences = claims.get("aud", [])
    if not isinstance(audiences, str) and not (
        isinstance(audiences, list) and all(isinstance(audience, str) for audience in audiences)
    ):
        raise TokenError(f"{_JWT}: expected string or array value to unmarshal to Audience")
    private = _object(claims, "kubernetes.io")
    _check_strings(private, "namespace")
    for kind in ("serviceaccount", "pod", "secret", "node"):
        _check_strings(_object(private, kind), "name", "uid")
    times = (*(claims.get(name) for name in ("exp", "nbf", "iat")), private.get("warnafter"))
    if not all(time is None or _is_float64(time) for time in times):
        raise TokenError(f"{_JWT}: expected number value to unmarshal NumericDate")


def _is_float64(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _check_strings(value: JsonObject, *names: str) -> None:
    for name in names:
        if not isinstance(value.get(name), str | None):
            raise TokenError(f"json: cannot unmarshal {json_type_name(value[name])} into Go value of type string")


def _object(value: JsonObject, name: str) -> JsonObject:
    found = value.get(name)
    if found is not None and not isinstance(found, dict):
        kind = json_type_name(found)
        raise TokenError(f"json: cannot unmarshal {kind} into Go value of type serviceaccount.{name}")
    return found or {}


def check_audiences(claims: JsonObject, wanted: list[str], server: list[str]) -> list[str]:
    """Return the audiences of a token that are also in `wanted`. Raise TokenError if there are none.

    A token that names no audience is for the audiences of the server.
    """
    claim = claims.get("aud", [])
    audiences = [claim] if isinstance(claim, str) else list(claim) or server
    shared = [audience for audience in audiences if audience in wanted]
    if not shared:
        texts = (f"[{' '.join(map(go_quote, values))}]" for values in (audiences, wanted))
        raise TokenError("token audiences {} is invalid for the target audiences {}".format(*texts))
    return shared


def check_times(claims: JsonObject, now: float) -> None:
    """Raise TokenError if a token is not valid yet or has expired. The clocks of the hosts may differ by a minute."""
    begins, ends, issued = (float_to_int64(float(claims.get(name) or 0)) for name in ("nbf", "exp", "iat"))
    if now + _LEEWAY < begins:
        raise TokenError("service account token is not valid yet")
    if claims.get("exp") is not None and now - _LEEWAY > ends:
        raise TokenError("service account token has expired")
    if now + _LEEWAY < issued:
        raise TokenError("service account token is issued in the future")


async def check_objects(claims: JsonObject, find: FindObject, now: datetime) -> None:
    """Raise TokenError if the service account or an object to which the token is bound no longer exists."""
    private = claims.get("kubernetes.io") or {}
    namespace, reference = private.get("namespace") or "", private.get("serviceaccount") or {}
    name = reference.get("name") or ""
    if not name:
        raise TokenError("resource name may not be empty")
    account = await find("serviceaccounts", namespace, name)
    if account is None:
        raise TokenError(f'serviceaccounts "{name}" not found')
    uid = account["metadata"].get("uid", "")
    if uid != reference.get("uid", ""):
        raise TokenError(f"service account UID ({uid}) does not match claim ({reference.get('uid', '')})")
    if _is_deleted(account, now):
        raise TokenError(f"service account {namespace}/{name} has been deleted")
    for kind, plural in (("secret", "secrets"), ("pod", "pods"), ("node", "nodes")):
        bound = private.get(kind)
        if bound is not None and not (kind == "node" and private.get("pod") is not None):
            await _check_bound_object(kind, plural, "" if kind == "node" else namespace, bound, find, now)


async def _check_bound_object(
    kind: str, plural: str, namespace: str, reference: JsonObject, find: FindObject, now: datetime
) -> None:
    obj = await find(plural, namespace, reference.get("name") or "")
    if obj is None:
        raise TokenError(_INVALIDATED)
    uid, claimed = obj["metadata"].get("uid", ""), reference.get("uid", "")
    if uid != claimed:
        raise TokenError(f"{kind} UID ({uid}) does not match service account {kind} ref claim ({claimed})")
    if _is_deleted(obj, now):
        raise TokenError(_INVALIDATED)


def _is_deleted(obj: JsonObject, now: datetime) -> bool:
    deleted = obj["metadata"].get("deletionTimestamp")
    return bool(deleted) and (now - datetime.fromisoformat(deleted)).total_seconds() > _LEEWAY


def user_of(claims: JsonObject) -> User:
    """Return the user that a valid token authenticates."""
    private = claims["kubernetes.io"]
    namespace, account = private.get("namespace") or "", private["serviceaccount"]
    extra: dict[str, tuple[str, ...]] = {}
    if claims.get("jti"):
        extra[f"{_EXTRA}credential-id"] = (f"JTI={claims['jti']}",)
    for kind in ("pod", "node"):
        if bound := private.get(kind):
            extra[f"{_EXTRA}{kind}-name"] = (bound.get("name") or "",)
            if bound.get("uid"):
                extra[f"{_EXTRA}{kind}-uid"] = (bound["uid"],)
    groups = (*service_account_groups(namespace), AUTHENTICATED)
    return User(service_account_name(namespace, account["name"]), account.get("uid") or "", groups, extra)
