"""The server behind the fixtures of a test: its start, stop and rollback, and the clients that use it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from polykind.operations.backend import Backend
from polykind.server.server import Server
from polykind.server.settings import Settings
from polykind.testing import checkpoint as checkpoints
from polykind.testing.checkpoint import Checkpoint
from polykind.testing.exceptions import Refused
from polykind.testing.hosted_converter import Converter
from polykind.testing.loop_thread import LoopThread
from polykind.testing.request_trace import RequestTrace
from polykind.testing.server_client import Client

if TYPE_CHECKING:
    from polykind.testing.simulation.simulation import AsyncSimulation

SIMULATED = frozenset(
    (
        "cronjobs",
        "daemonsets",
        "deployments",
        "jobs",
        "persistentvolumeclaims",
        "pods",
        "replicasets",
        "services",
        "statefulsets",
    )
)
"""The resources that a simulation can change. They are listed here, so that a wait does not import the simulation."""
STOP_SECONDS = 2.0
"""The maximum time that a stopping server waits for the requests in progress, in seconds."""
CLOSE_SECONDS = 0.002
"""The maximum time that a stopping server waits for clients to close their connections, in seconds."""


class ServerInstance:
    """A server that runs on the loop of `loop`, with its data, checkpoints and simulations.

    Its async methods run on any event loop.
    """

    def __init__(
        self,
        loop: LoopThread,
        folder: Path,
        *,
        pki: Path,
        root: Path,
        settings: Mapping[str, Any],
        converter: Converter | None,
        base: Checkpoint | None,
    ) -> None:
        self.loop = loop
        self.folder = folder
        self.pki = pki
        self.root = root
        self.converter = converter
        self.trace = RequestTrace()
        self.clients = ExitStack()
        """Closes the blocking clients that the test has opened."""
        self.async_clients: dict[int, tuple[Any, Callable[[Any], Awaitable[None]]]] = {}
        """The open clients of async libraries by their id(), each with the function that closes it."""
        self.url = ""
        self.token = ""
        self.ca = pki / "ca.crt"
        self._settings = settings
        self._checkpoints: list[Checkpoint] = []
        self._server: Server | None = None
        self._simulations: list[AsyncSimulation] = []
        self._user_count = 0
        folder.mkdir(mode=0o700, parents=True)
        if base is not None:
            base.copy_to(folder)
            self._checkpoints.append(base)

    @property
    def unserved_requests(self) -> list[str]:
        return self._server.unserved.lines() if self._server is not None else []

    @property
    def backend(self) -> Backend:
        """The backend of the running server. Raise Refused if the server has stopped."""
        if self._server is None:
            raise Refused("the server has stopped: use the fixture only while its test runs")
        return self._server.backend

    async def start(self) -> None:
        await self.loop.call(self._start())

    async def stop(self) -> None:
        await self.loop.call(self._stop())

    async def close_clients(self, kept: Collection[int]) -> None:
        """Close the async clients whose id() is not in `kept`. Call this in the event loop that uses them."""
        for key in [key for key in self.async_clients if key not in kept]:
            client, close = self.async_clients.pop(key)
            await close(client)

    def next_kubeconfig(self) -> Path:
        """Return the path for the kubeconfig of another user."""
        self._user_count += 1
        return self.folder / f"user-{self._user_count}.kubeconfig"

    async def checkpoint(self) -> Checkpoint:
        file = self.folder / f"checkpoint-{len(self._checkpoints)}.db"
        self._checkpoints.append(await asyncio.to_thread(checkpoints.take_checkpoint, self.folder, file))
        return self._checkpoints[-1]

    async def rollback(self, to: Checkpoint | None) -> None:
        """Restore a checkpoint, by default the latest one. Raise Refused if there is none."""
        if to is None and not self._checkpoints:
            raise Refused("there is no checkpoint to roll back to: call checkpoint() first")
        await self.loop.call(self._rollback(to or self._checkpoints[-1]))

    async def simulate(self, simulation: AsyncSimulation) -> None:
        """Start a simulation. It continues after a rollback, and ends with the server."""
        await self.loop.call(simulation.attach(self.backend))
        self._simulations.append(simulation)

    def simulation_hint(self, kind: str) -> str:
        """Return advice for a test that waits for a kind which only controllers change, but which nothing simulates."""
        plural = f"{kind.lower()}s"
        if plural not in SIMULATED or any(one.includes(plural) for one in self._running_simulations()):
            return ""
        return f'no controller runs here: start one with polykind.simulate("{plural}")'

    async def _rollback(self, to: Checkpoint) -> None:
        await self._stop()
        await asyncio.to_thread(to.restore, self.folder)
        await self._start()

    async def _start(self) -> None:
        port = int(self.url.rpartition(":")[2]) if self.url else 0
        # No controller creates service accounts here, so the admission plugin would reject every pod. Disable it, and
        # allow privileged pods, as envtest does.
        chosen = {
            "client_ca_file": self.ca,
            "disable_admission_plugins": ("ServiceAccount",),
            "allow_privileged": True,
            **self._settings,
        }
        settings = Settings(data_dir=self.folder, cert_dir=self.pki, secure_port=port, **chosen)
        server = Server(settings)
        await server.start()
        server.http.app = self.trace.around(server.http.app)
        self._server = server
        self.url, self.token = server.url, server.token
        self.client = Client(self.url, self.token, self.ca)
        for simulation in self._running_simulations():
            # After a rollback, the simulations of the stopped server continue with the new server.
            await simulation.attach(server.backend)

    async def _stop(self) -> None:
        server, self._server = self._server, None
        if server is None:
            return
        for simulation in self._running_simulations():
            await simulation.detach()
        # Do not wait for clients that keep a connection open without reading from it: the test is over.
        server.http.limits = replace(server.http.limits, linger_seconds=CLOSE_SECONDS)
        await server.http.stop(STOP_SECONDS)
        await server.stop()

    def _running_simulations(self) -> list[AsyncSimulation]:
        return [simulation for simulation in self._simulations if not simulation.stopped]
