"""What several commands have in common: flags that say whether or how long, the log, and the signal to stop."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal

from polykind.server.settings import SettingsError


def truth(text: str) -> bool:
    """The value of a flag that says whether."""
    if text.lower() in ("1", "t", "true"):
        return True
    if text.lower() in ("0", "f", "false"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


def add_truth(command: argparse.ArgumentParser, name: str, help: str) -> None:
    """A flag that says whether: true unless it is said, and if nothing is said with it."""
    command.add_argument(
        name, type=truth, nargs="?", const=True, default=True, metavar="BOOL", help=f"{help} (default: true)"
    )


def seconds(flag: str, text: str, *, such_as: str) -> float:
    """The value of a flag that says how long. Raises SettingsError."""
    from polykind.golang import duration

    try:
        return duration.parse_duration(text) / 10**9
    except ValueError:
        raise SettingsError(f"{flag} {text}: not a duration such as {such_as}") from None


def begin_log(verbosity: int) -> None:
    logging.basicConfig(
        level=logging.DEBUG if verbosity >= 4 else logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )


def told_to_stop() -> asyncio.Event:
    """Set when the process is told to stop."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    return stop
