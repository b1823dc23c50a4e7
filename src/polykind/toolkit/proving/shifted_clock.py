"""A clock that runs ahead, for code that is imported afterwards in the same process."""

from __future__ import annotations

import datetime
import time
from typing import Any


class _InstanceOfBase(type):
    """Makes objects of the original class instances of the replaced class."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__mro__[1])


def shift_clock(seconds: float) -> None:
    """Make the functions of `time` and `datetime` that read the clock return a later time."""
    real_time, real_time_ns = time.time, time.time_ns
    real_gmtime, real_localtime, real_strftime = time.gmtime, time.localtime, time.strftime

    def shifted() -> float:
        return real_time() + seconds

    class ShiftedDate(datetime.date, metaclass=_InstanceOfBase):
        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(shifted())

    class ShiftedDateTime(datetime.datetime, metaclass=_InstanceOfBase):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return cls.fromtimestamp(shifted(), tz)

        @classmethod
        def utcnow(cls) -> Any:
            return cls.fromtimestamp(shifted(), datetime.UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(shifted())

    def strftime(template: str, moment: Any = None) -> str:
        return real_strftime(template, real_localtime(shifted()) if moment is None else moment)

    module: Any = time
    module.time, module.time_ns = shifted, lambda: real_time_ns() + int(seconds * 1e9)
    module.gmtime = lambda moment=None: real_gmtime(shifted() if moment is None else moment)
    module.localtime = lambda moment=None: real_localtime(shifted() if moment is None else moment)
    module.strftime = strftime
    dates: Any = datetime
    dates.date, dates.datetime = ShiftedDate, ShiftedDateTime
