"""create of pods/eviction: delete a pod if its PodDisruptionBudget allows it."""

from __future__ import annotations

from functools import cache

from msgspec.structs import replace

from polykind import errors
from polykind.apis.core.pod_preparation import set_condition
from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table
from polykind.apis.policy import disruption
from polykind.apis.policy.types import EVICTION, POLICY_V1
from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.operations.options import CreateOptions, DeleteOptions, UpdateOptions
from polykind.operations.responses import Response
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, find_builtin
from polykind.resources.resource import ServedVersion
from polykind.verbs import respond
from polykind.verbs.admit import admit, approve
from polykind.verbs.change import read_existing
from polykind.verbs.commit import LostRaceError, commit
from polykind.verbs.decode import decode
from polykind.verbs.delete import delete_object
from polykind.verbs.metadata import check_namespace, match_namespace, track_update
from polykind.verbs.write import Draft, Existing, Settled

_TERMINAL_PHASES = ("Succeeded", "Failed")
_IGNORE_READ_ERROR = "ignoreStoreReadErrorWithClusterBreakingPotential"
_OLD_VERSION = b"policy/v1beta1"
_MANAGER = "kube-apiserver"
"""The field manager of the changes that an eviction makes to a budget."""


@cache
def _evictions(version: str) -> ServedVersion:
    """Return the version that stands for `pods/eviction` when an Eviction of this version is decoded and admitted."""
    kind = EVICTION
    if version != POLICY_V1.version:
        group_version = GroupVersion(POLICY_V1.group, version, type_table("policy", version, like="v1"))
        kind = Kind(group_version, EVICTION.kind, verbs=(), namespaced=True)
    resource = BuiltinResource(None, kind)
    served = resource.serve(kind, BuiltinStrategy(kind))
    resource.group, resource.plural = "", "pods"
    return served


async def create_eviction(op: Operation) -> Response:
    response_format = respond.negotiate(op)
    options = CreateOptions.from_query(op.query)
    eviction_op, draft = await _decode(op, options)
    match_namespace(eviction_op, draft.obj["metadata"])
    await check_namespace(eviction_op, op.name)
    eviction = (await admit(eviction_op, draft, None, options)).obj
    if eviction["metadata"].get("name") != op.name:
        raise errors.BadRequestError("name in URL does not match name in Eviction object")
    requested = eviction.get("deleteOptions") or {}
    if requested.get(_IGNORE_READ_ERROR):
        reason = "can not be set for pod eviction, try after removing the option"
        error = errors.invalid(f"deleteOptions.{_IGNORE_READ_ERROR}", True, reason)
        raise errors.InvalidError(EVICTION.kind, EVICTION.group, op.name, [error])
    delete_options = DeleteOptions.from_body({**requested, "kind": "", "apiVersion": ""})
    delete_options = replace(delete_options, dry_run=delete_options.dry_run or options.dry_run)
    await approve(eviction_op, eviction, None, options)
    await _evict(op, delete_options)
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return respond.status_response(op, response_format, status, 201)


async def _decode(op: Operation, options: CreateOptions) -> tuple[Operation, Draft]:
    """Decode an Eviction of version v1 or v1beta1."""
    contexts = [
        op.at(_evictions(version), namespace=op.namespace, name=op.name, subresource=op.subresource)
        for version in ("v1", "v1beta1")
    ]
    try:
        return contexts[0], await contexts[0].lane.read(op.body, decode, contexts[0], options)
    except errors.BadRequestError:
        if _OLD_VERSION not in op.body:
            raise
        return contexts[1], await contexts[1].lane.read(op.body, decode, contexts[1], options)


async def _evict(op: Operation, options: DeleteOptions) -> None:
    """Delete the pod of the context. Raise APIError if its disruption budget does not allow the eviction."""
    while True:
        pod = (await read_existing(op)).obj
        phase, terminating = (pod.get("status") or {}).get("phase"), bool(pod["metadata"].get("deletionTimestamp"))
        revision = pod["metadata"]["resourceVersion"]
        needs_budget = phase not in (*_TERMINAL_PHASES, "Pending") and not terminating
        if needs_budget:
            counted, budget = await _use_budget(op, pod, dry_run=options.dry_run)
            unchanged = not counted and bool(budget)
        else:
            budget, unchanged = "", phase not in _TERMINAL_PHASES and not terminating
        # If the pod becomes ready meanwhile, the delete must fail, because the budget has not counted the pod.
        pinned = unchanged and options.resource_version is None
        try:
            await _mark_and_delete(op, replace(options, resource_version=revision) if pinned else options)
            return
        except errors.ConflictError:
            if not pinned:
                raise
            if needs_budget:
                raise disruption.still_processing(budget) from None
            if options.uid and options.uid != pod["metadata"]["uid"]:
                raise  # the pod's uid never changes


async def _mark_and_delete(op: Operation, options: DeleteOptions) -> None:
    """Add the condition DisruptionTarget to the pod, then delete the pod.

    Admission has already handled the eviction.
    """
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    while not options.dry_run:
        pod = await read_existing(op)
        _check_preconditions(pod.obj["metadata"], options)
        set_condition(pod.obj.setdefault("status", {}), condition, op.now())
        try:
            written = await commit(op, op.key, Settled(pod.obj, pod))
        except LostRaceError:
            continue
        if options.resource_version is not None:
            options = replace(options, resource_version=str(written.cached.revision))
        break
    await delete_object(op, options, admission=False)


def _check_preconditions(metadata: JsonObject, options: DeleteOptions) -> None:
    for word, field, wanted, event in (
        ("UID", "uid", options.uid, "deleted and then recreated"),
        ("ResourceVersion", "resourceVersion", options.resource_version, "modified"),
    ):
        if wanted and wanted != metadata.get(field):
            reason = (
                f"the {word} in the precondition ({wanted}) does not match the {word} in record "
                f"({metadata.get(field)}). The object might have been {event}"
            )
            raise errors.conflict("Pod", "", metadata["name"], reason)


async def _use_budget(op: Operation, pod: JsonObject, *, dry_run: bool) -> tuple[bool, str]:
    """Take one disruption from the budget of a pod.

    Return True if the budget now counts the eviction, and the name of the budget, or "" if the pod has no budget. A
    budget does not count pods that are not ready.
    """
    resource = find_builtin(op.backend.registry, "policy", "poddisruptionbudgets")
    budgets_op = op.at(resource.storage_version(), namespace=op.namespace, name="", subresource="status")
    while True:
        await op.backend.cache.load(resource.cache)
        await op.backend.cache.wait_until_fresh(resource.cache)
        matching = []
        for cached in resource.cache.snapshot(op.namespace):
            budget = resource.shown(cached)
            if disruption.selects(budget, pod):
                matching.append((cached, budget))
        if not matching:
            return False, ""
        if len(matching) > 1:
            raise errors.UnknownReasonError(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            )
        cached, budget = matching[0]
        name = budget["metadata"]["name"]
        if not disruption.protects(budget, pod):
            return False, name
        disruption.count_disruption(budget, pod["metadata"]["name"], op.now())
        if dry_run:
            return True, name
        key = resource.key(op.namespace or "", name)
        draft, old = Draft(budget), Existing(resource.shown(cached), cached)
        await track_update(budgets_op, draft, old, UpdateOptions(field_manager=_MANAGER))
        try:
            await commit(budgets_op, key, Settled(budget, old))
            return True, name
        except LostRaceError:
            continue
