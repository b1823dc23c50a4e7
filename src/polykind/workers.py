"""Worker threads for long computations, and turns on the event loop, with fair queueing between users.

One request must not occupy the event loop for long. So a computation whose time grows with its input runs in a worker
thread if the input is large. The threads share Python's global interpreter lock with the event loop: while a
computation runs, the interpreter switches between them every half millisecond. docs/decisions/0022 has the reasons and
figures.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from polykind.errors import TooManyRequestsError
from polykind.loop_calls import LoopCall, in_worker

T = TypeVar("T")

INLINE_BYTES: Final = 16 * 1024
"""Computations on inputs up to this size run on the event loop. They take about five milliseconds at worst."""
_IDLE_SECONDS: Final = 5.0
_STACK_BYTES: Final = 256 * 1024 * 1024
"""The stack size of a worker thread. The operating system allocates only the pages that the thread uses."""
_RECURSION_LIMIT: Final = 65_000
"""The recursion limit of worker threads: six Python frames for each of the 10,000 levels of nesting that kube-apiserver
accepts.
"""
_SWITCH_INTERVAL: Final = 0.0005
_MAX_WAITING_TURNS: Final = 20_000


class CancelledComputationError(BaseException):
    """Ends a computation whose request has timed out or whose client has disconnected."""


class FairQueue:
    """Limits expensive work to a fixed number of seats. Users that wait for a seat take turns.

    As in kube-apiserver's API Priority and Fairness, a user with many requests delays its own requests, but not those
    of other users.
    """

    def __init__(self, seats: int, max_waiting: int) -> None:
        self._free = seats
        self._max_waiting = max_waiting
        self.rejected = 0
        """The number of requests that were rejected because too many were waiting."""
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """The waiting requests of each user. The first user in the dict is served next."""

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a seat."""
        return sum(map(len, self._waiting.values()))

    async def acquire(self, user: str) -> None:
        """Wait for a seat. Raise TooManyRequestsError if too many requests of the user are already waiting.

        The user of the server's own work is "". It has no limit.
        """
        if self._free and not self._waiting:
            self._free -= 1
            return
        queue = self._waiting.setdefault(user, deque())
        if user and len(queue) >= self._max_waiting:
            self.rejected += 1
            raise TooManyRequestsError("too many requests, please try again later", retry_after=1)
        seat = asyncio.get_running_loop().create_future()
        queue.append(seat)
        try:
            await seat
        except BaseException:
            if seat.done() and not seat.cancelled():
                self.release()
            else:
                self._forget(user, seat)
            raise

    def release(self) -> None:
        """Give the seat to the next waiting user, or free it."""
        while self._waiting:
            user, queue = next(iter(self._waiting.items()))
            seat = queue.popleft()
            # Move the user to the end, so that the other users are served first.
            del self._waiting[user]
            if queue:
                self._waiting[user] = queue
            if not seat.done():
                seat.set_result(None)
                return
        self._free += 1

    def _forget(self, user: str, seat: asyncio.Future[None]) -> None:
        queue = self._waiting.get(user)
        if queue is not None and seat in queue:
            queue.remove(seat)
            if not queue:
                del self._waiting[user]


class LoopTurns:
    """Turns on the event loop for long responses, which are encoded and sent in slices of a few milliseconds.

    One slice runs in each iteration of the event loop, so that slices do not delay other requests. Users take turns.
    """

    def __init__(self) -> None:
        self.queue = FairQueue(seats=1, max_waiting=_MAX_WAITING_TURNS)

    async def take(self, user: str) -> None:
        """Wait until the next slice of a response to a user may run. It lasts until the coroutine suspends."""
        await self.queue.acquire(user)
        # The event loop handles all other connections before the next slice.
        asyncio.get_running_loop().call_soon(self.queue.release)


