"""Any input gives a result or an APIError."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind import errors
from polykind.apply import field_manager, json_patch, merge_patch, strategic_merge_patch
from polykind.apply.scale_managed_fields import to_parent, to_scale
from tests.apply.test_field_manager import MODELS, V1, V2, Json, convert, entry, garden

NAMES = st.sampled_from(
    [
        "name",
        "size",
        "tags",
        "beds",
        "posts",
        "plan",
        "notes",
        "free",
        "pod",
        "port",
        "kind",
        "a",
        "$patch",
        "\ud800",
        "",
    ]
)
SCALARS = (
    st.none() | st.booleans() | st.sampled_from([0, -1, 2**63 - 1, -1.5, 1e300, "", "a", "\ud800", "<é", "delete"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=20
)
META = st.dictionaries(
    st.sampled_from(["name", "labels", "annotations", "finalizers", "ownerReferences", "managedFields", "uid"]), VALUES
)
LISTED = st.lists(
    VALUES
    | st.builds(
        entry,
        st.sampled_from(["a", "b"]),
        st.sampled_from(["Apply", "Update"]),
        st.dictionaries(
            st.sampled_from(["f:spec", "f:a", "k:{}", 'v:"\ud800"', "v:[", ".", "zz", "i:1"]), VALUES, max_size=3
        ),
        version=st.sampled_from([V1, V2, "g.io/v0"]),
    ),
    max_size=3,
)
OBJECTS = st.fixed_dictionaries(
    {"apiVersion": st.just(V1), "kind": st.just("Garden")},
    optional={"metadata": META | VALUES, "spec": VALUES, "status": VALUES, "x": VALUES},
)
RULES: Json = {"api_version": V1, "now": "2024-01-01T00:00:00Z", "models": MODELS, "convert": convert}


@given(st.none() | OBJECTS, OBJECTS, LISTED, st.sampled_from(["", "status"]))
async def test_updates_never_fail(live: Any, new: Any, entries: Any, subresource: str) -> None:
    if isinstance(new.get("metadata"), dict):
        new["metadata"]["managedFields"] = entries
    result = await field_manager.update(live, new, manager="m", subresource=subresource, **RULES)
    assert isinstance(result, list)


@given(st.none() | OBJECTS, OBJECTS, LISTED, st.booleans())
async def test_applies_succeed_or_are_rejected(live: Any, config: Any, entries: Any, force: bool) -> None:
    if live is not None and isinstance(live.get("metadata"), dict):
        live["metadata"]["managedFields"] = entries
    with contextlib.suppress(errors.APIError):
        rules: Json = {"manager": "kubectl", "force": force, "kind": "Garden", "subresource": "", **RULES}
        assert isinstance(await field_manager.apply(live, config, **rules), dict)


@given(OBJECTS, VALUES | OBJECTS)
def test_patches_succeed_or_are_rejected(document: Any, patch: Any) -> None:
    for kind in (json_patch, merge_patch, strategic_merge_patch):
        with contextlib.suppress(errors.APIError):
            assert isinstance(kind.apply(document, patch), dict)


@given(LISTED, LISTED)
def test_scale_entries_never_fail(parent: Any, scale: Any) -> None:
    paths = {V1: ".spec.replicas", V2: None}
    assert isinstance(to_scale(parent, paths), list)
    assert isinstance(to_parent(parent, scale, api_version=V1, paths=paths), list)


@pytest.mark.parametrize("depth", [200, 300, 900, 20000])
async def test_deep_nesting_succeeds_or_is_rejected(depth: int) -> None:
    deep: Any = "x"
    for _ in range(depth):
        deep = {"a": deep}
    live = garden(free=deep)
    assert isinstance(await field_manager.update(None, live, manager="m", subresource="", **RULES), list)
    patches: list[tuple[Any, Any]] = [
        (json_patch, [{"op": "copy", "from": "/spec", "path": "/x"}]),
        (json_patch, [{"op": "test", "path": "/spec/free", "value": deep}]),
        (merge_patch, {"spec": {"free": deep}}),
        (strategic_merge_patch, {"spec": {"free": deep}}),
    ]
    for kind, patch in patches:
        with contextlib.suppress(errors.APIError):
            kind.apply(live, patch)
    with contextlib.suppress(errors.APIError):
        await field_manager.apply(None, live, manager="m", force=False, kind="Garden", subresource="", **RULES)
