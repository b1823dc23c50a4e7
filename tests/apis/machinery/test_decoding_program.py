from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from polykind.apis.machinery import _decode, decode
from polykind.apis.machinery.decoding_program import AtypicalError, TypicalDecoder
from polykind.apis.machinery.from_unstructured import conversion_error
from polykind.apis.machinery.kinds import Kind
from polykind.errors import BadRequestError
from tests.apis.machinery.test_all_kinds import IDS, KINDS
from tests.support.declared_values import random_value

UNUSUAL: tuple[Any, ...] = (
    None,
    0,
    1,
    "x",
    True,
    [],
    {},
    [None],
    {"a": None},
    2**40,
    1.5,
    "0001-01-01T00:00:00Z",
    "1000m",
    "",
)


@pytest.fixture
def programs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generate programs at the first use."""
    monkeypatch.setattr(TypicalDecoder, "_USES", 0)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container in a value with each of its keys."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


def change(random: Random, value: dict[str, Any]) -> None:
    container, key = random.choice(list(places(value)))
    if isinstance(container, dict) and random.random() < 0.3:
        container[f"unknown-{key}"] = random.choice(UNUSUAL)
    else:
        container[key] = random.choice(UNUSUAL)


def outcome(decoder: Any, value: Any, kind: Kind) -> str:
    """Return the result as text, so that the order of keys counts."""
    try:
        return repr(decoder(json.loads(json.dumps(value)), kind))
    except BadRequestError as error:
        return error.message


@pytest.mark.usefixtures("programs_at_once")
@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_programs_decode_as_structs_do(kind: Kind) -> None:
    random, typical = Random(kind.kind), TypicalDecoder(kind)
    type_meta = {"apiVersion": kind.group_version.api_version, "kind": kind.kind}
    for changes in (0, 0, 1, 1, 2, 3):
        value = {**random_value(random, kind), **type_meta}
        for _ in range(changes):
            change(random, value)
        slow = outcome(lambda value, kind: _decode(value, kind, True), value, kind)
        assert outcome(lambda value, kind: decode(value, kind, report=True), value, kind) == slow
        try:
            decoded = typical.decode(value)
        except AtypicalError:
            continue
        assert repr((decoded, [])) == slow
        assert conversion_error(value, kind) == ""


@pytest.mark.usefixtures("programs_at_once")
def test_programs_take_no_values_from_the_input() -> None:
    (kind,) = (kind for kind in KINDS if kind.kind == "ConfigMap")
    value: Any = {"metadata": {"labels": {"a": "b"}, "finalizers": ["c"], "ownerReferences": [{"uid": "d"}]}}
    decoded = TypicalDecoder(kind).decode(value)
    assert decoded["metadata"]["labels"] is not value["metadata"]["labels"]
    assert decoded["metadata"]["finalizers"] is not value["metadata"]["finalizers"]
    assert decoded["metadata"]["ownerReferences"][0] is not value["metadata"]["ownerReferences"][0]


def test_program_is_generated_after_a_few_uses() -> None:
    (kind,) = (kind for kind in KINDS if kind.kind == "ConfigMap")
    typical = TypicalDecoder(kind)
    for _ in range(8):
        with pytest.raises(AtypicalError):
            typical.decode({})
    assert typical.decode({"data": {"b": "1", "a": "2"}})["data"] == {"a": "2", "b": "1"}
