"""settle: prepare a draft by the rules of its kind, validate it, and bring it to the form in which it is stored."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from polykind import errors, names
from polykind.admission.evaluation_deadline import EvaluationInterruptedError, on_loop_check
from polykind.contract import InterruptCheck, JsonObject
from polykind.errors import FieldError
from polykind.operations.operation import Operation
from polykind.resources.resource import Validation
from polykind.schema import metadata_validation
from polykind.verbs.metadata import keep_manager_times
from polykind.verbs.write import Draft, Existing, Learnt, Settled


async def settle(op: Operation, draft: Draft, old: Existing | None) -> Settled:
    """Prepare and validate a new object, and send warnings about it to the client.

    Raise InvalidError if it is invalid.
    """
    strategy, run = op.version.strategy, op.lane.run
    draft = await run(_prepare, op, draft, old)
    validate = partial(_validate, op, draft, old)
    if strategy.evaluates_rules:
        validation = await op.lane.run_interruptible(validate, on_loop_check, EvaluationInterruptedError)
    else:
        validation = await run(validate, None)
    field_errors = validation.errors
    if field_errors and op.backend.allows_privileged:
        field_errors = [error for error in field_errors if not error.privileged]
    if strategy.reads_params and not field_errors and not op.subresource:
        field_errors = await _param_errors(op, draft, old)
    for text in validation.ratcheted:
        op.notes.warn(text)
    if field_errors:
        # A large object may have many errors, whose texts take long to build.
        raise await run(_invalid, op, draft.obj, old, field_errors)
    for text in await run(_complete, op, draft, old):
        op.notes.warn(text)
    integers_only = draft.integers_only and (old is None or old.integers_only)
    return Settled(draft.obj, old, draft.learnt, integers_only, draft.raw_metadata, draft.metadata_error, draft.applied)


# ---------------------------------------------------------------------- prepare


def _prepare(op: Operation, draft: Draft, old: Existing | None) -> Draft:
    """Return the draft with the fields that the endpoint and the kind determine."""
    if old is None:
        op.version.strategy.prepare_create(draft.obj)
        return draft
    learnt = draft.learnt
    if learnt is Learnt.VALID and (op.subresource or _restores_status(op, draft.obj, old.obj)):
        # The values that the endpoint restores are not those that decoding has validated.
        learnt = Learnt.PRUNED
    new = _prepare_update(op, draft.obj, old.obj)
    return draft if new is draft.obj and learnt is draft.learnt else replace(draft, obj=new, learnt=learnt)


def _restores_status(op: Operation, new: JsonObject, old: JsonObject) -> bool:
    """True if an update of an object cannot change its status and the new object has another status."""
    return op.version.has_status and new.get("status") is not old.get("status")


def _prepare_update(op: Operation, new: JsonObject, old: JsonObject) -> JsonObject:
    """Return the new object. Fields that the endpoint cannot change keep their old values."""
    strategy = op.version.strategy
    if not new.get("apiVersion"):
        raise errors.InternalError("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    if op.subresource == "status" and not op.version.is_builtin:
        new = strategy.prepare_status(new, old)
    _keep_system_metadata(new["metadata"], old["metadata"])
    if op.subresource in ("", "scale"):
        strategy.prepare_update(new, old)
    elif op.version.is_builtin:
        new = strategy.prepare_subresource(op.subresource, new, old)
    return new


def _keep_system_metadata(meta: JsonObject, before: JsonObject) -> None:
    """Restore the metadata that only the server changes."""
    if not meta.get("uid") and before.get("uid"):
        meta["uid"] = before["uid"]
    meta["creationTimestamp"] = before.get("creationTimestamp", meta.get("creationTimestamp"))
    if "deletionTimestamp" in before:
        meta["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before:
        meta.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
    if "generation" in before:
        meta["generation"] = before["generation"]
    else:
        meta.pop("generation", None)


# ---------------------------------------------------------------------- validate


def _validate(op: Operation, draft: Draft, old: Existing | None, check: InterruptCheck | None) -> Validation:
    """Return the errors of the new object. The evaluation of CEL rules calls `check`."""
    strategy, new, validated = op.version.strategy, draft.obj, draft.learnt is Learnt.VALID
    if old is None:
        return strategy.validate_create(new, values_validated=validated, check=check)
    if op.subresource in ("", "scale"):
        validation = strategy.validate_update(new, old.obj, values_validated=validated, check=check)
    else:
        validation = strategy.validate_subresource(op.subresource, new, old.obj, check=check)
    meta, meta_errors = new["metadata"], []
    if validation.errors or op.version.is_builtin:
        # In kube-apiserver, the strategy of a custom resource repeats this validation. If it has found no errors,
        # there are none.
        meta_errors = metadata_validation.validate_object_meta_update(meta, old.obj["metadata"])
    field_errors = metadata_validation.validate_object_meta(
        meta, namespaced=op.resource.namespaced, name_rule=names.path_segment, only_identity=not meta_errors
    )
    return Validation(field_errors + meta_errors + validation.errors, validation.ratcheted)


async def _param_errors(op: Operation, draft: Draft, old: Existing | None) -> list[FieldError]:
    """Return an error if the new object refers to params that the client may not read."""
    if op.backend.authorizer.allows_everything:
        return []
    from polykind.verbs.privileges import param_errors

    return await param_errors(op, draft.obj, None if old is None else old.obj)


def _invalid(op: Operation, obj: JsonObject, old: Existing | None, field_errors: list[FieldError]) -> errors.APIError:
    group = op.version.strategy.error_group
    if group is None:
        group = op.resource.group if old is None else obj["apiVersion"].rpartition("/")[0]
    return errors.InvalidError(obj.get("kind", ""), group, obj["metadata"].get("name", ""), field_errors)


# ---------------------------------------------------------------------- complete


def _complete(op: Operation, draft: Draft, old: Existing | None) -> list[str]:
    """Bring a valid object to the form in which it is stored. Return the warnings about it."""
    strategy, new = op.version.strategy, draft.obj
    strategy.canonicalize(new)
    if old is None:
        return strategy.warnings(new, None)
    if op.subresource:
        warnings = strategy.subresource_warnings(op.subresource, new, old.obj)
    else:
        warnings = strategy.warnings(new, old.obj)
    if not draft.raw_metadata:
        keep_manager_times(new, old.obj)
    return warnings
