"""A converter in a process of its own, with another clock, time zone and hash seed.

Findings are confirmed there, and the results of both processes are compared. A difference means that the converter
depends on earlier calls, on the time or on the process. `python -m polykind.toolkit.proving.fresh_process` is the
process: it reads one request per line from stdin, and writes one reply per line to stdout.
"""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from typing import Any

import msgspec
import orjson

from polykind.contract import JsonObject
from polykind.conversion.loading import load_converter
from polykind.declare.library import Library
from polykind.toolkit.crd_versions import CRD, CRDVersion
from polykind.toolkit.proving.round_trip import ConversionFailedError, ConverterUnavailableError, TestedConverter
from polykind.toolkit.proving.shifted_clock import shift_clock
from polykind.toolkit.proving.time_limit import TimeLimitError, time_limit

_SHIFT_SECONDS = 7 * 365 * 86400 + 86400 * 3 + 5 * 3600 + 17 * 60 + 11
"""The difference between the clocks: seven years, and parts of each smaller unit."""
_HASH_SEED = "4242"
_TIME_ZONE = "Asia/Kathmandu"


class FreshConverter(TestedConverter):
    """The converter that `spec` names, as in --converter, in a new process."""

    __test__ = False

    def __init__(self, spec: str, crd: CRD) -> None:
        """Raise ConverterUnavailableError if the process does not load the converter."""
        super().__init__(Library(spec, self._never_called), crd)
        environment = {**os.environ, "PYTHONHASHSEED": _HASH_SEED, "TZ": _TIME_ZONE}
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        weakref.finalize(self, _end, self._process)
        reply = self._request({"converter": spec, "path": sys.path, "crd": crd.manifest})
        if "error" in reply:
            raise ConverterUnavailableError(f"a fresh process cannot load {spec}: {reply['error']}")

    def close(self) -> None:
        """End the process."""
        _end(self._process)

    def call(self, obj: JsonObject, goal: CRDVersion) -> Any:
        reply = self._request({"obj": obj, "goal": goal.name})
        if "error" in reply:
            raise ConversionFailedError(reply["error"], reply["location"])
        return reply["converted"]

    def _never_called(self, obj: JsonObject, to: str) -> JsonObject:
        raise NotImplementedError("this converter runs in another process")

    def _request(self, request: JsonObject) -> JsonObject:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            with time_limit(self._seconds * 2):
                self._process.stdin.write(orjson.dumps(request) + b"\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
        except (OSError, TimeLimitError):
            line = b""
        if not line:
            raise ConverterUnavailableError("the fresh process has ended")
        reply: JsonObject = msgspec.json.decode(line)
        return reply


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                continue


def main() -> None:
    """Load the converter of the first request, and convert the object of each later request."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What the converter prints must not be mistaken for a reply.
    first = msgspec.json.decode(sys.stdin.buffer.readline())
    sys.path[:] = first["path"]
    shift_clock(_SHIFT_SECONDS)
    try:
        crd = CRD(first["crd"])
        converter = TestedConverter(load_converter(first["converter"]), crd)
        reply: JsonObject = {}
    except Exception as error:
        reply = {"error": f"{type(error).__name__}: {error}"}
    replies.write(orjson.dumps(reply) + b"\n")
    replies.flush()
    for line in sys.stdin.buffer if not reply else ():
        request = msgspec.json.decode(line)
        try:
            reply = {"converted": converter.convert_raw(request["obj"], crd.versions[request["goal"]])}
        except (ConversionFailedError, ConverterUnavailableError) as stop:
            reply = {"error": str(stop), "location": getattr(stop, "location", "")}
        replies.write(orjson.dumps(reply) + b"\n")
        replies.flush()


if __name__ == "__main__":
    main()
