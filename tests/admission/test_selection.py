"""What selectors of webhooks and policies select."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.admission.selection import in_namespace, selects
from polykind.errors import NotFoundError
from polykind.selectors.selector_objects import compile_label_selector
from tests.admission.support import asked

TEST = {"matchLabels": {"env": "test"}}
PROD = {"matchExpressions": [{"key": "env", "operator": "In", "values": ["prod"]}]}


def labelled(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "v", "labels": labels}}


def test_an_object_is_selected_as_it_is_or_as_it_shall_be() -> None:
    wanted = compile_label_selector(TEST)
    assert selects(wanted, asked(labelled(env="test")))
    assert selects(wanted, asked(labelled(), labelled(env="test")))
    assert selects(wanted, asked(None, labelled(env="test")))
    assert not selects(wanted, asked(labelled(), labelled(env="prod")))
    assert selects(compile_label_selector({}), asked(labelled()))


def test_a_namespace_is_selected_by_its_labels() -> None:
    assert in_namespace(compile_label_selector(TEST), asked(labelled()))
    assert not in_namespace(compile_label_selector(PROD), asked(labelled()))


def test_what_lies_in_no_namespace_is_always_selected() -> None:
    assert in_namespace(compile_label_selector(PROD), asked(labelled(), namespace=""))


def test_a_namespace_itself_is_selected_by_what_it_shall_be_and_deleted_by_what_it_is() -> None:
    of: dict[str, Any] = {"group": "", "plural": "namespaces", "namespace": "v"}
    assert in_namespace(compile_label_selector(PROD), asked(labelled(env="prod"), labelled(env="test"), **of))
    assert in_namespace(compile_label_selector(TEST), asked(None, labelled(env="test"), **of))
    assert in_namespace(
        compile_label_selector(TEST), asked(labelled(env="prod"), labelled(env="test"), subresource="status", **of)
    )


def test_a_namespace_that_is_not_there_is_told() -> None:
    with pytest.raises(NotFoundError, match='namespaces "gone" not found'):
        in_namespace(compile_label_selector(TEST), asked(labelled(), namespace="gone", namespace_object=lambda: None))
