"""The objects that pods expect in every namespace: the ServiceAccount `default` and the ConfigMap kube-root-ca.crt.

In a cluster, two controllers of kube-controller-manager create them. Without them, the admission plugin ServiceAccount
would reject all pods.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from polykind import errors
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject, Leadership
from polykind.controllers.controller_runtime import Controller
from polykind.controllers.object_client import ObjectClient
from polykind.operations.backend import Backend

_MANAGER = "kube-controller-manager"
_ACCOUNT, _ROOT_CA = "default", "kube-root-ca.crt"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class DefaultAccountsController:
    """Creates both objects in every active namespace if this replica is the leader, and again after their deletion.

    The controller loads ServiceAccounts and ConfigMaps into the cache only if an object is missing or deleted.
    """

    def __init__(self, backend: Backend, leadership: Leadership, authority: str) -> None:
        """`authority` is the CA certificate of the server, in PEM."""
        self._backend = backend
        self._client = ObjectClient(backend, manager=_MANAGER)
        self._authority = authority
        self._namespaces = backend.cache.resource_at("namespaces")
        self._controller: Controller[str] = Controller(leadership, self._complete, keys=self._names)
        self._controller.follow(backend.cache, self._namespaces, _created)
        for path, name in (("serviceaccounts", _ACCOUNT), ("configmaps", _ROOT_CA)):
            self._controller.observe(backend.cache.resource_at(path), partial(_changed, name))
        self.start, self.close = self._controller.start, self._controller.close

    def _names(self) -> Iterable[str]:
        return [cached.name for cached in self._namespaces.snapshot(None)]

    async def _complete(self, namespace: str) -> None:
        """Create the missing objects of a namespace. Correct the CA certificate in the ConfigMap if it was changed."""
        cached = self._namespaces.get(namespace)
        if cached is None or cached.terminating():
            return
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _ACCOUNT, "namespace": namespace}}
        await self._ensure("serviceaccounts", account)
        meta = {
            "name": _ROOT_CA,
            "namespace": namespace,
            "annotations": {"kubernetes.io/description": _DESCRIPTION},
        }
        data = {"ca.crt": self._authority}
        await self._ensure("configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "data": data, "metadata": meta})

    async def _ensure(self, plural: str, expected: JsonObject) -> None:
        """Create the object `expected` if it does not exist. Replace its data if the data differs."""
        backend, meta = self._backend, expected["metadata"]
        key = f"{meta['namespace']}/{meta['name']}"
        # Read the store, so that the resource is loaded into the cache only if there is something to write.
        stored = await backend.store.get(f"{backend.cache.prefix}{plural}/{key}")
        data = expected.get("data")
        if stored is not None and (data is None or self._has_authority(stored.value)):
            return
        resource = backend.registry.resource("", plural)
        if resource is None:
            return
        version = resource.storage_version()
        seen = await self._client.read(resource, key)
        try:
            if seen is None:
                await self._client.create(version, expected)
            elif data is not None and not self._has_authority(seen.raw):
                await self._client.change(version, seen, lambda obj: obj.update(data=data))
        except (errors.AlreadyExistsError, errors.NotFoundError, errors.ForbiddenError):
            # Another replica was faster, or the namespace is being deleted. The next change enqueues the namespace
            # again.
            return

    def _has_authority(self, value: bytes) -> bool:
        """True if stored bytes contain the CA certificate, as JSON or as protobuf."""
        return self._authority.encode("unicode_escape") in value or self._authority.encode() in value


def _created(change: ObjectChange) -> Iterable[str]:
    return (change.new.name,) if change.old is None and change.new is not None else ()


def _changed(name: str, change: ObjectChange) -> Iterable[str]:
    """Return the namespace of an object that has this name and was deleted or changed."""
    return (change.cached.namespace,) if change.cached.name == name and change.old is not None else ()
