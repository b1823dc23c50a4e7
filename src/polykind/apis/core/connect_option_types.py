"""The options of requests that connect to a pod, a service or a node. Admission sees them as the request's object."""

from __future__ import annotations

from polykind.apis.core.types import CORE_V1

CONNECT_OPTIONS = {
    ("pods", "attach"): CORE_V1.struct("PodAttachOptions"),
    ("pods", "exec"): CORE_V1.struct("PodExecOptions"),
    ("pods", "portforward"): CORE_V1.struct("PodPortForwardOptions"),
    ("pods", "proxy"): CORE_V1.struct("PodProxyOptions"),
    ("services", "proxy"): CORE_V1.struct("ServiceProxyOptions"),
    ("nodes", "proxy"): CORE_V1.struct("NodeProxyOptions"),
}
"""The type of the options, by the plural of the resource and the subresource."""
