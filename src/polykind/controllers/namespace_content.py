"""The deletion of the objects in a namespace that is being deleted: first Pods, then the others (KEP-5080)."""

from __future__ import annotations

from polykind import errors
from polykind.auth.user import service_account
from polykind.cache.cached_object import CachedObject
from polykind.contract import StoreError
from polykind.controllers.bulk_delete import delete_all
from polykind.controllers.namespace_conditions import ContentReport
from polykind.controllers.object_client import ObjectClient
from polykind.controllers.object_metadata import is_same_object, metadata
from polykind.controllers.workqueue import UnfinishedError
from polykind.operations.backend import Backend
from polykind.resources.resource import Resource

_USER = service_account("namespace-controller")
_PODS = ("", "pods")


class NamespaceContent:
    """Finds and deletes the content of namespaces.

    The objects to delete are listed in the same step of the event loop in which the namespace is known to be the one
    that is being deleted. Both caches are then at the same revision. A namespace that is created later with the same
    name has no objects at that revision, so its objects are not deleted.
    """

    def __init__(self, backend: Backend, namespaces: Resource) -> None:
        self._backend = backend
        self._namespaces = namespaces
        self._client = ObjectClient(backend, user=_USER)

    async def delete(self, namespace: CachedObject) -> ContentReport:
        """Delete all objects in a namespace, and report those that remain.

        Raise UnfinishedError if the namespace has been replaced or is no longer being deleted.
        """
        await self._build_used_resources(namespace.name)
        report = ContentReport()
        resources = [resource for resource in self._backend.registry.resources() if resource.namespaced]
        for resource in sorted(resources, key=lambda one: (one.group, one.plural) != _PODS):
            remaining = await self._delete_objects(resource, namespace, report)
            if remaining and (resource.group, resource.plural) == _PODS:
                report.waits_for_pods = True
                break
        return report

    async def _delete_objects(self, resource: Resource, namespace: CachedObject, report: ContentReport) -> bool:
        """Delete the objects of a resource in a namespace. Return True if some are known to remain."""
        failure, remaining = "", list[CachedObject]()
        try:
            # Do not load an unused resource into the cache if the namespace has no keys of that resource.
            if not resource.cache.loaded and not await self._has_keys(f"{resource.cache.prefix}{namespace.name}/"):
                return False
            objects = await self._list(resource, namespace)
            if not objects:
                return False
            await delete_all(
                self._client, resource, objects, lambda: self._is_terminating(namespace), policy="Background"
            )
            remaining = await self._list(resource, namespace)
        except (errors.APIError, StoreError) as error:
            failure = error.upstream_message if isinstance(error, errors.APIError) else str(error)
        finalizers = [metadata(cached).finalizers or () for cached in remaining]
        report.add(resource.group, resource.plural, finalizers)
        if remaining and not any(finalizers):
            gvr = f"{resource.group}/{resource.storage}, Resource={resource.plural}"
            failure = f"unexpected items still remain in namespace: {namespace.name} for gvr: {gvr}"
        if failure:
            is_pods = (resource.group, resource.plural) == _PODS
            prefix = f"failed to delete pods for namespace: {namespace.name}, err: " if is_pods else ""
            report.failures.append(prefix + failure)
        return bool(remaining)

    async def _list(self, resource: Resource, namespace: CachedObject) -> list[CachedObject]:
        """Return the objects of a resource in a namespace, at a revision at which the namespace is being deleted."""
        await self._backend.cache.load(resource.cache)
        # A load may read newer objects than the cache of namespaces has, which now catches up.
        await self._backend.cache.wait_until_fresh(self._namespaces.cache)
        if not resource.cache.loaded or not self._is_terminating(namespace):
            raise UnfinishedError
        return resource.cache.snapshot(namespace.name)

    def _is_terminating(self, namespace: CachedObject) -> bool:
        """True if a namespace still exists and is being deleted. A namespace of the same name does not count."""
        cache = self._namespaces.cache
        current = cache.get(namespace.name) if cache.loaded else None
        return current is not None and current.terminating() and is_same_object(current, namespace)

    async def _build_used_resources(self, namespace: str) -> None:
        """Build the built-in resources that no request has used yet and that have objects in the namespace."""
        for declared in self._backend.registry.declared():
            if declared.namespaced and declared.prefix and await self._has_keys(f"{declared.prefix}{namespace}/"):
                self._backend.registry.resource(declared.group, declared.plural)

    async def _has_keys(self, prefix: str) -> bool:
        return bool((await self._backend.store.range(prefix, limit=1)).items)
