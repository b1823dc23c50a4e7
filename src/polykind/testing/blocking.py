"""Blocking methods that are derived from async ones, so that each operation of the plugin is written once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from polykind.testing.exceptions import Refused, Unmet
from polykind.testing.loop_thread import LoopThread, WaitingThread

P = ParamSpec("P")
R = TypeVar("R")


class BlockingFace(Protocol):
    """An object with blocking methods. They run the async methods of `_core` in the thread of `_loop`."""

    _core: Any
    _loop: LoopThread


class Blocking(Generic[P, R]):
    """A blocking method with the parameters and the docstring of an async method.

    Functions among the arguments, such as the condition of `wait_for`, run in the calling thread. pytest shows an
    exception at the line of the test that calls the method.
    """

    def __init__(self, method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]) -> None:
        self._method = method

    @overload
    def __get__(self, face: None, owner: type) -> Callable[Concatenate[Any, P], R]: ...

    @overload
    def __get__(self, face: BlockingFace, owner: type) -> Callable[P, R]: ...

    def __get__(self, face: BlockingFace | None, owner: type) -> Callable[..., R]:
        @wraps(self._method)
        def called(face: BlockingFace, *args: Any, **kwargs: Any) -> R:
            __tracebackhide__ = True
            caller = WaitingThread()
            args = tuple(caller.wrap(one) if callable(one) else one for one in args)
            kwargs = {name: caller.wrap(one) if callable(one) else one for name, one in kwargs.items()}
            work = self._method(face._core, *args, **kwargs)
            try:
                return face._loop.run(work, extra=kwargs.get("timeout") or 0.0, caller=caller)
            except (Refused, Unmet) as error:
                raise error.with_traceback(None) from None

        return called if face is None else MethodType(called, face)
