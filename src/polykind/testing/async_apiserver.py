"""A running API server for async tests. The blocking methods of ApiServer are derived from these methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polykind.contract import JsonObject
from polykind.testing import client_libraries
from polykind.testing.checkpoint import Checkpoint
from polykind.testing.event_watch import TIMEOUT_SECONDS, AsyncEventWatch
from polykind.testing.exceptions import raise_at_awaiter
from polykind.testing.object_apply import apply_objects
from polykind.testing.opened import Opened
from polykind.testing.server_client import ResourcePaths
from polykind.testing.server_details import ServerDetails
from polykind.testing.sources import Source, read_sources
from polykind.testing.waiting import Condition, Predicate, Wait

if TYPE_CHECKING:
    import kr8s.asyncio
    import lightkube
    from kubernetes_asyncio.client import ApiClient

    from polykind.testing.simulation.simulation import AsyncSimulation


class AsyncApiServer(ServerDetails):
    """A running API server. Its methods run on the event loop of the test; the server has its own thread."""

    @raise_at_awaiter
    async def apply(self, *sources: Source) -> list[JsonObject]:
        """Create or change objects like `kubectl apply --server-side`, and return them as the server stores them.

        Each source is a file, a folder or a pattern (relative to pytest's rootdir), multi-line YAML, or an object. CRDs
        and namespaces are applied first, and CRDs are served when this method returns. Raise Refused if a source cannot
        be read or the server rejects an object.
        """
        objects = read_sources(sources, self._instance.root)
        if self._instance.converter is not None:
            objects = [self._instance.converter.add_conversion_webhook(obj) for obj in objects]
        return await apply_objects(self._instance.client, objects)

    @raise_at_awaiter
    async def get(self, obj: Mapping[str, Any], *, version: str | None = None) -> JsonObject:
        """Read an object at its own version or at another version of its API.

        `obj` is any object with apiVersion, kind and metadata.name. Raise Refused if the request fails, with status 404
        if the object is missing.
        """
        if version is not None:
            group = str(obj.get("apiVersion", "")).rpartition("/")[0]
            obj = {**obj, "apiVersion": f"{group}/{version}" if group else version}
        async with self._instance.client.connect() as connection:
            return await connection.request("GET", await ResourcePaths(connection).path(obj))

    @raise_at_awaiter
    async def delete(self, obj: Mapping[str, Any]) -> JsonObject:
        """Delete an object, and return the server's response: the object, or a Status.

        The object may remain until controllers remove its finalizers: `wait_for(obj, "delete")` waits for that. Raise
        Refused if the request fails, with status 404 if the object is missing.
        """
        async with self._instance.client.connect() as connection:
            return await connection.request("DELETE", await ResourcePaths(connection).path(obj))

    @raise_at_awaiter
    async def request(
        self, method: str, path: str, body: Any = None, *, content_type: str = "application/json"
    ) -> JsonObject:
        """Send a request as the admin, with a JSON body, and return the decoded response.

        `path` may contain a query: `/api/v1/pods?limit=1`. Raise Refused if the server responds with an error status.
        """
        return await self._instance.client.request(method, path, body, content_type)

    @raise_at_awaiter
    async def wait_for(
        self,
        obj: Mapping[str, Any],
        condition: str | Predicate,
        *,
        timeout: float = 10.0,  # noqa: ASYNC109
    ) -> JsonObject:
        """Wait until an object meets a condition, and return the object.

        The condition is `create`, `delete`, `condition=Ready` or `condition=Ready=False` as in `kubectl wait --for`, or
        a function that takes the object and returns true if the condition is met. If the function raises LookupError,
        TypeError, AttributeError or AssertionError, for example because status is missing, the wait continues.
        Raise Unmet, an AssertionError that shows the object, if the object does not meet the condition in time.
        """
        hint = self._instance.simulation_hint(str(obj.get("kind")))
        return await Wait(self._instance.client, obj, Condition(condition), timeout, hint).run()

    def watch(
        self,
        obj: Mapping[str, Any],
        *,
        timeout: float | None = TIMEOUT_SECONDS,
    ) -> AsyncEventWatch:
        """Watch an object or, without metadata.name, all objects of its kind in its namespace.

        `events = await watch(...)` starts the watch, and `await events.expect("ADDED mine", "DELETED mine")` asserts
        the order of events. `async for event in watch(...)` yields events with `type` and `object`. `timeout` is the
        maximum time to wait for each of these events, in seconds; None waits forever. Raise Refused, when the watch
        starts, if the server does not serve the kind.
        """
        return AsyncEventWatch(self._instance.client, obj, timeout)

    @raise_at_awaiter
    async def checkpoint(self) -> Checkpoint:
        """Copy all stored data, so that `rollback` can restore it. The server continues to serve requests."""
        return await self._instance.checkpoint()

    @raise_at_awaiter
    async def rollback(self, to: Checkpoint | None = None) -> None:
        """Restore the data of a checkpoint: by default the latest one, which at first is the start of the test.

        Watches and other requests end, then the server starts again at the same address. The restored objects have the
        uids and resourceVersions of the checkpoint. A client that uses a newer resourceVersion receives 410 Gone.
        """
        await self._instance.rollback(to)

    @raise_at_awaiter
    async def kubeconfig_for(self, user: str, groups: Iterable[str] = ()) -> Path:
        """Write a kubeconfig with a client certificate for `user` and `groups`, for tests of RBAC rules.

        Return its path. If `user` is a service account (`system:serviceaccount:<namespace>:<name>`), the certificate
        also names the groups of the service account. Raise Refused if a name is invalid.
        """
        from polykind.testing.user_kubeconfig import write_user_kubeconfig

        file = self._instance.next_kubeconfig()
        write_user_kubeconfig(file, self.url, self._instance.pki, user, groups)
        return file

    def simulate(self, *kinds: str, delays: Mapping[str, float] | None = None) -> Opened[AsyncSimulation]:
        """Simulate the controllers of some kinds, the scheduler and the kubelet.

        Each kind is a plural such as `deployments` and includes the kinds of the objects that its controller creates.
        Without kinds, all kinds are simulated. `delays` maps a kind to the seconds before each step of its objects. The
        simulation ends with its `async with` block; after `await simulate(...)` it ends with the test. Raise Refused if
        a kind is unknown.
        """

        @raise_at_awaiter
        async def start() -> AsyncSimulation:
            from polykind.testing.simulation.simulation import AsyncSimulation

            simulation = AsyncSimulation(self._instance.loop, kinds, delays or {})
            await self._instance.simulate(simulation)
            return simulation

        async def stop(simulation: AsyncSimulation) -> None:
            await simulation.stop()

        return Opened(start, stop)

    def kr8s(self, kubeconfig: Path | None = None) -> Opened[kr8s.asyncio.Api]:
        """Return a client of `kr8s.asyncio`, as the admin or with the given kubeconfig.

        `async with` closes it at the end of the block; after `await` it is closed when the test function ends.
        Raise Refused if the library is not installed. All of this is also true of the other methods for clients.
        """
        return self._client(client_libraries.KR8S, kubeconfig)

    def lightkube(self, kubeconfig: Path | None = None) -> Opened[lightkube.AsyncClient]:
        """Return an AsyncClient of lightkube."""
        return self._client(client_libraries.LIGHTKUBE, kubeconfig)

    def kubernetes_asyncio(self, kubeconfig: Path | None = None) -> Opened[ApiClient]:
        """Return an ApiClient of kubernetes_asyncio."""
        return self._client(client_libraries.KUBERNETES_ASYNCIO, kubeconfig)

    def _client(self, library: client_libraries.AsyncLibrary, kubeconfig: Path | None) -> Opened[Any]:
        @raise_at_awaiter
        async def start() -> Any:
            client = await library.open(kubeconfig or self.kubeconfig)
            self._instance.async_clients[id(client)] = client, library.close
            return client

        async def stop(client: Any) -> None:
            self._instance.async_clients.pop(id(client), None)
            await library.close(client)

        return Opened(start, stop)
