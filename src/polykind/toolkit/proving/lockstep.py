"""Checks that run together, so that their conversions can be sent to a webhook in batches.

Each check runs in a thread of its own, but only one thread runs at a time. A check runs until it needs a conversion and
then waits. When all checks wait, their requests are answered together, and the checks continue in their order. Results
therefore do not depend on timing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_current = threading.local()


class WaitingCheck(Generic[T]):
    """A check in its own thread. `request` is what it waits for, or None if it has ended."""

    def __init__(self, check: Callable[[], T]) -> None:
        self.request: Any = None
        self._check = check
        self._reply: Any = None
        self._may_run = threading.Event()
        self._paused = threading.Event()
        self._result: T
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Run the check until its first request or its end."""
        self._thread.start()
        self._paused.wait()

    def resume(self, reply: Any) -> None:
        """Give the check the reply to its request, and run it until its next request or its end."""
        self.request, self._reply = None, reply
        self._paused.clear()
        self._may_run.set()
        self._paused.wait()

    def ask(self, request: Any) -> Any:
        """Wait, in the thread of the check, for the reply to a request. Raise the reply if it is an exception."""
        self.request = request
        self._may_run.clear()
        self._paused.set()
        self._may_run.wait()
        if isinstance(self._reply, BaseException):
            raise self._reply
        return self._reply

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._result

    def _run(self) -> None:
        _current.check = self
        try:
            self._result = self._check()
        except BaseException as error:
            self._error = error
        finally:
            self._paused.set()


def current_check() -> WaitingCheck[Any] | None:
    """Return the check whose thread calls this function, or None outside of such a thread."""
    return getattr(_current, "check", None)


def run_in_lockstep(checks: Sequence[Callable[[], T]], answer: Callable[[list[Any]], list[Any]]) -> list[T]:
    """Run the checks and return their results. `answer` returns the replies to the requests of all waiting checks."""
    running = [WaitingCheck(check) for check in checks]
    for check in running:
        check.start()
    while waiting := [check for check in running if check.request is not None]:
        try:
            replies = answer([check.request for check in waiting])
        except BaseException as error:
            # End the threads before the error ends the run.
            for check in waiting:
                while check.request is not None:
                    check.resume(error)
            raise
        for check, reply in zip(waiting, replies, strict=True):
            check.resume(reply)
    return [check.result() for check in running]
