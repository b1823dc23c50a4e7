"""Notifications for systemd (sd_notify): readiness, reloads, the stop, and the watchdog of the event loop."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable, Mapping

log = logging.getLogger("polykind")


class ServiceManager:
    """Reports the state of this process on the socket $NOTIFY_SOCKET. Does nothing without that variable.

    With $WATCHDOG_USEC, the event loop reports twice per period that it runs. systemd restarts a service whose
    reports stop, so a stalled event loop ends within one period.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        # A name that starts with @ is in Linux' abstract namespace.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        watched = environment.get("WATCHDOG_PID") in (None, str(os.getpid()))
        self._period = int(environment.get("WATCHDOG_USEC") or 0) / 10**6 if watched else 0.0
        self._timer: asyncio.TimerHandle | None = None

    def ready(self, status: str) -> None:
        """Report that the server serves requests, and start the watchdog."""
        self._send(f"READY=1\nSTATUS={status}\nMAINPID={os.getpid()}")
        if self._period and self._timer is None:
            self._watch(asyncio.get_running_loop())

    def reload(self, action: Callable[[], None]) -> None:
        """Run `action` and report its beginning and its end."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
        try:
            action()
        finally:
            self._send("READY=1")

    def stopping(self, seconds: float) -> None:
        """Report that the server stops, and that this may take as long as `seconds`."""
        self._send(f"STOPPING=1\nEXTEND_TIMEOUT_USEC={round(seconds * 10**6)}")

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        self._send("WATCHDOG=1")
        self._timer = loop.call_later(self._period / 2, self._watch, loop)

    def _send(self, message: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notify:
                # The event loop must not wait for a service manager that does not read.
                notify.setblocking(False)
                notify.sendto(message.encode(), self._address)
        except OSError as error:
            log.warning("server: cannot notify the service manager, continuing: %s", error)
