"""create of bindings and of pods/binding: assign a pod to a node."""

from __future__ import annotations

from functools import cache

from polykind import errors
from polykind.apis.core.pod_preparation import set_condition
from polykind.apis.core.types import BINDING
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
from polykind.verbs.change import check_precondition, read_existing
from polykind.verbs.commit import LostRaceError, commit
from polykind.verbs.decode import decode
from polykind.verbs.metadata import check_namespace, match_namespace, track_create
from polykind.verbs.write import Settled


@cache
def _pod_bindings() -> ServedVersion:
    """Return the version that stands for `pods/binding` when a Binding is decoded and admitted."""
    resource = BuiltinResource(None, BINDING)
    version = resource.serve(BINDING, BuiltinStrategy(BINDING))
    resource.plural = "pods"
    return version


async def create_pod_binding(op: Operation) -> Response:
    """Serve POST pods/<name>/binding."""
    binding_op = op.at(_pod_bindings(), namespace=op.namespace, name=op.name, subresource=op.subresource)
    return await _create(binding_op)


async def create_binding(op: Operation) -> Response:
    """Serve POST bindings, which takes the name of the pod from the body."""
    return await _create(op)


async def _create(op: Operation) -> Response:
    response_format = respond.negotiate(op)
    options = CreateOptions.from_query(op.query)
    draft = await op.lane.read(op.body, decode, op, options)
    match_namespace(op, draft.obj["metadata"])
    await check_namespace(op, op.name or draft.obj["metadata"].get("name", ""))
    # A Binding of a pod keeps its uid, which is a precondition.
    await track_create(op, draft, options, wipe=not op.subresource)
    binding = (await admit(op, draft, None, options)).obj
    name = binding["metadata"].get("name") or ""
    if op.name and op.name != name:
        raise errors.BadRequestError("name in URL does not match name in Binding object")
    if found := _validate(binding.get("target") or {}):
        # kube-apiserver does not convert these errors to a Status with a reason.
        raise errors.UnknownReasonError(errors.aggregate_message(found))
    await approve(op, binding, None, options)
    if not name:
        raise errors.BadRequestError("Name parameter required.")
    pods = find_builtin(op.backend.registry, "", "pods").storage_version()
    await _assign(op.at(pods, namespace=op.namespace, name=name, subresource=""), binding, dry_run=options.dry_run)
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return respond.status_response(op, response_format, status, 201)


def _validate(target: JsonObject) -> list[FieldError]:
    found = []
    if target.get("kind") not in (None, "", "Node"):
        found.append(errors.not_supported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        found.append(errors.required("target.name"))
    return found


async def _assign(op: Operation, binding: JsonObject, *, dry_run: bool) -> None:
    """Assign the pod that `op` names to the target of `binding`. The Binding is already admitted and validated."""
    metadata = binding["metadata"]
    while True:
        old = await read_existing(op)
        pod = old.obj
        for field in ("uid", "resourceVersion"):
            check_precondition(op, field, metadata.get(field), pod, dry_run=dry_run)
        if reason := _conflict(pod):
            raise errors.conflict("pods/binding", "", op.name, reason)
        pod["spec"]["nodeName"] = binding["target"]["name"]
        pod["status"].pop("nominatedNodeName", None)
        for field in ("annotations", "labels"):
            if metadata.get(field):
                pod["metadata"][field] = {**(pod["metadata"].get(field) or {}), **metadata[field]}
        set_condition(pod["status"], {"type": "PodScheduled", "status": "True"}, op.now())
        try:
            await commit(op, op.key, Settled(pod, old), dry_run=dry_run)
            return
        except LostRaceError:
            continue


def _conflict(pod: JsonObject) -> str:
    """Return the reason why a pod cannot be assigned to a node, or "" if it can be assigned."""
    name = pod["metadata"]["name"]
    if pod["metadata"].get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if node := pod["spec"].get("nodeName"):
        return f"pod {name} is already assigned to node {go_quote(node)}"
    return f"pod {name} has non-empty .spec.schedulingGates" if pod["spec"].get("schedulingGates") else ""
