"""A factory of test servers. Servers with the same CRDs start from one checkpoint that contains the CRDs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polykind.server.settings import Settings
from polykind.testing.apiserver import ApiServer
from polykind.testing.checkpoint import Checkpoint
from polykind.testing.exceptions import Refused
from polykind.testing.hosted_converter import Converter
from polykind.testing.loop_thread import LoopThread
from polykind.testing.server_instance import ServerInstance
from polykind.testing.sources import Source, sources_key

_RESERVED_SETTINGS = frozenset(
    ("data_dir", "cert_dir", "secure_port", "client_ca_file", "tls_cert_file", "tls_private_key_file")
)
"""Server settings that tests must not set."""


class Factory:
    """Starts the servers of a test run. They share an event loop thread, certificates, checkpoints and converters."""

    def __init__(
        self, folder: Path, root: Path, *, crds: Sequence[Source] = (), converters: Sequence[Any] = ()
    ) -> None:
        """Every server gets these `crds` and `converters`. Relative paths start at `root`."""
        self._folder = folder
        self._root = root
        self._crds = tuple(crds)
        self._converters = tuple(converters)
        self._loop = LoopThread()
        self._checkpoints: dict[str, Checkpoint] = {}
        self._running_converters: dict[tuple[Any, ...], Converter] = {}
        self._count = 0

    @contextmanager
    def serve(
        self, *, crds: Source | Sequence[Source] = (), converters: Any | Sequence[Any] = (), **settings: Any
    ) -> Iterator[ApiServer]:
        """Start a server that contains only CRDs. When the `with` block ends, stop the server and delete its data.

        `crds` and `converters` are added to those of every server. `settings` are server flags, named as in
        `polykind.server.settings.Settings`. Raise Refused if the server cannot start with these arguments.
        """
        settings = self._normalize_settings(settings)
        converter = self._converter((*self._converters, *_as_tuple(converters)))
        if converter is not None:
            # Without a cache of conversions, every read calls the converter, as in kube-apiserver. A test can then see
            # the effect of a converter that is down.
            settings = {"conversion_cache": False, **settings}
        base = self._base_checkpoint((*self._crds, *_as_tuple(crds)), converter, settings)
        server = self._new(settings, converter, base)
        try:
            server.start()
            yield server
        finally:
            if converter is not None:
                # Clear faults: the next test uses the same converter, and a delayed conversion would block the stop.
                converter.up()
            server.stop()
            if not server.keep_data:
                shutil.rmtree(server.data_dir)

    def close(self) -> None:
        try:
            for converter in self._running_converters.values():
                converter.close()
        finally:
            self._loop.close()
            shutil.rmtree(self._folder / "origins", ignore_errors=True)

    def _normalize_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings with the types that Settings expects: tuples for single values, paths for strings.

        Raise Refused if a setting is unknown or reserved.
        """
        known = {name: kind for name, kind in Settings.__annotations__.items() if not name.startswith("etcd")}
        out: dict[str, Any] = {}
        for name, value in settings.items():
            if name not in known or name in _RESERVED_SETTINGS:
                names = ", ".join(sorted(known.keys() - _RESERVED_SETTINGS))
                raise Refused(f"{name} is not a setting of a test server: the settings are crds, converters, {names}")
            if known[name].startswith("tuple"):
                value = _as_tuple(value)
            elif known[name].startswith("Path") and value is not None:
                value = self._root / value
            out[name] = value
        return out

    def _converter(self, converters: tuple[Any, ...]) -> Converter | None:
        """Return the running webhook for these converters, or None without converters.

        It starts on first use and keeps its address, because CRDs in checkpoints contain that address.
        """
        if not converters:
            return None
        key = tuple(one if isinstance(one, str) else id(one) for one in converters)
        if key not in self._running_converters:
            self._running_converters[key] = Converter(self._loop, converters, self._root)
        return self._running_converters[key]

    def _base_checkpoint(
        self, crds: tuple[Source, ...], converter: Converter | None, settings: Mapping[str, Any]
    ) -> Checkpoint:
        """Return the checkpoint of a server with these CRDs. The checkpoint is created on first use."""
        where = converter.url if converter is not None else None
        key = json.dumps([where, dict(settings), sources_key(crds, self._root)], sort_keys=True, default=str)
        if key not in self._checkpoints:
            server = self._new(settings, converter, None)
            try:
                server.start()
                server.apply(*crds)
                bases = self._folder / "origins"
                bases.mkdir(exist_ok=True, mode=0o700)
                taken = server.checkpoint()
                self._checkpoints[key] = Checkpoint(taken.file.rename(bases / f"{len(self._checkpoints)}.db"))
            finally:
                server.stop()
                shutil.rmtree(server.data_dir)
        return self._checkpoints[key]

    def _new(self, settings: Mapping[str, Any], converter: Converter | None, base: Checkpoint | None) -> ApiServer:
        self._count += 1
        folder = self._folder / str(self._count)
        pki = self._folder / "pki"
        return ApiServer(
            ServerInstance(
                self._loop, folder, pki=pki, root=self._root, settings=settings, converter=converter, base=base
            )
        )


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)
