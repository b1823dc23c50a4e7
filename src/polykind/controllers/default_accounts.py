"""The objects that pods expect in every namespace: the ServiceAccount `default` and the ConfigMap kube-root-ca.crt.

In a cluster, two controllers of kube-controller-manager create them. Without them, the admission plugin ServiceAccount
would reject all pods.
"""

from __future__ import annotations

from polykind import errors
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject, Leadership
from polykind.controllers.informer import Informer
from polykind.controllers.workqueue import WorkQueue
from polykind.operations.backend import Backend
from polykind.operations.operation import Operation
from polykind.operations.options import CreateOptions, UpdateOptions
from polykind.verbs.create import create_object
from polykind.verbs.update import change_object
from polykind.verbs.write import POST, PUT, Write

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
        self._leadership = leadership
        self._authority = authority
        self._namespaces = backend.cache.resource_at("namespaces")
        self._queue: WorkQueue[str] = WorkQueue(self._complete)
        self._informer: Informer[None] = Informer(backend.cache, self._namespaces, self._add_all, self._on_namespaces)

    async def start(self) -> None:
        self._leadership.subscribe(self._on_leadership)
        for path, name in (("serviceaccounts", _ACCOUNT), ("configmaps", _ROOT_CA)):
            self._backend.cache.resource_at(path).observers.append(_Deletions(self._queue, name))
        if self._leadership.leading:
            self._queue.open()
        await self._informer.start()

    async def close(self) -> None:
        await self._informer.close()
        await self._queue.close()

    def _on_leadership(self, leading: bool) -> None:
        if leading:
            self._queue.open()
            self._add_all()
        else:
            self._queue.pause()

    def _add_all(self) -> None:
        if self._leadership.leading:
            for cached in self._namespaces.snapshot(None):
                self._queue.add(cached.name)

    def _on_namespaces(self, changes: list[ObjectChange]) -> None:
        if self._leadership.leading:
            for change in changes:
                if change.old is None and change.new is not None:
                    self._queue.add(change.new.name)

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
        namespace, name = meta["namespace"], meta["name"]
        stored = await backend.store.get(f"{backend.cache.prefix}{plural}/{namespace}/{name}")
        data = expected.get("data")
        if stored is not None and (data is None or self._has_authority(stored.value)):
            return
        resource = backend.registry.resource("", plural)
        if resource is None:
            return
        try:
            if stored is None:
                op = Operation.by_server(
                    backend, "create", resource.storage_version(), name, namespace=namespace, manager=_MANAGER
                )
                await create_object(op, Write(expected, POST, CreateOptions()))
                return

            async def corrected(old: JsonObject, _: Write) -> JsonObject:
                return {**old, "data": data}

            op = Operation.by_server(
                backend, "update", resource.storage_version(), name, namespace=namespace, manager=_MANAGER
            )
            await change_object(op, corrected, UpdateOptions(), PUT)
        except (errors.AlreadyExistsError, errors.NotFoundError, errors.ForbiddenError):
            # Another replica was faster, or the namespace is being deleted. The next change enqueues the namespace
            # again.
            return

    def _has_authority(self, value: bytes) -> bool:
        """True if stored bytes contain the CA certificate, as JSON or as protobuf."""
        return self._authority.encode("unicode_escape") in value or self._authority.encode() in value


class _Deletions:
    """A cache observer: when the object `name` of a namespace is deleted or changed, adds the namespace to a queue."""

    def __init__(self, queue: WorkQueue[str], name: str) -> None:
        self._queue = queue
        self._name = name

    def on_changes(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            if change.cached.name == self._name and change.old is not None:
                self._queue.add(change.cached.namespace)

    def on_reset(self) -> None:
        return
