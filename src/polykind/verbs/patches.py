"""The changes that JSON patches, merge patches and strategic merge patches make. `apply` has those of apply."""

from __future__ import annotations

from typing import Any, NamedTuple

from polykind import errors
from polykind.apis.machinery import UndecodableObjectError
from polykind.apply import json_patch, merge_patch, patch_result_text, strategic_merge_patch
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.golang.fmt import go_print
from polykind.operations.operation import Operation
from polykind.operations.options import WriteOptions
from polykind.resources.resource import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Decoded
from polykind.schema.object_meta import BadObjectMetaError
from polykind.verbs.change import Change
from polykind.verbs.decode import relevant_duplicates, states_expected_type, unknown_field_errors
from polykind.verbs.metadata import check_name, match_namespace
from polykind.verbs.write import Draft, Existing, Learnt


def patch_of(op: Operation, content_type: str, options: WriteOptions) -> Patch:
    """Return the change that the patch in the request body makes."""
    return (StrategicPatch if content_type == STRATEGIC_PATCH else Patch)(op, options, content_type)


class Patch(Change):
    """The change that a JSON patch or a merge patch makes. The patch is decoded after the object has been found."""

    def __init__(self, op: Operation, options: WriteOptions, content_type: str) -> None:
        super().__init__(op, options)
        self._type = content_type

    async def change(self, old: Existing) -> Draft:
        return await self.op.lane.run(self.patched, old)

    def patched(self, old: Existing) -> Draft:
        """Return the result of the patch, coerced, pruned and defaulted as if the client had sent it."""
        patch = self._decode()
        value = self._result(old, patch)
        strict_errors, integers_only = patch.strict_errors, patch.integers_only
        # A large patch takes much memory, and few results need it again.
        del patch
        try:
            decoded = self._decode_result(old, value)
        except (BadObjectMetaError, UndecodableObjectError) as error:
            raise self._invalid(old, error.detail) from None
        except errors.BadRequestError as error:
            raise self._invalid(old, error.message) from None
        if strict_errors or decoded.unknown_fields:
            self._report(old, value, strict_errors, decoded.unknown_fields)
        match_namespace(self.op, decoded.obj["metadata"])
        check_name(self.op, decoded.obj)
        return Draft(decoded.obj, Learnt.VALID if decoded.validated else Learnt.PRUNED, integers_only)

    def _decode(self) -> DecodedPatch:
        """Decode the patch in the request body."""
        op, limit = self.op, self.op.version.strategy.max_objects
        spelled = not op.version.is_builtin
        decoded = decode_patch(op.body, self._type, self.options.field_validation, spelled=spelled)
        if len(op.body) > 2 * limit:
            json_codec.check_object_count(decoded.patch, limit)
        return decoded

    def _merge(self, old: JsonObject, patch: Any) -> Any:
        apply = json_patch.apply if self._type == JSON_PATCH else merge_patch.apply
        return apply(old, patch, lenient=self.options.field_validation == "Ignore")

    def _result(self, old: Existing, patch: DecodedPatch) -> Any:
        """Return the result of the patch, not decoded as an object yet. It shares no values that decoding changes."""
        op = self.op
        result = self._merge(old.obj, patch.patch)
        if op.version.is_builtin and not patch.integers_only:
            return json_codec.decode_literal(self._text(old, result).encode())[0]
        if self._type == MERGE_PATCH and patch.integers_only and may_share_old(op, old, result):
            op.version.codec.check_default_size(op.body, result)
            return {**result, "metadata": dict(result["metadata"])}
        return self._copy(result)

    def _copy(self, result: Any) -> Any:
        # Keep floats as they are written: validation treats 1.0 in the patch as a float.
        encoded = json_codec.encode(result, no_floats=True)
        copied = json_codec.decode(encoded, keep_fractions=not self.op.version.is_builtin)
        if isinstance(copied, dict):
            self.op.version.codec.check_default_size(encoded, copied)
        return copied

    def _decode_result(self, old: Existing, value: Any) -> Decoded:
        """Decode the result of the patch as an object. Raise BadRequestError if it is none."""
        op, version = self.op, self.op.version
        reports = self.options.field_validation != "Ignore"
        if states_expected_type(op, value):
            return version.codec.decode(value, report_unknown=reports)
        api_version, kind = json_codec.read_type_meta(value)
        if version.is_builtin:
            if not api_version:
                return _decode_without_version(value)
            value["kind"], value["apiVersion"] = kind or op.resource.kind, api_version
            version.codec.check_kind(value["kind"], api_version)
        elif not kind:
            raise errors.BadRequestError(f"Object 'Kind' is missing in '{self._shown(old)}'")
        return version.codec.decode(value, report_unknown=reports)

    def _report(self, old: Existing, value: JsonObject, strict_errors: list[str], unknown: list[str]) -> None:
        """Send warnings about duplicate and unknown fields, or raise InvalidError if field validation is strict."""
        if strict_errors:
            # A field that is duplicate in the patch is also duplicate in the result, unless the patch merges the field.
            duplicates = json_codec.duplicate_field_errors(self._shown(old).encode(), value)
            strict_errors = strict_errors + relevant_duplicates(self.op, duplicates, unknown, value)
        self._warn(old, strict_errors + unknown_field_errors(self.op, unknown))

    def _warn(self, old: Existing, strict_errors: list[str]) -> None:
        if strict_errors and self.options.field_validation == "Strict":
            raise self._invalid(old, f"strict decoding error: {', '.join(strict_errors)}")
        for text in strict_errors:
            self.op.notes.warn(text)

    def _shown(self, old: Existing) -> str:
        """Return the result of the patch as the text that errors show. Few patches need it, so it is not kept."""
        return self._text(old, self._merge(old.obj, self._decode().patch))

    def _text(self, old: Existing, patched: Any) -> str:
        return patched_text(self.op.version.codec.ordered(old.obj), self.op.body, patched, self._type)

    def _invalid(self, old: Existing, reason: str) -> errors.InvalidError:
        return errors.InvalidError("", "", "", [errors.invalid("patch", self._shown(old), reason)])


