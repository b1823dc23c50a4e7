"""Conversions beside the server, as in production: a webhook of its own that the definitions are wired to.

It can be broken on purpose, so that a test sees what that does to an operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polykind.contract import JsonObject
from polykind.testing.exceptions import Refused
from polykind.testing.loop_thread import LoopThread
from polykind.toolkit.declare.library import Library
from polykind.toolkit.declare.loading import load_converter
from polykind.toolkit.hosting.fault_injection import Fault, Faults
from polykind.toolkit.hosting.review_handler import as_libraries
from polykind.toolkit.hosting.webhook_host import Host

STOP_SECONDS = 0.5
"""Seconds that reviews under way have to end when the host stops."""


class Converter:
    """Each fault lasts until `up`, until the test ends, or as long as the `with` statement that it is used in."""

    def __init__(self, loop: LoopThread, converters: Sequence[Any], root: Path) -> None:
        """`converters` are anything that `--converter` may name, or the names; files are looked for from `root`.

        Raises Refused.
        """
        self._converters = tuple(converters)
        """Held, so that as long as this lives no other object is taken for one of them."""
        try:
            self._libraries = as_libraries(_load(one, root) if isinstance(one, str) else one for one in converters)
            self._host = Host(self._libraries, grace=STOP_SECONDS)
        except ValueError as error:
            raise Refused(f"the converter {str(error).removeprefix('--converter ')}") from None
        self._loop = loop
        loop.run(self._host.start())

    @property
    def url(self) -> str:
        """Where the API server sends its reviews."""
        return self._host.url

    @property
    def faults(self) -> Faults:
        """All that can go wrong, and for which objects: what follows are the most common ones by shorter names."""
        return self._host.faults

    def down(self) -> Fault:
        """Be gone: connections are refused."""
        return self.faults.down()

    def fail(self, message: str) -> Fault:
        """Answer every review with a failure."""
        return self.faults.fail(message)

    def slow(self, seconds: float) -> Fault:
        """Answer so much later."""
        return self.faults.delay(seconds)

    def up(self) -> None:
        """Work again, whatever was wrong."""
        self.faults.clear()

    def add_conversion_webhook(self, obj: JsonObject) -> JsonObject:
        """The object; a definition of several versions whose kind is converted here, with the way to here in it."""
        spec = obj.get("spec")
        if obj.get("kind") != "CustomResourceDefinition" or not isinstance(spec, dict):
            return obj
        group, kind = str(spec.get("group")), str((spec.get("names") or {}).get("kind"))
        if len(spec.get("versions") or ()) < 2 or not any(one.handles(group, kind) for one in self._libraries):
            return obj
        conversion = self._host.conversion
        if str(obj.get("apiVersion")).endswith("/v1beta1"):
            webhook = conversion.pop("webhook")
            conversion["conversionReviewVersions"] = webhook["conversionReviewVersions"]
            conversion["webhookClientConfig"] = webhook["clientConfig"]
        return {**obj, "spec": {**spec, "conversion": conversion}}

    def close(self) -> None:
        self._loop.run(self._host.stop())


def _load(spec: str, root: Path) -> Library:
    if ":" in spec:
        return load_converter(spec)
    return load_converter(str(root / spec))
