"""Normalize responses so that two runs are comparable: replace what varies, sort what has no order."""

from __future__ import annotations

import json
import re
from typing import Any

Step = dict[str, Any]

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
STAMP = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000 UTC)")
MANAGED = re.compile(
    r'("?managedFields"?:\s*)\[.*?\]'
    r'(?=,?\s*"(?:name|namespace|ownerReferences|resourceVersion|uid|finalizers|generateName|labels)")',
    re.S,
)


ALLOCATED = ("clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort")
"""The fields of a Service that the server chooses."""


class Normal:
    """A normalizer that knows the variable names of one run: the webhook's address and CA, and the namespace."""

    def __init__(self, url: str, port: int, ca: str, namespace: str = "") -> None:
        self.url, self.port, self.ca, self.namespace = url, port, ca, namespace
        self.generated: dict[str, str] = {}
        """The generateName of each generated name."""

    def text(self, value: str) -> str:
        value = value.replace(self.url, "<webhook>").replace(f"127.0.0.1:{self.port}", "<webhook-host>")
        value = value.replace(self.ca, "<ca>")
        if self.namespace:
            value = value.replace(self.namespace, "<ns>")
        for name, prefix in self.generated.items():
            value = value.replace(name, f"{prefix}<generated>")
        # kube-apiserver appends a diff of its internal types to some messages.
        value = re.sub(r"\n@@ -\d.*", "", value, flags=re.S)
        value = UUID.sub("<uid>", value)
        value = re.sub(r"(the ResourceVersion in record \()\d+", r"\1<rv>", value)
        value = re.sub(r'(resourceVersion\\?":\s*\\?")\d+', r"\1<rv>", value)
        return STAMP.sub("<time>", value)

    def raw(self, text: str) -> str:
        """Return a response as text with variable parts replaced, so that key order, numbers and layout can be
        compared.
        """
        text = re.sub(r'("?resourceVersion"?:\s*)"\d+"', r'\1"<rv>"', text)
        return self.text(MANAGED.sub(r"\1[]", text))

    def value(self, value: Any, step: Step, key: str = "") -> Any:
        if isinstance(value, dict):
            return self.mapping(value, step)
        if isinstance(value, list):
            # Several controllers set conditions, so their order has no meaning.
            if key == "conditions" and all(isinstance(v, dict) and "type" in v for v in value):
                value = sorted(value, key=lambda v: v["type"])
            return [self.value(v, step) for v in value]
        return self.text(value) if isinstance(value, str) else value

    def mapping(self, value: dict[str, Any], step: Step) -> dict[str, Any]:
        out: dict[str, Any] = {}
        base, name = value.get("generateName"), value.get("name")
        generated = isinstance(base, str) and isinstance(name, str) and name.startswith(base)
        for key, v in value.items():
            k = key.replace(self.namespace, "<ns>") if self.namespace else key
            if k == "selfLink" or (k == "managedFields" and not step.get("managedFields")):
                continue
            if k == "resourceVersion" and isinstance(v, str) and v and not step.get("keepResourceVersion"):
                out[k] = "<rv>"
            elif k == "continue" and v:
                out[k] = "<continue>"
            elif k == "uid" and isinstance(v, str) and v:
                out[k] = "<uid>"
            elif k == "name" and generated:
                self.generated[str(v)] = str(base)
                out[k] = f"{base}<generated>"
            elif k in ALLOCATED and v and v != "None" and not step.get("keepAllocated"):
                out[k] = [f"<{k}>" if one != "None" else one for one in v] if isinstance(v, list) else f"<{k}>"
            else:
                out[k] = self.value(v, step, k)
        return out


def unordered(body: Any) -> None:
    """Sort what kube-apiserver lists in random order: the causes of a Status and the errors joined in its message."""
    if not isinstance(body, dict):
        return
    causes = (body.get("details") or {}).get("causes")
    if causes:
        causes.sort(key=lambda c: (c.get("field", ""), c.get("message", ""), c.get("reason", "")))
    joined = re.fullmatch(r"(.*?: )\[(.*)\]", body.get("message") or "", re.S)
    if joined:
        body["message"] = joined[1] + "[" + ", ".join(sorted(joined[2].split(", "))) + "]"


def split_path(dotted: str) -> tuple[str, str]:
    """Split a dotted path into its first part and the rest. A dot inside a part is escaped as \\. ."""
    parts = re.split(r"(?<!\\)\.", dotted, maxsplit=1)
    return parts[0].replace("\\.", "."), parts[1] if len(parts) > 1 else ""


def at(value: Any, dotted: str) -> Any:
    """Return the value at a dotted path of dicts, or None."""
    while dotted:
        head, dotted = split_path(dotted)
        value = value.get(head) if isinstance(value, dict) else None
    return value


def sort_list(value: Any, dotted: str) -> None:
    """Sort the list at a dotted path."""
    found = at(value, dotted)
    if isinstance(found, list):
        found.sort(key=lambda v: json.dumps(v, sort_keys=True))


def pick(value: Any, dotted: str, test: str) -> None:
    """Keep only the list items whose path equals a value: pick(body, "items", "metadata.name=x")."""
    found = at(value, dotted)
    path, _, wanted = test.partition("=")
    if isinstance(found, list):
        found[:] = [member for member in found if at(member, path) == wanted]


def drop(value: Any, dotted: str) -> None:
    """Remove the value at a dotted path. `*` matches every member, `**` any depth."""
    head, rest = split_path(dotted)
    if head == "**":
        drop(value, rest)
        for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            drop(member, dotted)
        return
    keys: list[Any] = []
    if isinstance(value, dict):
        keys = list(value) if head == "*" else [head] if head in value else []
    elif isinstance(value, list):
        whole = head.isdigit() and int(head) < len(value)
        keys = list(range(len(value))) if head == "*" else [int(head)] if whole else []
    for k in reversed(keys):
        if rest:
            drop(value[k], rest)
        else:
            del value[k]
