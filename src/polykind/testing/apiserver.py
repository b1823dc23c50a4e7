"""A running API server for tests, with methods that block."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polykind.testing import client_libraries
from polykind.testing.async_apiserver import AsyncApiServer
from polykind.testing.blocking import Blocking
from polykind.testing.event_watch import TIMEOUT_SECONDS, EventWatch
from polykind.testing.exceptions import raise_at_caller
from polykind.testing.opened import Opened
from polykind.testing.server_details import ServerDetails
from polykind.testing.server_instance import ServerInstance

if TYPE_CHECKING:
    import kr8s
    import lightkube
    from kubernetes_asyncio.client import ApiClient

    from polykind.testing.simulation.simulation import Simulation


class ApiServer(ServerDetails):
    """A running API server. Its methods block, so an async test calls the methods of its attribute `aio` instead."""

    def __init__(self, instance: ServerInstance) -> None:
        super().__init__(instance)
        self._core = AsyncApiServer(instance)
        self._loop = instance.loop
        self.keep_data = False
        """True if the server's data is kept after the server has stopped."""

    @property
    def aio(self) -> AsyncApiServer:
        """An object with the same methods for async tests: `await polykind.aio.apply(...)`."""
        return self._core

    apply = Blocking(AsyncApiServer.apply)
    get = Blocking(AsyncApiServer.get)
    delete = Blocking(AsyncApiServer.delete)
    request = Blocking(AsyncApiServer.request)
    wait_for = Blocking(AsyncApiServer.wait_for)
    checkpoint = Blocking(AsyncApiServer.checkpoint)
    rollback = Blocking(AsyncApiServer.rollback)
    kubeconfig_for = Blocking(AsyncApiServer.kubeconfig_for)

    @raise_at_caller
    def watch(self, obj: Mapping[str, Any], *, timeout: float | None = TIMEOUT_SECONDS) -> EventWatch:
        """Watch an object from now on or, without metadata.name, all objects of its kind in its namespace.

        `watch(...).expect("ADDED mine", "DELETED mine")` asserts the order of events. `for event in watch(...)` yields
        events with `type` and `object`. `timeout` is the maximum time to wait for each of these events, in seconds;
        None waits forever. Raise Refused if the server does not serve the kind.
        """
        watch = self._core.watch(obj, timeout=timeout)
        return EventWatch(self._loop.run(watch.start()), self._loop)

    @raise_at_caller
    def simulate(self, *kinds: str, delays: Mapping[str, float] | None = None) -> Simulation:
        """Simulate the controllers of some kinds, the scheduler and the kubelet, and return the simulation.

        Each kind is a plural such as `deployments` and includes the kinds of the objects that its controller creates.
        Without kinds, all kinds are simulated. `delays` maps a kind to the seconds before each step of its objects. The
        simulation ends with its `with` block or with the test. Raise Refused if a kind is unknown.
        """
        from polykind.testing.simulation.simulation import Simulation

        return Simulation(self._loop.run(self._core.simulate(*kinds, delays=delays).open()), self._loop)

    @raise_at_caller
    def kr8s(self, kubeconfig: Path | None = None) -> kr8s.Api:
        """Return a kr8s client, as the admin or with the given kubeconfig. It is closed when the server stops.

        Raise Refused if the library is not installed, as do the other methods that return a client.
        """
        return client_libraries.open_kr8s(kubeconfig or self.kubeconfig, self._instance.clients)

    @raise_at_caller
    def lightkube(self, kubeconfig: Path | None = None) -> lightkube.Client:
        """Return a lightkube client. It is closed when the server stops."""
        return client_libraries.open_lightkube(kubeconfig or self.kubeconfig, self._instance.clients)

    def kubernetes_asyncio(self, kubeconfig: Path | None = None) -> Opened[ApiClient]:
        """Return an ApiClient of kubernetes_asyncio, as the method of the same name of `aio` does."""
        return self._core.kubernetes_asyncio(kubeconfig)

    # ------------------------------------------------------------------ used by Factory

    def start(self) -> None:
        self._loop.run(self._instance.start())

    def stop(self) -> None:
        self._instance.clients.close()
        self._loop.run(self._instance.stop())
