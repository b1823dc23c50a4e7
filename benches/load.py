"""Load generators: wrk if it is installed, otherwise our own clients."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from benches.process import cpu
from tests.support.client import Client

REPORT = (
    'done = function(s) io.write(string.format("RESULT %d %d %d\\n", s.requests, s.duration, s.errors.status)) end\n'
)
CREATE = """
local n, body = 0, [==[BODY]==]
request = function()
  n = n + 1
  return wrk.format("POST", nil, nil, (body:gsub("NAME", "c" .. n, 1)))
end
"""

MERGE_PATCH = """
wrk.headers["Content-Type"] = "application/merge-patch+json"
local n = 0
request = function()
  n = n + 1
  local body = string.format('{"metadata":{"labels":{"n":"t%d"}}}', n)
  return wrk.format("PATCH", string.format("PATH/w%06d", n % OBJECTS), nil, body)
end
"""
APPLY = """
wrk.headers["Content-Type"] = "application/apply-patch+yaml"
local n, body = 0, [==[BODY]==]
request = function()
  n = n + 1
  local name = string.format("w%06d", n % OBJECTS)
  local changed = body:gsub("NAME", name, 1):gsub("value%-0%-", "value-" .. n .. "-", 1)
  return wrk.format("PATCH", "PATH/" .. name .. "?fieldManager=bench&force=true", nil, changed)
end
"""
UPDATE = """
local n, objects = 0, {}
response = function(status, headers, body)
  local name = body:match('"name":"(w%d+)"')
  if name then objects[name] = body end
end
request = function()
  n = n + 1
  local name = string.format("w%06d", n % OBJECTS)
  local object = objects[name]
  if not object then return wrk.format("GET", "PATH/" .. name) end
  objects[name] = nil
  return wrk.format("PUT", "PATH/" .. name, nil, (object:gsub('"field0":"[^"]*"', '"field0":"t' .. n .. '"', 1)))
end
"""
"""Each object is read once, and then replaced with the resourceVersion of the last response."""


class Target(NamedTuple):
    """A server under load."""

    url: str
    token: str
    pid: int

    def client(self) -> Client:
        return Client(self.url, self.token)


class Load(NamedTuple):
    """The result of a load: responses per second and the server's CPU time for each."""

    rate: float
    cpu_us: float


def get(target: Target, path: str, *, seconds: float = 4, connections: int = 16) -> Load:
    return _load(target, path, "", "", seconds, connections)


def create(target: Target, path: str, template: str, *, seconds: float = 4, connections: int = 16) -> Load:
    """POST `template` repeatedly and replace the word NAME in it by a new name each time."""
    return _load(target, path, CREATE.replace("BODY", template), template, seconds, connections)


def change(target: Target, path: str, script: str, template: str, *, objects: int = 200) -> Load:
    """Run MERGE_PATCH, APPLY or UPDATE on the first objects. This needs wrk."""
    filled = script.replace("PATH", path).replace("OBJECTS", str(objects)).replace("BODY", template)
    return _load(target, path, filled, template, 4, 16)


async def writers(write: Callable[[str], Awaitable[object]], *, seconds: float = 4, count: int = 16) -> float:
    """Return the writes per second of concurrent writers that use the store directly, each under a new name."""
    end, done = time.perf_counter() + seconds, 0

    async def one(number: int) -> None:
        nonlocal done
        made = 0
        while time.perf_counter() < end:
            made += 1
            await write(f"c{number}-{made}")
            done += 1

    begin = time.perf_counter()
    await asyncio.gather(*(one(n) for n in range(count)))
    return done / (time.perf_counter() - begin)


def _load(target: Target, path: str, script: str, template: str, seconds: float, connections: int) -> Load:
    before = cpu(target.pid)
    if shutil.which("wrk"):
        count, elapsed = _wrk(target, path, script, seconds, connections)
    else:
        count, elapsed = asyncio.run(_own(target, path, template, seconds, connections))
    return Load(count / elapsed, (cpu(target.pid) - before) / count * 1e6)


def _wrk(target: Target, path: str, script: str, seconds: float, connections: int) -> tuple[int, float]:
    heads = {"Authorization": f"Bearer {target.token}", "Accept": "application/json"}
    heads["Content-Type"] = "application/json"
    lua = "".join(f"wrk.headers[{json.dumps(k)}] = {json.dumps(v)}\n" for k, v in heads.items()) + script + REPORT
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(lua)
        file.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "-s", file.name, target.url + path]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    line = next(line for line in out.splitlines() if line.startswith("RESULT"))
    count, micros, bad = map(int, line.split()[1:])
    if bad:
        raise SystemExit(f"{bad} of {count} requests to {path} failed")
    return count, micros / 1e6


async def _own(target: Target, path: str, template: str, seconds: float, connections: int) -> tuple[int, float]:
    end, count = time.perf_counter() + seconds, 0

    async def one(number: int) -> None:
        nonlocal count
        made = 0
        async with target.client() as client:
            while time.perf_counter() < end:
                made += 1
                body = template.replace("NAME", f"c{number}-{made}", 1).encode() if template else None
                reply = await client.call("POST" if template else "GET", path, body)
                if reply.status >= 300:
                    raise SystemExit(f"{path}: {reply.status} {reply.body[:300]!r}")
                count += 1

    begin = time.perf_counter()
    await asyncio.gather(*(one(n) for n in range(connections)))
    return count, time.perf_counter() - begin
