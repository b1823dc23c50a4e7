"""A conversion webhook for tests. The server calls it over HTTPS as in production, and tests can inject faults."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polykind.contract import JsonObject
from polykind.conversion.loading import load_converter
from polykind.declare.library import Library
from polykind.testing.exceptions import Refused
from polykind.testing.loop_thread import LoopThread
from polykind.toolkit.hosting.fault_injection import Fault, Faults
from polykind.toolkit.hosting.review_handler import as_libraries
from polykind.toolkit.hosting.webhook_host import Host

STOP_SECONDS = 0.5
"""The maximum time that a stopping host waits for the reviews in progress, in seconds."""


class Converter:
    """A running conversion webhook. An injected fault ends with `up()`, with its `with` block, or with the test."""

    def __init__(self, loop: LoopThread, converters: Sequence[Any], root: Path) -> None:
        """`converters` are converter objects, or the names that `--converter` takes. Files are relative to `root`.

        Raise Refused if a converter cannot be loaded or hosted.
        """
        self._converters = tuple(converters)
        """The converter objects. They are kept alive because the factory uses their id() as a key."""
        try:
            self._libraries = as_libraries(_load(one, root) if isinstance(one, str) else one for one in converters)
            self._host = Host(self._libraries, grace=STOP_SECONDS)
        except ValueError as error:
            raise Refused(f"the converter {str(error).removeprefix('--converter ')}") from None
        self._loop = loop
        loop.run(self._host.start())

    @property
    def url(self) -> str:
        """The URL to which the API server sends ConversionReviews."""
        return self._host.url

    @property
    def faults(self) -> Faults:
        """All faults that can be injected. Methods such as `down` are shortcuts for the most common faults."""
        return self._host.faults

    def down(self) -> Fault:
        """Refuse all connections of the API server to this webhook, and return the fault."""
        return self.faults.down()

    def fail(self, message: str) -> Fault:
        """Respond to every ConversionReview with a failure that has this message, and return the fault."""
        return self.faults.fail(message)

    def slow(self, seconds: float) -> Fault:
        """Delay every response to the API server by some seconds, and return the fault."""
        return self.faults.delay(seconds)

    def up(self) -> None:
        """Clear all faults, so that the webhook works normally again."""
        self.faults.clear()

    def add_conversion_webhook(self, obj: JsonObject) -> JsonObject:
        """Return a CRD with this webhook as its `spec.conversion`, if the CRD has several versions and a converter for
        its kind exists. Return all other objects unchanged.
        """
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
