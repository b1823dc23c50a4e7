"""A time limit for calls of Python code that may never return."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_REPEAT_SECONDS = 0.2


class TimeLimitError(BaseException):
    """A call has exceeded its time limit. It is no Exception, because a converter may catch every Exception."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeLimitError in the `with` block after this time. Do nothing outside of the main thread.

    Signals limit even code that waits. If another program part uses the alarm signal, such as a test runner's timeout,
    only CPU time is limited.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    free = signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, _raise) and not signal.getitimer(signal.ITIMER_REAL)[0]
    number, timer = (signal.SIGALRM, signal.ITIMER_REAL) if free else (signal.SIGVTALRM, signal.ITIMER_VIRTUAL)
    previous = signal.signal(number, _raise)
    try:
        # Repeat the signal, because a handler in the called code may swallow the first exception.
        signal.setitimer(timer, seconds, _REPEAT_SECONDS)
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, previous)


def _raise(number: int, frame: FrameType | None) -> None:
    raise TimeLimitError