class StrategicPatch(Patch):
    """The change that a strategic merge patch makes of a built-in object.

    kube-apiserver converts its result to a Go struct without decoding text, so the kind in the result has no effect.
    """

    def _merge(self, old: JsonObject, patch: Any) -> Any:
        return strategic_merge_patch.apply(old, patch, self.op.version.codec.merge_strategy)

    def _result(self, old: Existing, patch: DecodedPatch) -> Any:
        result = self._merge(old.obj, patch.patch)
        copied = self._copy(result)
        if reason := self.op.version.codec.conversion_error(result):
            raise self._invalid(old, reason)
        return copied

    def _decode_result(self, old: Existing, value: Any) -> Decoded:
        op, version = self.op, self.op.version
        value["kind"], value["apiVersion"] = op.resource.kind, version.api_version
        version.codec.check_kind(value["kind"], value["apiVersion"])
        return version.codec.decode_converted(value, report_unknown=self.options.field_validation != "Ignore")

    def _report(self, old: Existing, value: JsonObject, strict_errors: list[str], unknown: list[str]) -> None:
        self._warn(old, strict_errors + unknown_field_errors(self.op, sorted(unknown)))

    def _shown(self, old: Existing) -> str:
        patch = self._decode().patch or {}
        return go_print(strategic_merge_patch.remaining_patch(patch, old.obj, self.op.version.codec.merge_strategy))


def may_share_old(op: Operation, old: Existing, merged: Any) -> bool:
    """True if pruning and defaulting the result of a merge cannot change the values of the old object in it.

    This holds if the old object is normalized, and if the client has sent integers only: numbers with a fraction have
    to be decoded again. A mutating webhook or policy might change the values.
    """
    cached, version = old.cached, op.version
    return (
        version.representer.stores_normalized
        and not version.is_builtin
        and version.representer.known(cached) is cached
        and old.integers_only
        and not op.backend.admission.mutates
        and type(merged) is dict
        and type(merged.get("metadata")) is dict
    )


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


def _decode_without_version(value: JsonObject) -> Decoded:
    """Decode a built-in object whose apiVersion a patch has removed. Return the object and its unknown fields.

    kube-apiserver decodes such an object as its internal type, which has none of the JSON field names.
    """
    return Decoded({"metadata": {}}, [name for name in value if name not in ("kind", "apiVersion")])
