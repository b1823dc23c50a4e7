"""Converters for the --converter flag in tests."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

threads: set[str] = set()


def moves(obj: dict[str, Any], to: str) -> dict[str, Any]:
    threads.add(threading.current_thread().name)
    obj["spec"] = {"moved": obj["spec"]}
    obj["metadata"]["labels"] = {"to": to.rpartition("/")[2]}
    obj["metadata"]["finalizers"] = ["not/kept"]
    obj["apiVersion"] = to
    return obj


async def awaits(obj: dict[str, Any], to: str) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {**obj, "apiVersion": to}


class Picky:
    """A converter for one kind."""

    def handles(self, group: str, kind: str) -> bool:
        return (group, kind) == ("example.com", "CronTab")

    def convert(self, obj: dict[str, Any], to: str) -> Any:
        if obj["metadata"]["name"] == "bad":
            raise ValueError("cannot convert bad")
        return obj


picky = Picky()


def _step(name: str) -> Any:
    def step(obj: dict[str, Any]) -> dict[str, Any]:
        obj["spec"].setdefault("steps", []).append(f"{obj['apiVersion']} {name}")
        return obj

    return step


steps = {
    ("CronTab.example.com", "v1beta1", "v1"): _step("up"),
    ("CronTab.example.com", "v1", "v2"): _step("up again"),
    ("CronTab.example.com", "v2", "v1"): _step("down"),
}

hanging = threading.Event()


def hangs(obj: dict[str, Any], to: str) -> dict[str, Any]:
    hanging.wait(5)
    return obj