class _Interpreter:
    """Interpreter settings that apply while computations run in any event loop of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._before: tuple[float, int] = (0.0, 0)

    def enter(self) -> None:
        with self._lock:
            self._running += 1
            if self._running == 1:
                self._before = sys.getswitchinterval(), sys.getrecursionlimit()
                sys.setswitchinterval(_SWITCH_INTERVAL)
                sys.setrecursionlimit(max(_RECURSION_LIMIT, sys.getrecursionlimit()))

    def leave(self) -> None:
        with self._lock:
            self._running -= 1
            if self._running == 0:
                interval, recursion_limit = self._before
                sys.setswitchinterval(interval)
                sys.setrecursionlimit(recursion_limit)


_interpreter = _Interpreter()


class _Computation:
    """One function call in a worker thread."""

    __slots__ = ("_call", "_finished", "_lock", "_loop", "_outcome", "_thread", "cancelled", "done")

    def __init__(self, loop: asyncio.AbstractEventLoop, call: Callable[[], Any], finished: Callable[[], None]) -> None:
        self._loop = loop
        self._call = call
        self._finished = finished
        self.done: asyncio.Future[None] = loop.create_future()
        self.cancelled = False
        self._lock = threading.Lock()
        self._thread = 0
        self._outcome: tuple[Any, BaseException | None] = (None, None)

    def run(self) -> None:
        """Run the call. A worker thread calls this method."""
        try:
            with self._lock:
                if self.cancelled:
                    return
                self._thread = threading.get_ident()
            try:
                self._outcome = self._call(), None
            finally:
                with self._lock:
                    self._thread = 0
        except CancelledComputationError:
            pass
        except BaseException as error:
            self._outcome = None, error
        finally:
            self._loop.call_soon_threadsafe(self._deliver)

    def cancel(self) -> None:
        """End the call by an exception when it next runs Python code. The event loop calls this method."""
        with self._lock:
            self.cancelled = True
            if self._thread:
                import ctypes

                raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc
                raise_in_thread(ctypes.c_ulong(self._thread), ctypes.py_object(CancelledComputationError))

    def _deliver(self) -> None:
        self._finished()
        if not self.done.done():
            self.done.set_result(None)

    def result(self) -> Any:
        """Return the result of the call or raise its exception.

        The future `done` does not hold the result, because the event loop keeps the future while the request goes on.
        """
        (value, error), self._outcome = self._outcome, (None, None)
        if error is not None:
            try:
                raise error
            finally:
                del error  # The traceback refers to this frame, and thus to all objects of the request.
        return value


class Workers:
    """Runs computations in a limited number of worker threads. Users take turns.

    Threads are started on demand and end when they are idle.
    """

    def __init__(self, threads: int = 2, max_waiting: int = 64) -> None:
        self.queue = FairQueue(threads, max_waiting)
        self.turns = LoopTurns()
        self._pending: deque[_Computation] = deque()
        self._wanted = threading.Condition()
        self._idle = 0
        self._closed = False

    def close(self) -> None:
        """End the idle threads at once. A thread with a computation ends after it."""
        with self._wanted:
            self._closed = True
            self._wanted.notify_all()

    async def run(self, user: str, call: Callable[[], T]) -> T:
        """Return the result of `call`, which runs in a worker thread. `call` must not touch shared mutable state.

        If the request is cancelled, the computation ends soon and occupies its thread until then. Raise
        TooManyRequestsError if too many computations of the user are already waiting.
        """
        await self.queue.acquire(user)
        computation = _Computation(asyncio.get_running_loop(), call, self._finished)
        _interpreter.enter()
        with self._wanted:
            self._pending.append(computation)
            if self._idle >= len(self._pending):
                self._wanted.notify()
            else:
                _start_thread(self._work)
        try:
            await computation.done
        except asyncio.CancelledError:
            computation.cancel()
            raise
        result: T = computation.result()
        return result

    async def run_coroutine(self, user: str, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in worker threads.

        It may only await coroutines that do not suspend, `asyncio.sleep(0)`, and `on_loop`, which runs a coroutine on
        the event loop.
        """
        loop = asyncio.get_running_loop()
        resume: Callable[[], Any] = partial(coroutine.send, None)
        while True:
            call = await self.run(user, partial(_step, loop, coroutine, resume))
            if isinstance(call, tuple):
                result: T = call[0]
                return result
            try:
                resume = partial(coroutine.send, await call.coroutine)
            except Exception as error:
                resume = partial(_throw, coroutine, [error])

    def _finished(self) -> None:
        _interpreter.leave()
        self.queue.release()

    def _work(self) -> None:
        while True:
            with self._wanted:
                self._idle += 1
                self._wanted.wait_for(lambda: self._closed or bool(self._pending), _IDLE_SECONDS)
                self._idle -= 1
                if not self._pending:
                    return
                computation = self._pending.popleft()
            # A cancellation may arrive just after the computation has ended.
            with suppress(CancelledComputationError):
                computation.run()
            del computation


def _step(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], resume: Callable[[], Any]
) -> LoopCall[Any] | tuple[Any]:
    """Resume a coroutine until it needs the event loop, and return the LoopCall.

    If the coroutine ends, return its result in a tuple.
    """
    with in_worker(loop):
        try:
            call = resume()
            while call is None:  # from asyncio.sleep(0)
                call = coroutine.send(None)
        except StopIteration as done:
            return (done.value,)
    if not isinstance(call, LoopCall):
        raise TypeError(f"a coroutine in a worker thread awaits {call!r} outside of on_loop")
    return call


def _throw(coroutine: Coroutine[Any, Any, Any], errors: list[Exception]) -> Any:
    """Throw the only one of `errors` into a coroutine. The list is empty afterwards.

    The error's traceback refers to frames that refer to the list. A cycle would keep all objects of the request in
    memory until the next garbage collection.
    """
    return coroutine.throw(errors.pop())


def _start_thread(target: Callable[[], None]) -> None:
    """Start a daemon thread with a large stack. Other threads keep the default stack size."""
    before = threading.stack_size(_STACK_BYTES)
    try:
        threading.Thread(target=target, name="computation", daemon=True).start()
    finally:
        threading.stack_size(before)
