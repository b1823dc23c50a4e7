"""A simulation of the controllers, the scheduler and the kubelet that a test server lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType

from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject
from polykind.controllers.informer import Informer
from polykind.controllers.workqueue import WorkQueue
from polykind.operations.backend import Backend
from polykind.resources.builtin import BuiltinResource
from polykind.testing.blocking import Blocking
from polykind.testing.exceptions import Refused, raise_at_awaiter
from polykind.testing.loop_thread import LoopThread
from polykind.testing.simulation.simulated_cluster import SimulatedCluster
from polykind.testing.simulation.simulated_controller import SimulatedController
from polykind.testing.simulation.simulated_cron_jobs import SimulatedCronJobs
from polykind.testing.simulation.simulated_daemon_sets import SimulatedDaemonSets
from polykind.testing.simulation.simulated_deployments import SimulatedDeployments
from polykind.testing.simulation.simulated_failures import DEFAULT_REASONS, Failure, Failures, check_reason
from polykind.testing.simulation.simulated_jobs import SimulatedJobs
from polykind.testing.simulation.simulated_pods import SimulatedPods
from polykind.testing.simulation.simulated_replica_sets import SimulatedReplicaSets
from polykind.testing.simulation.simulated_services import SimulatedServices
from polykind.testing.simulation.simulated_stateful_sets import SimulatedStatefulSets
from polykind.testing.simulation.simulated_volumes import SimulatedVolumeClaims

_CONTROLLERS: dict[str, type[SimulatedController]] = {
    controller.plural: controller
    for controller in (
        SimulatedCronJobs,
        SimulatedDaemonSets,
        SimulatedDeployments,
        SimulatedJobs,
        SimulatedVolumeClaims,
        SimulatedPods,
        SimulatedReplicaSets,
        SimulatedServices,
        SimulatedStatefulSets,
    )
}

Item = tuple[str, str, str]
"""The plural, the namespace and the name of an object to reconcile."""


class AsyncSimulation:
    """Runs the simulated controllers of some kinds until `stop` or the end of the test."""

    def __init__(self, loop: LoopThread, kinds: Iterable[str], delays: Mapping[str, float]) -> None:
        """Without `kinds`, simulate all kinds. `delays` maps a kind to the seconds before each step of its objects.

        Raise Refused if a kind cannot be simulated.
        """
        self._loop = loop
        self._plurals = _with_created(_known(kinds) or list(_CONTROLLERS))
        self._delays = dict(delays)
        _known(self._delays)
        self._failures = Failures()
        self._controllers: dict[str, SimulatedController] = {}
        self._informers: list[tuple[BuiltinResource, Informer[None]]] = []
        self._queue: WorkQueue[Item] = WorkQueue(self._reconcile, workers=1)
        self.stopped = False
        """True after `stop`. A rollback restarts only simulations that have not been stopped."""

    @raise_at_awaiter
    async def stop(self) -> None:
        """Stop the simulated controllers. Objects keep their state."""
        if not self.stopped:
            self.stopped = True
            await self._loop.call(self.detach())

    @raise_at_awaiter
    async def fail(
        self, kind: str, *, name: str = "*", namespace: str = "*", reason: str = "", message: str = ""
    ) -> None:
        """Make existing and future objects of a kind fail until `recover`. The name and namespace may be patterns.

        Pods fail with any reason that a kubelet reports: `CrashLoopBackOff` (the default), `OOMKilled`,
        `ImagePullBackOff`, `CreateContainerConfigError`, `Evicted`, `NotReady`, `Unschedulable`.
        Raise Refused if objects of this kind cannot fail.
        """
        if kind not in DEFAULT_REASONS:
            raise Refused(f"{kind} cannot fail by themselves: fail one of {', '.join(DEFAULT_REASONS)}")
        if kind not in self._plurals:
            raise Refused(f'{kind} are not simulated here: use simulate("{kind}", ...)')
        check_reason(kind, reason)
        self._failures.add(Failure(kind, name, namespace, reason or DEFAULT_REASONS[kind], message))
        await self._loop.call(self._reconcile_all([kind]))

    @raise_at_awaiter
    async def recover(self, kind: str | None = None, *, name: str = "*") -> None:
        """End failures: all of them, only those of a kind, or only those for which `fail` was called with `name`."""
        kinds = [kind] if kind is not None else list(DEFAULT_REASONS)
        self._failures.remove(kinds, name)
        await self._loop.call(self._reconcile_all(kinds))

    @raise_at_awaiter
    async def trigger(self, name: str, namespace: str = "default") -> None:
        """Start a Job of a CronJob, as if its scheduled time had come. Raise Refused if CronJobs are not simulated."""
        controller = self._controllers.get("cronjobs")
        if not isinstance(controller, SimulatedCronJobs):
            raise Refused('CronJobs are not simulated: use simulate("cronjobs")')
        controller.trigger(namespace, name)
        await self._loop.call(self._reconcile_all(["cronjobs"]))

    # ------------------------------------------------------------------ used by ServerInstance

    def includes(self, plural: str) -> bool:
        """True if this simulation changes objects of a resource."""
        return plural in self._plurals

    async def attach(self, backend: Backend) -> None:
        """Start the simulated controllers for the objects of a server."""
        cluster = SimulatedCluster(backend)
        self._queue = WorkQueue(self._reconcile, workers=1)
        self._controllers = {plural: _CONTROLLERS[plural](cluster, self._failures) for plural in self._plurals}
        for controller in self._controllers.values():
            await controller.start()
        for plural in dict.fromkeys((*self._plurals, *self._watched())):
            resource = cluster.resource(plural)
            changes = _Changes(self, plural, resource)
            informer: Informer[None] = Informer(backend.cache, resource.cache, changes.on_list, changes.on_changes)
            self._informers.append((resource, informer))
            await informer.start()
        self._queue.open()

    async def detach(self) -> None:
        """Stop the simulated controllers, for good or until `attach` starts them again."""
        for resource, informer in self._informers:
            resource.cache.observers.remove(informer)
            await informer.close()
        self._informers.clear()
        await self._queue.close()

    def add(self, plural: str, namespace: str, name: str) -> None:
        """Queue an object for reconciliation, after the delay of its kind. Ignore kinds that are not simulated."""
        if plural not in self._controllers:
            return
        item = plural, namespace, name
        if seconds := self._delays.get(plural, 0.0):
            self._queue.add_after(item, seconds)
        else:
            self._queue.add(item)

    def on_change(self, plural: str, obj: JsonObject) -> None:
        """Queue an object that has changed, its owner, and all objects of the controllers that watch its kind."""
        meta = obj["metadata"]
        namespace = meta.get("namespace", "")
        self.add(plural, namespace, meta["name"])
        owners = [ref for ref in meta.get("ownerReferences") or () if ref.get("controller")]
        for other, controller in self._controllers.items():
            if plural in controller.owned:
                for owner in owners:
                    if controller.cluster.resource(other).kind == owner["kind"]:
                        self.add(other, namespace, owner["name"])
            if plural in controller.watched:
                self._add_all(other)

    def _watched(self) -> Iterable[str]:
        return (plural for controller in self._controllers.values() for plural in controller.watched)

    async def _reconcile_all(self, plurals: Iterable[str]) -> None:
        for plural in plurals:
            self._add_all(plural)

    def _add_all(self, plural: str) -> None:
        controller = self._controllers.get(plural)
        if controller is not None:
            for cached in controller.cluster.resource(plural).cache.snapshot(None):
                self.add(plural, cached.namespace, cached.name)

    async def _reconcile(self, item: Item) -> None:
        plural, namespace, name = item
        controller = self._controllers[plural]
        obj = await controller.cluster.get(plural, namespace, name)
        if obj is None:
            await controller.removed(namespace, name)
        else:
            await controller.reconcile(obj)


class Simulation:
    """The blocking methods of an AsyncSimulation. A simulation also stops at the end of its `with` block."""

    def __init__(self, core: AsyncSimulation, loop: LoopThread) -> None:
        self._core = core
        self._loop = loop

    def __enter__(self) -> Simulation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    stop = Blocking(AsyncSimulation.stop)
    fail = Blocking(AsyncSimulation.fail)
    recover = Blocking(AsyncSimulation.recover)
    trigger = Blocking(AsyncSimulation.trigger)


class _Changes:
    """Passes the changes of one resource to a simulation."""

    def __init__(self, simulation: AsyncSimulation, plural: str, resource: BuiltinResource) -> None:
        self._simulation = simulation
        self._plural = plural
        self._resource = resource

    def on_list(self) -> None:
        for cached in self._resource.cache.snapshot(None):
            self._simulation.on_change(self._plural, self._resource.shown(cached))

    def on_changes(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            self._simulation.on_change(self._plural, self._resource.shown(change.cached))


def _known(kinds: Iterable[str]) -> list[str]:
    """Return the kinds as a list. Raise Refused if one of them cannot be simulated."""
    kinds = list(kinds)
    for kind in kinds:
        if kind not in _CONTROLLERS:
            raise Refused(f"{kind} cannot be simulated: the kinds are {', '.join(sorted(_CONTROLLERS))}")
    return kinds


def _with_created(kinds: Iterable[str]) -> list[str]:
    """Return the kinds, and the kinds of the objects that their controllers create, directly or indirectly."""
    found = list(kinds)
    for kind in found:
        found += [created for created in _CONTROLLERS[kind].owned if created not in found]
    return found
