"""patch: an object changed by a JSON patch, a merge patch, a strategic merge patch, or applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from polykind import errors
from polykind.apis.machinery import Undecodable
from polykind.apply import jsonpatch, mergepatch, strategic, wording
from polykind.codec import json_codec, negotiation
from polykind.contract import JsonObject
from polykind.golang.fmt import go_print
from polykind.http.messages import Response
from polykind.http.options import PatchOptions
from polykind.resources.resource import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from polykind.schema.names import path_segment
from polykind.schema.object_meta import BadObjectMetaError
from polykind.verbs import answer
from polykind.verbs.apply import apply_change, apply_create, read_applied
from polykind.verbs.context import RequestContext
from polykind.verbs.lifecycle import match_namespace
from polykind.verbs.payload import duplicates, unknown_fields
from polykind.verbs.update import Change, change_object, check_name


def patch_type(call: RequestContext) -> str:
    """The kind of patch that is sent. Raises UnsupportedMediaType."""
    try:
        return negotiation.patch_media_type(call.request.header(b"content-type"), offers=call.version.patch_types)
    except errors.UnsupportedMediaTypeError as error:
        # One fitting type in a list opens the door, though no list is a type.
        listed = call.request.header(b"content-type").split(",")
        if any(part.partition(";")[0].strip() in call.version.patch_types for part in listed):
            raise
        raise call.version.unsupported_patch() or error from None


async def patch(call: RequestContext) -> Response:
    content_type = patch_type(call)
    accepted = answer.negotiated(call)
    options = PatchOptions.from_query(call.query, apply=content_type == APPLY_PATCH)
    if content_type == APPLY_PATCH:
        await call.backend.cache.wait_until_fresh(call.resource.cache)
        absent = call.resource.cache.get(call.key) is None
        if absent and (call.subresource or path_segment(call.name)):
            raise call.missing()
        body = read_applied(call.request.body, call.version.api_version, call.resource.kind)
        if absent:
            return answer.object_answer(call, accepted, 201, await apply_create(call, body, options))
        data = await change_object(call, apply_change(call, body, options), options, whole=False, applied=True)
        return answer.object_answer(call, accepted, 200, data)
    change = patching(call, content_type, options.field_validation)
    data = await change_object(call, change, options, whole=False)
    return answer.object_answer(call, accepted, 200, data)


_APPLY: dict[str, Callable[[JsonObject, Any, bool], Any]] = {
    JSON_PATCH: lambda old, patch, lenient: jsonpatch.apply(old, patch, lenient=lenient),
    MERGE_PATCH: lambda old, patch, lenient: mergepatch.apply(old, patch, lenient=lenient),
    STRATEGIC_PATCH: lambda old, patch, lenient: strategic.apply(old, patch),
}


def patching(call: RequestContext, content_type: str, validation: str) -> Change:
    """The change that a patch makes. The patch is decoded once there is what it changes, and only once."""
    decoded: list[Fragment] = []

    async def change(old: JsonObject) -> JsonObject:
        if not decoded:
            spelled = not call.version.is_builtin
            decoded.append(read_fragment(call.request.body, content_type, validation, spelled=spelled))
            call.whole = decoded[0].whole
        fragment, complaints, _ = decoded[0]
        lenient = validation == "Ignore"
        patched = _APPLY[content_type](old, fragment, lenient)

        def shown() -> str:
            if content_type == STRATEGIC_PATCH:
                return go_print(fragment or {})
            return worded(call.version.codec.ordered(old), call.request.body, patched, content_type)

        return decode_patched(call, patched, complaints, validation, shown, restored=content_type == STRATEGIC_PATCH)

    return change


def worded(before: JsonObject, body: bytes, made: Any, content_type: str) -> str:
    """What a JSON patch or a merge patch made of an object, as text."""
    wording_of = wording.after_operations if content_type == JSON_PATCH else wording.after_merge
    try:
        text = wording_of(json_codec.encode_ordered(before), body)
    except (ValueError, RecursionError):
        # Half characters, and what is too deep.
        text = json_codec.encode(made)
    return text.decode("utf-8", "replace")


class Fragment(NamedTuple):
    """A patch, what a strict reader has against it, and whether its numbers are known to be whole."""

    patch: Any
    complaints: list[str]
    whole: bool


def read_fragment(body: bytes, content_type: str, validation: str, *, spelled: bool) -> Fragment:
    """The patch in a body; `spelled`: what it spells as a fraction is a float, whole or not."""
    try:
        fragment, whole = json_codec.decode_flagged(body, spelled=spelled)
    except json_codec.MalformedJSONError as error:
        raise _unreadable(error, content_type, validation) from None
    complaints = json_codec.duplicate_field_errors(body, fragment) if validation != "Ignore" else []
    if content_type == JSON_PATCH:
        if validation != "Ignore":
            complaints = [f"json patch {c}" for c in complaints] + jsonpatch.unknown_fields(jsonpatch.check(fragment))
        fragment = jsonpatch.as_written(fragment, body)
    return Fragment(fragment, complaints, whole)


def _unreadable(error: json_codec.MalformedJSONError, content_type: str, validation: str) -> errors.BadRequestError:
    """A patch that is no JSON; without a strict reader the patch's own says so."""
    why = error.text
    if content_type == JSON_PATCH and not error.syntax:
        why = why.replace("Go value", "Go struct field jsonPatchOp.value")
    if validation != "Ignore" and content_type != STRATEGIC_PATCH:
        return errors.BadRequestError(f"error decoding patch: {why}")
    return errors.BadRequestError("Invalid JSON Patch" if content_type == MERGE_PATCH else why)


