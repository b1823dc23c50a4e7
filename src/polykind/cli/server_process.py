"""The process of a server: runs it on an event loop, reacts to signals, and drains it at the end."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.cli.flags import on_hangup, stop_event
from polykind.contract import StoreError
from polykind.server.settings import Settings, SettingsError

if TYPE_CHECKING:
    from polykind.server.server import Server

log = logging.getLogger("polykind")

_PARENT_CHECK_SECONDS = 0.5
STOP_SECONDS = 10.0
"""Seconds that the parts of a server besides its HTTP server may take to stop."""


def run_server(settings: Settings, *, program: str, stop_with_parent: bool, temporary: bool = False) -> int:
    """Run a server with these settings until it is stopped, and return the exit code of the process.

    Error messages start with `program`. If `stop_with_parent` is true, the server also stops when the process that
    started it ends. If `temporary` is true, the data directory is a new one that is removed at the end.
    """
    import uvloop

    try:
        return uvloop.run(_serve(settings, stop_with_parent, temporary))
    except (OSError, StoreError, SettingsError) as error:
        report_failure(settings.logging_format, program, error)
        return 2 if isinstance(error, SettingsError) else 1


def report_failure(logging_format: str, program: str, error: Exception) -> None:
    """Say on the standard error why the server has ended."""
    if logging_format == "json":
        log.error("command failed", extra={"fields": {"err": str(error)}})
    else:
        print(f"{program}: {error}", file=sys.stderr)


async def _serve(settings: Settings, stop_with_parent: bool, temporary: bool) -> int:
    import gc

    # Disable the garbage collector while the server starts: it would find little to free, and delays the start.
    gc.disable()
    from polykind.cli.service_manager import ServiceManager
    from polykind.http.descriptors import raise_descriptor_limit
    from polykind.memory_policy import memory_policy
    from polykind.server.server import Server

    parent = _parent_process()
    with ExitStack() as cleanup:
        stop = stop_event(before_exit=cleanup.close)
        raise_descriptor_limit()
        # A failed start must not leave the collector disabled in a process that goes on, such as a test run.
        cleanup.callback(gc.enable)
        if temporary:
            from polykind.cli.ephemeral_directory import ephemeral_directory

            # Create the directory only after stop_event has replaced the signal handlers. Otherwise a signal could end
            # the process before the directory is removed.
            settings.data_dir = cleanup.enter_context(ephemeral_directory())
        _create_certificates(settings)
        manager = ServiceManager()
        cleanup.callback(manager.close)
        async with Server(settings) as server:
            on_hangup(lambda: manager.reload(server.reload))
            _announce(server)
            memory_policy.manage()
            cleanup.callback(asyncio.create_task(memory_policy.run()).cancel)
            manager.ready(f"serving at {server.url}")
            await (_wait_for_parent(stop, parent) if stop_with_parent else stop.wait())
            delay = settings.shutdown_delay_duration
            grace = STOP_SECONDS if settings.ephemeral else settings.request_timeout
            manager.stopping(delay + grace + STOP_SECONDS)
            server.begin_shutdown(grace)
            if delay:
                log.info("server: not ready from now on, serving for another %.0f s", delay)
                await asyncio.sleep(delay)
    return 0


def _create_certificates(settings: Settings) -> None:
    """Create missing certificates in a child process.

    The cryptography library takes 12 MB, and the server itself does not need it. If the child fails, the server creates
    the certificates and reports the error. A process with several threads has no child, because only the thread that
    forks goes on in the child, and locks of other threads stay locked.
    """
    from polykind.clock import SystemClock
    from polykind.server.serving_tls import ensure_certificates, lacks_certificates

    if threading.active_count() > 1 or not lacks_certificates(settings):
        return
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        # Create the directory as the server does.
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        ensure_certificates(settings, SystemClock())
    finally:
        # Neither the event loop nor the exit handlers of the parent may run in the child.
        os._exit(0)


def _announce(server: Server) -> None:
    """Say how to reach the server: in a log line if logs are read by programs, otherwise on the standard output."""
    if server.settings.logging_format == "json":
        log.info("server: serving at %s, kubeconfig %s", server.url, server.kubeconfig)
        return
    print(f"Serving at {server.url}", flush=True)
    print(f"To use it: export KUBECONFIG={server.kubeconfig}", flush=True)
    if server.settings.console:
        token = server.settings.data_dir / "admin.token"
        print(f"Console: {server.url}/console/ (sign in with the token in {token})", flush=True)


async def _wait_for_parent(stop: asyncio.Event, parent: int) -> None:
    """Wait until `stop` is set or the process with the id `parent`, which started the program, has ended."""
    while _parent_process() == parent and not stop.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _PARENT_CHECK_SECONDS)


def _parent_process() -> int:
    """Return the id of the process that started the program."""
    parent = os.getppid()
    if getattr(sys, "frozen", False):
        # The parent is the loader of the single-file executable, so read the loader's parent from Linux.
        with suppress(OSError):
            status = Path(f"/proc/{parent}/stat").read_text()
            return int(status.rpartition(")")[2].split()[1])
    return parent
