"""patch: change an object by a JSON patch, a merge patch, a strategic merge patch or server-side apply."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from polykind import errors
from polykind.apis.machinery import UndecodableObjectError
from polykind.apply import json_patch, merge_patch, patch_result_text, strategic_merge_patch
from polykind.codec import json_codec, negotiation
from polykind.contract import JsonObject
from polykind.golang.fmt import go_print
from polykind.names import path_segment
from polykind.operations.operation import Operation
from polykind.operations.responses import Response
from polykind.resources.resource import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from polykind.schema.object_meta import BadObjectMetaError
from polykind.verbs import respond
from polykind.verbs.apply import apply_change, apply_create, read_applied
from polykind.verbs.decode import relevant_duplicates, states_expected_type, unknown_field_errors
from polykind.verbs.metadata import check_name, match_namespace
from polykind.verbs.update import Change, change_object, may_share_old
from polykind.verbs.write import APPLY, PATCH, Write

T = TypeVar("T")

_PATCHERS: dict[str, Callable[[JsonObject, Any, bool], Any]] = {
    JSON_PATCH: lambda old, patch, lenient: json_patch.apply(old, patch, lenient=lenient),
    MERGE_PATCH: lambda old, patch, lenient: merge_patch.apply(old, patch, lenient=lenient),
}


async def patch(op: Operation) -> Response:
    content_type = patch_type(op)
    response_format = respond.negotiate(op, negotiation.VERSION_TRANSFORMS)
    options = op.patch_options(apply=content_type == APPLY_PATCH)
    all_versions = respond.wants_all_versions(response_format, options)
    op.notes.record_patch()
    if content_type == APPLY_PATCH:
        await op.backend.cache.wait_until_fresh(op.resource.cache)
        missing = op.resource.cache.get(op.key) is None
        if missing and (op.subresource or path_segment(op.name) or all_versions):
            raise op.not_found()
        applied = await read_applied(op, op.version.api_version, op.resource.kind)
        if missing:
            return await respond.object_response(op, response_format, 201, await apply_create(op, applied, options))
        change, origin = apply_change(op, applied, options), APPLY
    else:
        change, origin = patch_change(op, content_type, options.field_validation), PATCH
    data = await change_object(op, change, options, origin, all_versions=all_versions)
    return await respond.object_response(op, response_format, 200, data)


def patch_type(op: Operation) -> str:
    """Return the media type of the request's patch. Raise UnsupportedMediaTypeError if it is not supported."""
    try:
        return negotiation.patch_media_type(op.media.content_type, offers=op.version.patch_types)
    except errors.UnsupportedMediaTypeError as error:
        # kube-apiserver's router accepts a list with one supported type. Its patch handler then rejects the list.
        listed = op.media.content_type.split(",")
        if any(part.partition(";")[0].strip() in op.version.patch_types for part in listed):
            raise
        raise op.version.unsupported_patch() or error from None


def patch_change(op: Operation, content_type: str, field_validation: str) -> Change:
    """Return the change that a patch makes. The patch is decoded after the object has been found."""

    def decode() -> DecodedPatch:
        spelled = not op.version.is_builtin
        result = decode_patch(op.body, content_type, field_validation, spelled=spelled)
        if len(op.body) > 2 * op.version.strategy.max_objects:
            json_codec.check_object_count(result.patch, op.version.strategy.max_objects)
        return result

    decoded = _Recomputable(decode)

    async def change(old: JsonObject, write: Write) -> JsonObject:
        apply = partial(apply_patch, old, write)
        return await op.lane.run_in_worker(apply) if write.large else apply()

    def apply_patch(old: JsonObject, write: Write) -> JsonObject:
        _, strict_errors, write.integers_only = decoded.get()

        def patch_old() -> Any:
            if content_type == STRATEGIC_PATCH:
                return strategic_merge_patch.apply(old, decoded.get().patch, op.version.codec.merge_strategy)
            return _PATCHERS[content_type](old, decoded.get().patch, field_validation == "Ignore")

        patched = _Recomputable(patch_old)

        def shown() -> str:
            if content_type == STRATEGIC_PATCH:
                patch = decoded.get().patch or {}
                return go_print(strategic_merge_patch.remaining_patch(patch, old, op.version.codec.merge_strategy))
            return patched_text(op.version.codec.ordered(old), op.body, patched.get(), content_type)

        def release() -> None:
            decoded.release()
            patched.release()

        from_struct = content_type == STRATEGIC_PATCH
        return _decode_patched(
            op,
            write,
            patched.get,
            release,
            strict_errors,
            field_validation,
            shown,
            from_struct=from_struct,
            shares_old=content_type == MERGE_PATCH and may_share_old(op, write, patched.get()),
        )

    return change


class _Recomputable(Generic[T]):
    """A value that can be released, because it is large and few requests need it again."""

    __slots__ = ("_compute", "_values")

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute = compute
        self._values: list[T] = []

    def get(self) -> T:
        if not self._values:
            self._values.append(self._compute())
        return self._values[0]

    def release(self) -> None:
        self._values.clear()


class DecodedPatch(NamedTuple):
    """A patch, the messages of the strict decoder, and True if all numbers in the patch are known to be integers."""

    patch: Any
    strict_errors: list[str]
    integers_only: bool


