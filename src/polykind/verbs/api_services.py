"""The verbs of APIServices. Each verb first writes the APIServices of the API versions that the server serves.

kube-apiserver registers an APIService for every API version that it serves. Clients rarely ask for them, so this server
writes them at the first request and not at its start.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from polykind.apis.apiregistration.types import API_SERVICE
from polykind.apis.groups import kinds_by_group_version
from polykind.apply import field_manager
from polykind.cache.cached_object import Encoded
from polykind.contract import JsonObject, RevisionConflictError
from polykind.operations.operation import Operation
from polykind.operations.responses import Response, Stream
from polykind.strategies.apiregistration.strategy import APIServiceResource, local_status
from polykind.verbs.create import create
from polykind.verbs.delete import delete, deletecollection
from polykind.verbs.get import get
from polykind.verbs.list import list_
from polykind.verbs.patch import patch
from polykind.verbs.subresources import Verb
from polykind.verbs.update import update
from polykind.verbs.watch import watch

_AUTOMANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
_CRD_PRIORITIES: Final = {"groupPriorityMinimum": 1000, "versionPriority": 100}
_API_VERSION: Final = API_SERVICE.group_version.api_version


def _registering(verb: Verb) -> Verb:
    """Return a verb that first writes the APIServices of the served API versions."""

    async def run(op: Operation) -> Response | Stream:
        await _register(op)
        return await verb(op)

    return run


async def _register(op: Operation) -> None:
    """Write the APIServices of served API versions, and remove those of CRD versions that are no longer served."""
    resource = op.resource
    await op.backend.cache.wait_until_fresh(resource.cache)
    wanted = _crd_services(op)
    stored = {cached.name: cached for cached in resource.cache.snapshot(None)}
    for name, cached in stored.items():
        labels = cached.labels or {}
        if labels.get(_AUTOMANAGED) == "true" and name not in wanted:
            with suppress(RevisionConflictError):
                await op.backend.store.delete(resource.cache.prefix + name, expect=cached.revision)
    if isinstance(resource, APIServiceResource) and not resource.registered:
        # As in kube-apiserver, a deleted APIService of a built-in API version is created again only at the next start.
        resource.registered = True
        wanted |= _builtin_services(op)
    for name, obj in wanted.items():
        if name not in stored:
            await _write(op, obj)


def _builtin_services(op: Operation) -> dict[str, JsonObject]:
    served = op.backend.registry.builtin_versions
    return dict(
        _service(
            version.group,
            version.version,
            {"groupPriorityMinimum": version.group_priority, "versionPriority": version.version_priority},
            "onstart",
        )
        for version in kinds_by_group_version()
        # kube-apiserver creates no APIService for the API group of APIServices itself.
        if (version.group, version.version) in served and version.group != API_SERVICE.group
    )


def _crd_services(op: Operation) -> dict[str, JsonObject]:
    custom = (resource for resource in op.backend.registry.resources() if not resource.is_builtin)
    return dict(
        _service(resource.group, version, _CRD_PRIORITIES, "true")
        for resource in custom
        for version in resource.versions
        if (resource.group, version) not in op.backend.registry.builtin_versions
    )


def _service(group: str, version: str, priorities: JsonObject, automanaged: str) -> tuple[str, JsonObject]:
    """Return the name of an API version's APIService, and the APIService."""
    name = f"{version}.{group}"
    spec = {**({"group": group} if group else {}), "version": version, **priorities}
    metadata = {"name": name, "labels": {_AUTOMANAGED: automanaged}}
    return name, {"apiVersion": _API_VERSION, "kind": API_SERVICE.kind, "metadata": metadata, "spec": spec}


async def _write(op: Operation, obj: JsonObject) -> None:
    resource, meta = op.resource, obj["metadata"]
    meta |= {"uid": op.backend.ids.uid(), "creationTimestamp": op.now()}
    meta["managedFields"] = await field_manager.update(
        None,
        obj,
        manager="kube-apiserver",
        api_version=_API_VERSION,
        subresource="",
        now=op.now(),
        models=resource.models,
        convert=op.version.representer.convert,
    )
    obj["status"] = local_status(op.now())
    with suppress(RevisionConflictError):
        await op.backend.store.put(resource.cache.prefix + meta["name"], Encoded(obj).stored(), expect=0)


get_api_service = _registering(get)
list_api_services = _registering(list_)
watch_api_services = _registering(watch)
create_api_service = _registering(create)
update_api_service = _registering(update)
patch_api_service = _registering(patch)
delete_api_service = _registering(delete)
delete_api_services = _registering(deletecollection)
