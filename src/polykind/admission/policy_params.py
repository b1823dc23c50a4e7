"""Params: the objects that a binding hands to the expressions of its policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from polykind.contract import JsonObject
from polykind.selectors.label_selectors import LabelSelector
from polykind.selectors.selector_objects import compile_label_selector


class ParamStore(Protocol):
    """The objects of one kind at one version."""

    @property
    def namespaced(self) -> bool: ...

    async def get(self, namespace: str, name: str) -> JsonObject | None: ...

    async def select(self, namespace: str, labels: LabelSelector) -> Sequence[JsonObject]: ...


FindParams = Callable[[str, str], ParamStore | None]
"""The objects of an apiVersion and kind; None if that is not served."""


class ParamError(Exception):
    """A policy or binding that cannot work as it is configured; says why."""


def unknown_kind(kind: JsonObject) -> ParamError:
    group, _, version = (kind.get("apiVersion") or "").rpartition("/")
    return ParamError(f"failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind.get('kind')}'")


async def collect(store: ParamStore | None, ref: JsonObject | None, namespace: str) -> Sequence[JsonObject | None]:
    """The params of a binding, of which each makes an evaluation: a single None where there are none to be had.

    `namespace` is that of the write. Raises ParamError.
    """
    if store is None or ref is None:
        return [None]
    wanted = ref.get("namespace") or ""
    where = ""
    if store.namespaced:
        where = wanted or namespace
        if not where:
            raise ParamError("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    elif wanted:
        raise ParamError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    if ref.get("name"):
        found = await store.get(where, ref["name"])
        params = [found] if found is not None else []
    else:
        params = list(await store.select(where, compile_label_selector(ref.get("selector"))))
    if not params and ref.get("parameterNotFoundAction") == "Deny":
        raise ParamError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return params
