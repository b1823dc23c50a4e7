"""A running API server for tests, and server-side apply of objects."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polykind.contract import JsonObject
from polykind.server.server import Server
from polykind.server.settings import Settings
from polykind.testing import checkpoint as checkpoints
from polykind.testing import client_libraries
from polykind.testing.checkpoint import Checkpoint
from polykind.testing.exceptions import Refused, raise_at_caller
from polykind.testing.hosted_converter import Converter
from polykind.testing.loop_thread import LoopThread
from polykind.testing.request_trace import RequestTrace, TracedRequest
from polykind.testing.server_client import Client, Connection, ResourcePaths, object_path
from polykind.testing.sources import Source, read_sources
from polykind.testing.waiting import Condition, Predicate, Wait
from polykind.toolkit.declare.conversions import describe_object

if TYPE_CHECKING:
    import kr8s
    import kubernetes.client
    import lightkube

    from polykind.testing.async_apiserver import AsyncApiServer
    from polykind.testing.event_watch import EventWatch
    from polykind.testing.simulation.simulation import Simulation

FIELD_MANAGER = "polykind-testing"
_CRD_KIND = "CustomResourceDefinition"
_V1BETA1 = "apiextensions.k8s.io/v1beta1"
STOP_SECONDS = 2.0
"""The maximum time that a stopping server waits for the requests in progress, in seconds."""
CLOSE_SECONDS = 0.002
"""The maximum time that a stopping server waits for clients to close their connections, in seconds."""


class ApiServer:
    """A running API server. Its methods block, so an async test calls the methods of its attribute `aio` instead."""

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
        self._loop = loop
        self._folder = folder
        self._pki = pki
        self._root = root
        self._settings = settings
        self._checkpoints: list[Checkpoint] = []
        self._converter = converter
        self._server: Server | None = None
        self._simulations: list[Simulation] = []
        self._clients = ExitStack()
        self._trace = RequestTrace()
        self._user_count = 0
        self.keep_data = False
        """True if the server's data is kept after the server has stopped."""
        self.url = ""
        self.token = ""
        """The admin's bearer token."""
        self.ca = pki / "ca.crt"
        """The CA certificate that clients must trust, as a PEM file."""
        self.kubeconfig = folder / "admin.kubeconfig"
        """A kubeconfig file of the admin."""
        folder.mkdir(mode=0o700, parents=True)
        if base is not None:
            base.copy_to(folder)
            self._checkpoints.append(base)

    def __repr__(self) -> str:
        return f"<ApiServer {self.url or 'stopped'}>"

    @property
    def data_dir(self) -> Path:
        return self._folder

    @property
    def aio(self) -> AsyncApiServer:
        """An object with the same methods for async tests: `await polykind.aio.apply(...)`."""
        from polykind.testing.async_apiserver import AsyncApiServer

        return AsyncApiServer(self)

    @property
    def unserved_requests(self) -> list[str]:
        """The requests for resources that the server does not serve, such as `not served here: GET /api/v1/saucers`."""
        return self._server.unserved.lines() if self._server is not None else []

    @property
    def requests(self) -> list[TracedRequest]:
        """The newest requests to this server, the oldest first: method, path, status, user_agent and message."""
        return list(self._trace.requests)

    @property
    def refused_requests(self) -> list[str]:
        """The requests with an error status, such as `refused: 404 GET /api/v1/nodes/n: nodes "n" not found`."""
        return self._trace.refusals()

    @property
    @raise_at_caller
    def converter(self) -> Converter:
        """The conversion webhook that runs in this process. Raise Refused if the test configures no converters."""
        if self._converter is None:
            raise Refused(
                "this server has no converter: set `polykind_converters` in pytest's configuration, or use "
                "@pytest.mark.polykind(converters=[...])"
            )
        return self._converter

    @raise_at_caller
    def apply(self, *sources: Source) -> list[JsonObject]:
        """Create or change objects like `kubectl apply --server-side`, and return them as the server stores them.

        Each source is a file, a folder or a pattern (relative to pytest's rootdir), multi-line YAML, or an object. CRDs
        and namespaces are applied first, and CRDs are served when this method returns. Raise Refused if a source cannot
        be read or the server rejects an object.
        """
        objects = read_sources(sources, self._root)
        if self._converter is not None:
            objects = [self._converter.add_conversion_webhook(obj) for obj in objects]
        return apply_objects(self._client, objects)

    @raise_at_caller
    def get(self, obj: Mapping[str, Any], *, version: str | None = None) -> JsonObject:
        """Read an object at its own version or at another version of its API.

        `obj` is any object with apiVersion, kind and metadata.name. Raise Refused if the request fails, with status 404
        if the object is missing.
        """
        if version is not None:
            group = str(obj.get("apiVersion", "")).rpartition("/")[0]
            obj = {**obj, "apiVersion": f"{group}/{version}" if group else version}
        with self._client.connect() as connection:
            return connection.request(
                "GET", object_path(ResourcePaths(connection).collection(obj), obj["metadata"]["name"])
            )

    @raise_at_caller
    def wait_for(self, obj: Mapping[str, Any], condition: str | Predicate, *, timeout: float = 10.0) -> JsonObject:
        """Wait until an object meets a condition, and return the object.

        The condition is `create`, `delete`, `condition=Ready` or `condition=Ready=False` as in `kubectl wait --for`, or
        a function that takes the object and returns true if the condition is met. If the function raises LookupError,
        TypeError, AttributeError or AssertionError, for example because status is missing, the wait continues.
        Raise Unmet, an AssertionError that shows the object, if the object does not meet the condition in time.
        """
        return Wait(self._client, obj, Condition(condition), timeout).run()

    @raise_at_caller
    def watch(self, obj: Mapping[str, Any]) -> EventWatch:
        """Watch an object from now on or, without metadata.name, all objects of its kind in its namespace.

        `watch(...).expect("ADDED mine", "DELETED mine")` asserts the order of events. Raises Refused.
        """
        from polykind.testing.event_watch import EventWatch

        return EventWatch(self._client, obj)

    def checkpoint(self) -> Checkpoint:
        """Copy all stored data, so that `rollback` can restore it. The server continues to serve requests."""
        file = self._folder / f"checkpoint-{len(self._checkpoints)}.db"
        self._checkpoints.append(checkpoints.take_checkpoint(self._folder, file))
        return self._checkpoints[-1]

    @raise_at_caller
    def rollback(self, to: Checkpoint | None = None) -> None:
        """Restore the data of a checkpoint: by default the latest one, which at first is the start of the test.

        Watches and other requests end, then the server starts again at the same address. The restored objects have the
        uids and resourceVersions of the checkpoint. A client that uses a newer resourceVersion receives 410 Gone.
        """
        if to is None and not self._checkpoints:
            raise Refused("there is no checkpoint to roll back to: call checkpoint() first")
        self.stop()
        (to or self._checkpoints[-1]).restore(self._folder)
        self.start()

    @raise_at_caller
    def kubeconfig_for(self, user: str, groups: Iterable[str] = ()) -> Path:
        """Write a kubeconfig with a client certificate for `user` and `groups`, for tests of RBAC rules.

        Return its path. If `user` is a service account (`system:serviceaccount:<namespace>:<name>`), the certificate
        also names the groups of the service account. Raise Refused if a name is invalid.
        """
        from polykind.testing.user_kubeconfig import write_user_kubeconfig

        self._user_count += 1
        file = self._folder / f"user-{self._user_count}.kubeconfig"
        write_user_kubeconfig(file, self.url, self._pki, user, groups)
        return file

    @raise_at_caller
    def simulate(self, *kinds: str, delays: Mapping[str, float] | None = None) -> Simulation:
        """Simulate the controllers of some kinds, the scheduler and the kubelet, and return the simulation.

        Each kind is a plural such as `deployments` and includes the kinds of the objects that its controller creates.
        Without kinds, all kinds are simulated. `delays` maps a kind to the seconds before each step of its objects. The
        simulation ends with its `with` block or with the test. Raise Refused if a kind is unknown.
        """
        from polykind.testing.simulation.simulation import Simulation

        if self._server is None:
            raise Refused("the server has stopped, so nothing can be simulated")
        simulation = Simulation(self._loop, kinds, delays or {})
        self._loop.run(simulation.attach(self._server.backend))
        self._simulations.append(simulation)
        return simulation

    @raise_at_caller
    def kr8s(self, kubeconfig: Path | None = None) -> kr8s.Api:
        """Return a kr8s client, as the admin or with the given kubeconfig. It is closed when the server stops.

        Raises Refused if the library is not installed, as do the other methods that return a client.
        """
        return client_libraries.open_kr8s(kubeconfig or self.kubeconfig, self._clients)

    @raise_at_caller
    def lightkube(self, kubeconfig: Path | None = None) -> lightkube.Client:
        """Return a lightkube client. It is closed when the server stops."""
        return client_libraries.open_lightkube(kubeconfig or self.kubeconfig, self._clients)

    @raise_at_caller
    def kubernetes(self, kubeconfig: Path | None = None) -> kubernetes.client.ApiClient:
        """Return an ApiClient of the official client. It is closed when the server stops."""
        return client_libraries.open_kubernetes(kubeconfig or self.kubeconfig, self._clients)

    async def kubernetes_asyncio(self, kubeconfig: Path | None = None) -> Any:
        """Return an ApiClient of kubernetes_asyncio. The test closes it: `async with await ...`."""
        return await client_libraries.open_kubernetes_asyncio(kubeconfig or self.kubeconfig)

    @contextmanager
    def environ(self, kubeconfig: Path | None = None) -> Iterator[None]:
        """Set KUBECONFIG in a `with` block, so that new clients in this process connect to this server.

        The clients are the admin, or the user of the given kubeconfig.
        """
        import pytest

        where = os.fspath(kubeconfig or self.kubeconfig)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KUBECONFIG", where)
            for name in ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
                patch.delenv(name, raising=False)
            client_libraries.forget_kr8s_clients()
            for library in ("kubernetes", "kubernetes_asyncio"):
                module = sys.modules.get(f"{library}.config.kube_config")
                if module is not None:
                    # These libraries read KUBECONFIG only when they are imported, so change the value that they keep.
                    patch.setattr(module, "KUBE_CONFIG_DEFAULT_LOCATION", where, raising=False)
            yield

    # ------------------------------------------------------------------ used by Factory

    def start(self) -> None:
        self._loop.run(self._start())

    def stop(self) -> None:
        self._clients.close()
        server, self._server = self._server, None
        if server is not None:
            for simulation in self._running_simulations():
                self._loop.run(simulation.detach())
            self._loop.run(_stop_server(server))

    def _running_simulations(self) -> list[Simulation]:
        return [simulation for simulation in self._simulations if not simulation.stopped]

    async def _start(self) -> None:
        port = int(self.url.rpartition(":")[2]) if self.url else 0
        # No controller creates service accounts here, so the admission plugin would reject every pod. Disable it, as
        # envtest does.
        chosen = {"client_ca_file": self.ca, "disable_admission_plugins": ("ServiceAccount",), **self._settings}
        settings = Settings(data_dir=self._folder, cert_dir=self._pki, secure_port=port, **chosen)
        server = Server(settings)
        await server.start()
        server.http.app = self._trace.around(server.http.app)
        self._server = server
        self.url, self.token = server.url, server.token
        self._client = Client(self.url, self.token, self.ca)
        for simulation in self._running_simulations():
            # After a rollback, the simulations of the stopped server continue with the new server.
            await simulation.attach(server.backend)


