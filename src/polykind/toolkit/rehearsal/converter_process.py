"""A converter in a process of its own, hosted as a webhook, which the rehearsal can restart.

The child process is this module: `python -m polykind.toolkit.rehearsal.converter_process SPEC...`. It ends when its
standard input is closed, so that it never outlives the rehearsal.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

_START_SECONDS = 60.0


class Upstream(NamedTuple):
    """The webhook that converts. `server_name` is the name in its certificate, or None for the host of the URL."""

    url: str
    ca: bytes = b""
    """The trusted CAs in PEM. If empty, the CAs of the operating system are trusted."""
    server_name: str | None = None


class ConverterProcess:
    """A child process that hosts converters. `specs` are values of `--converter`."""

    def __init__(self, specs: Sequence[str]) -> None:
        self._specs = specs
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> Upstream:
        """Start the process. Raise ValueError if a converter cannot be loaded or hosted."""
        command = [sys.executable, "-m", __name__, *self._specs]
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
        assert self._process.stdout is not None
        async with asyncio.timeout(_START_SECONDS):
            line = await self._process.stdout.readline()
        if not line:
            _, error = await self._process.communicate()
            raise ValueError(error.decode(errors="replace").strip() or "the converter's process ended")
        started = json.loads(line)
        return Upstream(started["url"], started["ca"].encode())

    async def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            # A crash, not a clean stop: nothing that the converter keeps in memory may matter.
            process.kill()
        await process.wait()


async def _host(specs: Sequence[str]) -> int:
    from polykind.conversion.loading import load_converter
    from polykind.toolkit.hosting.webhook_host import Host

    try:
        libraries = [load_converter(spec) for spec in specs]
        host = Host(libraries)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    async with host:
        print(json.dumps({"url": host.url, "ca": host.ca_bundle.decode()}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    return 0


if __name__ == "__main__":
    # --converter may name a module in the current directory, as in the process that started this one.
    sys.path.append("")
    sys.exit(asyncio.run(_host(sys.argv[1:])))