def decode_patch(body: bytes, content_type: str, field_validation: str, *, spelled: bool) -> DecodedPatch:
    """Decode a patch. If `spelled` is true, a number that is written with a fraction stays a float even if it is
    integral.
    """
    try:
        # The key of a strategic merge is compared with its type: 80.0 does not match 80.
        fractions = spelled or content_type == STRATEGIC_PATCH
        patch, integers_only = json_codec.decode_flagged(body, keep_fractions=fractions)
    except json_codec.MalformedJSONError as error:
        raise _malformed_patch(error, content_type, field_validation) from None
    strict_errors = json_codec.duplicate_field_errors(body, patch) if field_validation != "Ignore" else []
    if content_type == JSON_PATCH:
        if field_validation != "Ignore":
            duplicates = [f"json patch {message}" for message in strict_errors]
            unknown = json_patch.unknown_fields(json_patch.check_operations(patch))
            strict_errors = duplicates + unknown
            if duplicates and unknown:
                strict_errors = json_codec.sort_strict_errors(strict_errors, body, prefix="json patch ")
        patch = json_patch.keep_test_texts(patch, body)
    return DecodedPatch(patch, strict_errors, integers_only)


def _malformed_patch(
    error: json_codec.MalformedJSONError, content_type: str, field_validation: str
) -> errors.BadRequestError:
    """Return the error for a malformed patch, with the text of kube-apiserver's strict decoder or patch library."""
    reason = error.text
    if content_type == JSON_PATCH and not error.syntax:
        reason = reason.replace("Go value", "Go struct field jsonPatchOp.value")
    if field_validation != "Ignore" and content_type != STRATEGIC_PATCH:
        return errors.BadRequestError(f"error decoding patch: {reason}")
    return errors.BadRequestError("Invalid JSON Patch" if content_type == MERGE_PATCH else reason)


def patched_text(before: JsonObject, body: bytes, patched: Any, content_type: str) -> str:
    """Return the result of a JSON patch or merge patch as the text that kube-apiserver's errors show."""
    text_after = patch_result_text.json_patch_text if content_type == JSON_PATCH else patch_result_text.merge_patch_text
    try:
        text = text_after(json_codec.encode_ordered(before), body)
    except (ValueError, RecursionError):
        # The object or the patch contains lone surrogates or is nested too deeply.
        text = json_codec.encode(patched)
    return text.decode("utf-8", "replace")


def _decode_patched(
    op: Operation,
    write: Write,
    patched: Callable[[], Any],
    release: Callable[[], None],
    strict_errors: list[str],
    field_validation: str,
    shown: Callable[[], str],
    *,
    from_struct: bool,
    shares_old: bool,
) -> JsonObject:
    """Coerce, prune and default the result of a patch as if the client had sent it.

    `patched` returns the result of the patch, and `release` frees the memory of both. `shown` returns the text that
    errors show. `from_struct` is true for a strategic merge patch: kube-apiserver converts its result to a Go struct
    without decoding text, so the kind in the result has no effect. If `shares_old` is true, the result may share values
    with the old object. Otherwise it is a copy.
    """
    version = op.version
    value: JsonObject
    conversion_error = ""
    if version.is_builtin and not from_struct and not write.integers_only:
        value, _ = json_codec.decode_literal(shown().encode())
    elif shares_old:
        result = patched()
        value = {**result, "metadata": dict(result["metadata"])}
    else:
        # Keep floats as they are written: validation treats 1.0 in the patch as a float.
        encoded = json_codec.encode(patched(), no_floats=True)
        conversion_error = version.codec.conversion_error(patched()) if from_struct else ""
        if write.large:
            release()
        value = json_codec.decode(encoded, keep_fractions=not version.is_builtin)
        if write.large and isinstance(value, dict):
            version.codec.check_default_size(encoded, value)
    try:
        if states_expected_type(op, value):
            api_version, kind = version.api_version, op.resource.kind
        else:
            api_version, kind = json_codec.read_type_meta(value) if not from_struct else ("", "")
        if conversion_error:
            raise _invalid_patch(shown(), conversion_error)
        if version.is_builtin and not from_struct and not api_version:
            obj, unknown = _decode_without_version(value)
        else:
            if version.is_builtin:
                value["kind"], value["apiVersion"] = kind or op.resource.kind, api_version or version.api_version
                version.codec.check_kind(value["kind"], value["apiVersion"])
            elif not kind:
                raise errors.BadRequestError(f"Object 'Kind' is missing in '{shown()}'")
            decode = version.codec.decode_converted if from_struct else version.codec.decode
            obj, unknown, write.values_validated = decode(value, report_unknown=field_validation != "Ignore")
    except (BadObjectMetaError, UndecodableObjectError) as error:
        raise _invalid_patch(shown(), error.detail) from None
    except errors.BadRequestError as error:
        raise _invalid_patch(shown(), error.message) from None
    if strict_errors and not from_struct:
        # A field that is duplicate in the patch is also duplicate in the result, unless the patch merges the field.
        duplicates = json_codec.duplicate_field_errors(shown().encode(), value)
        strict_errors = strict_errors + relevant_duplicates(op, duplicates, unknown, value)
    strict_errors = strict_errors + unknown_field_errors(op, sorted(unknown) if from_struct else unknown)
    if strict_errors and field_validation == "Strict":
        raise _invalid_patch(shown(), f"strict decoding error: {', '.join(strict_errors)}")
    for text in strict_errors:
        op.notes.warn(text)
    match_namespace(op, obj["metadata"])
    check_name(op, obj)
    return obj


def _decode_without_version(value: JsonObject) -> tuple[JsonObject, list[str]]:
    """Decode a built-in object whose apiVersion a patch has removed. Return the object and its unknown fields.

    kube-apiserver decodes such an object as its internal type, which has none of the JSON field names.
    """
    return {"metadata": {}}, [name for name in value if name not in ("kind", "apiVersion")]


def _invalid_patch(shown: str, reason: str) -> errors.InvalidError:
    return errors.InvalidError("", "", "", [errors.invalid("patch", shown, reason)])