async def _stop_server(server: Server) -> None:
    # Do not wait for clients that keep a connection open without reading from it: the test is over.
    server.http.limits = replace(server.http.limits, linger_seconds=CLOSE_SECONDS)
    await server.http.stop(STOP_SECONDS)
    await server.stop()


def apply_objects(client: Client, objects: Iterable[JsonObject]) -> list[JsonObject]:
    """Apply objects and return them as the server stores them.

    Raise Refused if the server rejects an object. The message names the object.
    """
    out: list[JsonObject] = []
    fresh: list[JsonObject] = []
    with client.connect() as connection:
        resources = ResourcePaths(connection)
        for obj in objects:
            if fresh and obj["kind"] != _CRD_KIND:
                _wait_until_established(client, fresh)
                fresh, resources = [], ResourcePaths(connection)
            try:
                out.append(_apply_object(connection, resources, obj))
            except Refused as error:
                raise Refused(f"{describe_object(obj)} was not applied: {error}", error.status) from None
            if obj["kind"] == _CRD_KIND:
                fresh.append(out[-1])
        _wait_until_established(client, fresh)
    return out


def _apply_object(connection: Connection, resources: ResourcePaths, obj: JsonObject) -> JsonObject:
    collection = resources.collection(obj)
    metadata = obj.get("metadata") or {}
    if not metadata.get("name"):
        # Server-side apply needs a name, so create an object that has only generateName.
        return connection.request("POST", collection, obj)
    # Remove the fields that only the server may set. Objects that were exported from a server contain them.
    own = {key: value for key, value in metadata.items() if key not in ("resourceVersion", "uid", "managedFields")}
    body = {**obj, "metadata": own}
    if (obj["kind"], obj["apiVersion"]) == (_CRD_KIND, _V1BETA1):
        return _create_or_replace(connection, collection, body)
    where = object_path(
        collection, metadata["name"], fieldManager=FIELD_MANAGER, force="true", fieldValidation="Strict"
    )
    return connection.request("PATCH", where, body, "application/apply-patch+yaml")


def _create_or_replace(connection: Connection, collection: str, body: JsonObject) -> JsonObject:
    """Create a v1beta1 CRD, or replace it if it exists. kubectl also does this for types without server-side apply."""
    try:
        return connection.request("POST", collection, body)
    except Refused as error:
        if error.status != 409:
            raise
    where = object_path(collection, body["metadata"]["name"])
    revision = connection.request("GET", where)["metadata"]["resourceVersion"]
    return connection.request("PUT", where, {**body, "metadata": {**body["metadata"], "resourceVersion": revision}})


def _wait_until_established(client: Client, crds: list[JsonObject]) -> None:
    for crd in crds:
        Wait(client, crd, Condition("condition=Established"), 30.0).run()