def decode_patched(
    call: RequestContext,
    patched: Any,
    complaints: list[str],
    validation: str,
    shown: Callable[[], str],
    *,
    restored: bool,
) -> JsonObject:
    """What the patch made, coerced, pruned and defaulted as if it had been sent whole.

    `shown` is what a refusal shows. `restored`: nothing was written and read, so the kind that is stated says nothing.
    """
    value: JsonObject
    if call.version.is_builtin and not restored and not call.whole:
        value, _ = json_codec.decode_literal(shown().encode())
    else:
        # Floats are left to be spelled as such: what the patch has as a fraction is judged as one.
        value = json_codec.decode(json_codec.encode(patched, whole=True), spelled=not call.version.is_builtin)
    try:
        api_version, kind = json_codec.read_type_meta(value) if not restored else ("", "")
        if restored and (why := call.version.codec.conversion_error(patched)):
            raise _unfit(shown(), why)
        if call.version.is_builtin and not restored and not api_version:
            obj, unknown = _unread(value)
        else:
            if call.version.is_builtin:
                value["kind"], value["apiVersion"] = kind or call.resource.kind, api_version or call.version.api_version
                call.version.codec.check_kind(value["kind"], value["apiVersion"])
            elif not kind:
                raise errors.BadRequestError(f"Object 'Kind' is missing in '{shown()}'")
            obj, unknown, _ = call.version.codec.decode(value, report_unknown=validation != "Ignore")
    except (BadObjectMetaError, Undecodable) as error:
        raise _unfit(shown(), error.why) from None
    except errors.BadRequestError as error:
        raise _unfit(shown(), error.message) from None
    if complaints and not restored:
        # What the patch repeats and is not looked into, the object repeats.
        complaints = complaints + duplicates(
            call, json_codec.duplicate_field_errors(shown().encode(), value), unknown, value
        )
    found = complaints + unknown_fields(call, sorted(unknown) if restored else unknown)
    if found and validation == "Strict":
        raise _unfit(shown(), f"strict decoding error: {', '.join(found)}")
    for text in found:
        call.request.warn(text)
    match_namespace(call, obj["metadata"])
    check_name(call, obj)
    return obj


def _unread(value: JsonObject) -> tuple[JsonObject, list[str]]:
    """What is made of a built-in object that has lost its apiVersion, and the fields that are not known of it.

    It is read as the reference's own form of the type, which has none of the names that are sent.
    """
    return {"metadata": {}}, [name for name in value if name not in ("kind", "apiVersion")]


def _unfit(shown: str, why: str) -> errors.InvalidError:
    return errors.InvalidError("", "", "", [errors.invalid("patch", shown, why)])
