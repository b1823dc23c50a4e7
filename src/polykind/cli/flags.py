"""Helpers shared by the commands: boolean and duration flags, logging, and the stop signal."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path

from polykind.server.settings import SettingsError
from polykind.server.verbosity import log_level


class UsageError(Exception):
    """The command-line arguments are invalid. It is raised before the command changes anything."""


def parse_bool(text: str) -> bool:
    """Parse the value of a boolean flag. Raise ArgumentTypeError if the value is invalid."""
    if text.lower() in ("1", "t", "true"):
        return True
    if text.lower() in ("0", "f", "false"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is not a boolean: use true or false")


def add_bool_flag(command: argparse.ArgumentParser, name: str, help: str, *, default: bool = True) -> None:
    """Add a boolean flag, such as `--wire` or `--wire=false`. The flag without a value means true."""
    text = f"{help} (default: {str(default).lower()})"
    command.add_argument(name, type=parse_bool, nargs="?", const=True, default=default, metavar="BOOL", help=text)


def add_list_flag(command: argparse.ArgumentParser, name: str, metavar: str, help: str) -> None:
    """Add a flag that may be repeated. The parsed arguments contain the list of its values."""
    command.add_argument(name, action="append", default=[], metavar=metavar, help=f"{help}; may be repeated")


def add_etcd_flags(command: argparse.ArgumentParser) -> None:
    """Add the flags of the connection to etcd."""
    flag = command.add_argument
    flag("--etcd-prefix", default="/registry", metavar="PREFIX", help="prefix of all keys (default: %(default)s)")
    flag("--etcd-cafile", type=Path, metavar="FILE", help="CA in PEM to verify etcd's certificate")
    flag("--etcd-certfile", type=Path, metavar="FILE", help="client certificate in PEM for etcd")
    flag("--etcd-keyfile", type=Path, metavar="FILE", help="private key of --etcd-certfile in PEM")


def add_verbosity_flag(command: argparse.ArgumentParser, debug: str) -> None:
    """Add the flag -v for the log level. `debug` completes its help text: "4 and above log ..."."""
    text = f"log level; 4 and above log {debug} (default: %(default)s)"
    command.add_argument("-v", "--verbosity", type=int, default=2, metavar="LEVEL", help=text)


def parse_seconds(flag: str, text: str, *, example: str) -> float:
    """Parse the value of a duration flag. Raise SettingsError if the value is invalid."""
    from polykind.golang import duration

    try:
        return duration.parse_duration(text) / 10**9
    except ValueError:
        raise SettingsError(f"{flag} {text}: not a duration such as {example}") from None


def configure_logging(verbosity: int, logging_format: str = "text") -> None:
    """Log to the standard error, as text or, if `logging_format` is json, as JSON."""
    handler = logging.StreamHandler()
    if logging_format == "json":
        from polykind.cli.json_logging import JsonFormatter

        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=log_level(verbosity), handlers=[handler])


def on_hangup(reload: Callable[[], None]) -> None:
    """Call `reload` whenever this process receives SIGHUP, for example from a service manager."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)


def stop_event(before_exit: Callable[[], None] | None = None) -> asyncio.Event:
    """Return an event that is set when this process receives SIGINT or SIGTERM.

    Like in kube-apiserver, a second signal ends the process at once, with exit code 1. `before_exit` is called first.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if not stop.is_set():
            stop.set()
            return
        if before_exit is not None:
            before_exit()
        os._exit(1)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    return stop
