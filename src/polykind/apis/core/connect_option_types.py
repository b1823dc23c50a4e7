"""The options of requests that connect to a pod, a service or a node. Admission sees them as the request's object."""

from __future__ import annotations

from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import BOOL, INT32, STRING, STRINGS, ListOf

_STREAMS = (
    Field("stdin", 1, BOOL),
    Field("stdout", 2, BOOL),
    Field("stderr", 3, BOOL),
    Field("tty", 4, BOOL),
    Field("container", 5, STRING),
)
_PATH = (Field("path", 1, STRING),)


def _options(kind: str, fields: tuple[Field, ...]) -> Struct:
    return Struct(f"v1.{kind}", fields, kind=kind, version="v1")


CONNECT_OPTIONS = {
    ("pods", "attach"): _options("PodAttachOptions", _STREAMS),
    ("pods", "exec"): _options("PodExecOptions", (*_STREAMS, Field("command", 6, STRINGS, omitempty=False))),
    ("pods", "portforward"): _options("PodPortForwardOptions", (Field("ports", 1, ListOf(INT32)),)),
    ("pods", "proxy"): _options("PodProxyOptions", _PATH),
    ("services", "proxy"): _options("ServiceProxyOptions", _PATH),
    ("nodes", "proxy"): _options("NodeProxyOptions", _PATH),
}
"""The type of the options, by the plural of the resource and the subresource."""
