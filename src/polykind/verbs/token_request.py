"""create of serviceaccounts/token: issue a token for a service account."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

from polykind import errors, names
from polykind.apis.authentication.types import TOKEN_REQUEST
from polykind.auth.service_account_claims import EXTENDABLE_SECONDS, EXTENDED_SECONDS, build_claims, set_times
from polykind.auth.service_account_tokens import ServiceAccountTokens
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.fmt import go_quote
from polykind.operations.operation import Operation
from polykind.operations.options import CreateOptions
from polykind.operations.responses import Response
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, find_builtin
from polykind.resources.resource import ServedVersion
from polykind.verbs import respond
from polykind.verbs.admit import admit, approve
from polykind.verbs.decode import decode
from polykind.verbs.metadata import match_namespace, track_create

_GROUP, _KIND = "authentication.k8s.io", "TokenRequest"
_DEFAULT_SECONDS = 3600
_MIN_SECONDS = 600
_BINDABLE = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


class _TokenRequestStrategy(BuiltinStrategy):
    """Sets the defaults of TokenRequests."""

    def default(self, obj: JsonObject) -> None:
        if obj["spec"].get("expirationSeconds") is None:
            obj["spec"]["expirationSeconds"] = _DEFAULT_SECONDS


@cache
def _token_requests() -> ServedVersion:
    """Return the version that stands for `serviceaccounts/token` when a TokenRequest is decoded and admitted."""
    resource = BuiltinResource(None, TOKEN_REQUEST)
    version = resource.serve(TOKEN_REQUEST, _TokenRequestStrategy(TOKEN_REQUEST))
    resource.group, resource.plural = "", "serviceaccounts"
    return version


async def create_token(op: Operation) -> Response:
    response_format = respond.negotiate(op)
    tokens = op.backend.service_account_tokens
    if tokens is None:
        raise errors.unknown_resource()
    request_op = op.at(_token_requests(), namespace=op.namespace, name=op.name, subresource=op.subresource)
    options = CreateOptions.from_query(op.query)
    draft = await request_op.lane.read(op.body, decode, request_op, options)
    meta = draft.obj["metadata"]
    match_namespace(request_op, meta)
    uid = meta.get("uid")
    await track_create(request_op, draft, options)
    if uid:
        # Unlike in other creates, the uid in the request is compared with the uid of the account.
        meta["uid"] = uid
    request = (await admit(request_op, draft, None, options)).obj
    _check_metadata(op, request["metadata"])
    account = await _find_object(op, "serviceaccounts", op.namespace or "", op.name)
    _complete(op, request, account, tokens)
    if found := _validate(request["spec"]["expirationSeconds"]):
        raise errors.InvalidError(_KIND, _GROUP, "", found)
    await approve(request_op, request, None, options)
    bound = await _bound_objects(op, request["spec"].get("boundObjectRef"))
    request["status"] = await _issue(op, request["spec"], account, bound, tokens)
    return await respond.object_response(request_op, response_format, 201, json_codec.encode(request))


def _check_metadata(op: Operation, meta: JsonObject) -> None:
    name = meta.get("name")
    if name and name != op.name:
        error = errors.invalid("metadata.name", name, "must match the service account name if specified")
        raise errors.InvalidError(_KIND, _GROUP, op.name, [error])


def _complete(op: Operation, request: JsonObject, account: JsonObject, tokens: ServiceAccountTokens) -> None:
    """Set metadata and default audiences of a TokenRequest. Raise ConflictError if it has another account's uid."""
    meta, uid = request["metadata"], account["metadata"]["uid"]
    if meta.get("uid") and meta["uid"] != uid:
        reason = f"the UID in the token request ({meta['uid']}) does not match the UID of the service account ({uid})"
        raise errors.conflict(_KIND, _GROUP, op.name, reason)
    meta.update(name=op.name, namespace=op.namespace, uid=uid, creationTimestamp=op.now())
    request["spec"]["audiences"] = request["spec"].get("audiences") or tokens.settings.audiences


