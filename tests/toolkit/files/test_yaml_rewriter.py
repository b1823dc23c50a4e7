"""Rewriting of YAML documents without touching unchanged text."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polykind.codec import yaml_codec
from polykind.toolkit.files.yaml_rewriter import _format_indented, rewrite_document, same_json


def edited(text: str, change: Any) -> str:
    old, new = (yaml_codec.decode(text.encode()) for _ in range(2))
    change(new)
    return rewrite_document(text, old, new)


def dedented(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def test_unchanged_text_is_kept() -> None:
    text = "# on top\na: 'x'   # beside\n\nb: [1,   2]\n# below\n"
    assert edited(text, lambda obj: None) == text


def test_missing_final_newline_is_kept_if_possible() -> None:
    assert edited("a: 1\nb: 2", lambda obj: obj.update(a=2)) == "a: 2\nb: 2"
    assert edited("a: 1\nb: 2", lambda obj: obj.update(b="x\ny\n")) == "a: 1\nb: |\n  x\n  y\n"


def test_changed_value_keeps_place_and_comment() -> None:
    text = "# on top\napiVersion: e.com/v1  # beside\nkind: A\n"
    assert edited(text, lambda obj: obj.update(apiVersion="e.com/v2")) == (
        "# on top\napiVersion: e.com/v2  # beside\nkind: A\n"
    )


def test_renamed_field_keeps_place_comments_and_quotes() -> None:
    text = dedented("""
        spec:
          # when
          cron: '0 3 * * *' # at three
          keep: 3
    """)
    assert edited(text, lambda obj: obj["spec"].update(schedule=obj["spec"].pop("cron"))) == dedented("""
        spec:
          # when
          schedule: '0 3 * * *' # at three
          keep: 3
    """)


def test_common_values_do_not_identify_a_rename() -> None:
    text = "spec:\n  # be loud\n  verbose: true\n  last: 1\n"

    def change(obj: Any) -> None:
        del obj["spec"]["verbose"]
        obj["spec"]["encrypted"] = True

    assert edited(text, change) == "spec:\n  last: 1\n  encrypted: true\n"


def test_removed_field_removes_its_comments() -> None:
    text = dedented("""
        spec:
          a: 1
          # about b
          b:
            c: 2
            # the end of b
          # about d
          d: 4
    """)
    assert edited(text, lambda obj: obj["spec"].pop("b")) == "spec:\n  a: 1\n  # about d\n  d: 4\n"


def test_new_fields_come_last_after_trailing_comments() -> None:
    text = "spec:\n  a:\n    b: 1\n    # in a\n# behind all\n"
    assert edited(text, lambda obj: obj["spec"].update(text="x\ny\n")) == (
        "spec:\n  a:\n    b: 1\n    # in a\n  text: |\n    x\n    y\n# behind all\n"
    )


def test_list_items_are_rewritten_one_by_one() -> None:
    text = dedented("""
        items:
          # the first
          - kind: A   # a
            spec: {x: 1}
          # the second
          - kind: B
            list:
            - 1
            - 2   # two
    """)

    def change(obj: Any) -> None:
        obj["items"][0]["kind"] = "C"
        obj["items"][1]["list"][1] = 3

    assert edited(text, change) == text.replace("kind: A", "kind: C").replace("- 2 ", "- 3 ")


def test_new_lists_follow_existing_indentation() -> None:
    def change(obj: Any) -> None:
        obj["spec"]["new"] = [{"a": ["x", []], "text": "1\n2\n"}, [3, [4]], {}]

    assert edited("spec:\n  old:\n  - 1\n", change) == (
        "spec:\n  old:\n  - 1\n  new:\n  - a:\n    - x\n    - []\n    text: |\n      1\n      2\n"
        "  - - 3\n    - - 4\n  - {}\n"
    )
    assert edited("spec:\n  old:\n    - 1\n", change) == (
        "spec:\n  old:\n    - 1\n  new:\n    - a:\n        - x\n        - []\n      text: |\n        1\n        2\n"
        "    - - 3\n      - - 4\n    - {}\n"
    )


def test_first_field_of_an_item_can_be_removed() -> None:
    text = "l:\n- a: xyz\n  # about b\n  b: 1\n"
    assert edited(text, lambda obj: obj["l"][0].pop("a")) == "l:\n  # about b\n- b: 1\n"


def test_hash_in_block_scalar_is_not_a_comment() -> None:
    text = "a: |\n  x\n  # not a comment\n\nb: 1\nc: >-\n  one\n  two\n"
    assert edited(text, lambda obj: obj.update(b=2)) == text.replace("b: 1", "b: 2")


@pytest.mark.parametrize("text", ["a: &x {k: 1}\nb: *x\nc: 1\n", "a: &x\n  k: 1\nb:\n  <<: *x\n  l: 2\nc: 1\n"])
def test_aliases_without_anchor_are_expanded(text: str) -> None:
    def change(obj: Any) -> None:
        del obj["a"]

    out = edited("# on top\n" + text + "# below\n", change)
    assert out.startswith("# on top\nb:\n  k: 1\n")
    assert out.endswith("c: 1\n# below\n")


def test_ambiguous_scalars_are_quoted() -> None:
    odd = {"on": "on", "012": "012", "e": "1e3", "day": "2020-01-01", "n": "null", "f": 0.5, "big": 1e21, "i": -3}
    out = edited("a: 1\n", lambda obj: obj.update(b=odd))
    assert yaml_codec.decode(out.encode())["b"] == odd
    assert 'day: "2020-01-01"\n' in out


def test_one_and_true_differ() -> None:
    assert not same_json({"a": 1}, {"a": True})
    assert edited("a: 1\n", lambda obj: obj.update(a=True)) == "a: true\n"


def test_flow_mapping_becomes_a_block() -> None:
    assert edited("# c\n{a: 1, b: 2}\n", lambda obj: obj.update(a=2)) == "# c\na: 2\nb: 2\n"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab #:-'\"\n\t|0", max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc #:-0", max_size=3), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "c", "on", "1"]), JSON, min_size=1, max_size=4)


@settings(deadline=None, max_examples=300)
@given(OBJECTS, OBJECTS, st.booleans())
def test_rewritten_document_always_has_the_new_value(old: Any, new: Any, indented: bool) -> None:
    text = "# top\n" + ("".join(_format_indented(old)) if indented else yaml_codec.encode_ordered(old).decode())
    assert same_json(yaml_codec.decode(text.encode()), old)
    assert same_json(yaml_codec.decode(rewrite_document(text, old, new).encode()), new)
