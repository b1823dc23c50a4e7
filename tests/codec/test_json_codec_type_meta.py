from __future__ import annotations

from typing import Any

import pytest

from polykind.codec.json_codec import read_type_meta
from polykind.errors import BadRequestError

PARSE = "couldn't get version/kind; json parse error: json: cannot unmarshal "
STRUCT = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], f"{PARSE}array into Go value of type {STRUCT}"),
        (5, f"{PARSE}number into Go value of type {STRUCT}"),
        ("x", f"{PARSE}string into Go value of type {STRUCT}"),
        (True, f"{PARSE}bool into Go value of type {STRUCT}"),
        ({"kind": 5}, f"{PARSE}number into Go struct field .kind of type string"),
        ({"apiVersion": {}, "kind": 5}, f"{PARSE}object into Go struct field .apiVersion of type string"),
        ({"kind": "X", "Kind": []}, f"{PARSE}array into Go struct field .kind of type string"),
        ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
    ],
)
def test_read_type_meta_errors(value: Any, message: str) -> None:
    with pytest.raises(BadRequestError) as raised:
        read_type_meta(value)
    assert raised.value.message == message


def test_read_type_meta() -> None:
    assert read_type_meta({"apiVersion": "g/v1", "kind": "X"}) == ("g/v1", "X")
    assert read_type_meta({"apiVersion": "/v1", "kind": "X"}) == ("v1", "X")
    assert read_type_meta({"apiVersion": "/", "kind": "X"}) == ("", "X")
    assert read_type_meta({"kind": None}) == read_type_meta({}) == read_type_meta(None) == ("", "")


def test_read_type_meta_ignores_case() -> None:
    assert read_type_meta({"APIVersion": "g/v1", "\u212aIND": "X"}) == ("g/v1", "X")
    assert read_type_meta({"kind": "X", "Kind": "Y", "KIND": None}) == ("", "Y")
    assert read_type_meta({"kin": "X", "spec": "Y", "apiVersions": "Z"}) == ("", "")