def _validate(seconds: int) -> list[FieldError]:
    at = "spec.expirationSeconds"
    found = []
    if seconds < _MIN_SECONDS:
        found.append(errors.invalid(at, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > 1 << 32:
        found.append(errors.invalid(at, seconds, "may not specify a duration larger than 2^32 seconds"))
    return found


async def _bound_objects(op: Operation, reference: JsonObject | None) -> dict[str, JsonObject]:
    """Return the objects to which the token is bound, keyed by the claim for each: "pod", "node" or "secret"."""
    if reference is None:
        return {}
    group, _, version = (reference.get("apiVersion") or "").rpartition("/")
    kind, name = reference.get("kind") or "", reference.get("name") or ""
    if group or kind not in _BINDABLE:
        shown = f"{group}/{version}, Kind={kind}"
        raise errors.BadRequestError(f"cannot bind token to object of type {shown}")
    if not name:
        raise errors.BadRequestError("Name parameter required.")
    if reasons := names.path_segment(name):
        raise errors.BadRequestError(f"Name parameter invalid: {go_quote(name)}: {';'.join(reasons)}")
    namespace = "" if kind == "Node" else op.namespace or ""
    obj = await _find_object(op, _BINDABLE[kind], namespace, name)
    bound = {kind.lower(): obj}
    if kind == "Pod":
        spec = obj.get("spec") or {}
        if spec.get("serviceAccountName", "") != op.name:
            raise errors.BadRequestError(
                f'cannot bind token for serviceaccount "{op.name}" to pod running with different serviceaccount name.'
            )
        if node := spec.get("nodeName"):
            bound["node"] = await _find(op, "nodes", "", node) or {"metadata": {"name": node}}
    uid, reference_uid = obj["metadata"]["uid"], reference.get("uid")
    if reference_uid and reference_uid != uid:
        reason = (
            f"the UID in the bound object reference ({reference_uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(kind, group, name, reason)
    return bound


async def _find_object(op: Operation, plural: str, namespace: str, name: str) -> JsonObject:
    obj = await _find(op, plural, namespace, name)
    if obj is None:
        raise errors.NotFoundError(plural, "", name)
    return obj


async def _find(op: Operation, plural: str, namespace: str, name: str) -> JsonObject | None:
    resource = find_builtin(op.backend.registry, "", plural)
    await op.backend.cache.wait_until_fresh(resource.cache)
    cached = resource.cache.get(resource.key(namespace, name))
    return resource.shown(cached) if cached is not None else None


async def _issue(
    op: Operation,
    spec: JsonObject,
    account: JsonObject,
    bound: dict[str, JsonObject],
    tokens: ServiceAccountTokens,
) -> JsonObject:
    """Return the status of a TokenRequest: a new token and the time at which it expires."""
    settings, seconds = tokens.settings, spec["expirationSeconds"]
    if 0 < settings.max_expiration < seconds:
        text = f"requested expiration of {seconds} seconds shortened to {settings.max_expiration} seconds"
        op.notes.warn(text)
        seconds = spec["expirationSeconds"] = settings.max_expiration
    now = int(op.backend.clock.now().timestamp())
    claims = build_claims(account, bound, spec["audiences"], settings.issuers[0], op.backend.ids.uid())
    op.notes.annotate("authentication.kubernetes.io/issued-credential-id", f"JTI={claims['jti']}")
    is_own = set(spec["audiences"]) <= set(settings.audiences)
    if "pod" in bound and seconds == EXTENDABLE_SECONDS and is_own:
        set_times(claims, now, EXTENDED_SECONDS, seconds)
    else:
        set_times(claims, now, seconds, None)
    expires = datetime.fromtimestamp(now + seconds, UTC)
    return {"token": await tokens.issue(claims), "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}
