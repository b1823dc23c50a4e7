from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.codec.jsonpath import JsonPath, JsonPathError, MismatchError

TRAIN: Any = {
    "metadata": {"labels": {"example.com/depot": "west"}},
    "spec": {
        "stops": [{"name": "port", "minutes": 3}, {"name": "mill", "minutes": 9}, {"name": "end"}],
        "crew": {"driver": "di", "head.cook": "hu"},
        "nothing": None,
        "grid": [[1, 2], [3]],
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.stops[0].name", ["port"]),
        (".spec.stops[-1].name", ["end"]),
        (".spec.stops[*].name", ["port", "mill", "end"]),
        (".spec.stops[*].minutes", [3, 9]),
        (".spec.stops[0:2].minutes", [3, 9]),
        (".spec.stops[::2].name", ["port", "end"]),
        (".spec.stops[0,2].name", ["port", "end"]),
        (".spec.stops[1:1]", []),
        ('.spec.stops[?(@.name=="mill")].minutes', [9]),
        (".spec.stops[?(@.minutes>3)].name", ["mill"]),
        (".spec.stops[?(@.minutes)].name", ["port", "mill"]),
        (".spec.stops[?(@.name!='mill')].name", ["port", "end"]),
        (".spec.crew.driver", ["di"]),
        (".spec.crew['driver']", ["di"]),
        (".spec.crew['head.cook']", []),
        (".spec.crew.head\\.cook", ["hu"]),
        (".spec.crew.*", ["di", "hu"]),
        (".spec.crew.driver.*", [100, 105]),
        (".metadata.labels.example\\.com/depot", ["west"]),
        (".spec.no.such", []),
        (".spec.nothing", [None]),
        (".spec.nothing.more", []),
        (".spec.crew.driver.more", []),
        ("..minutes", [3, 9]),
        (".spec.grid[*][0]", [1, 3]),
        ("$.spec.crew.driver", ["di"]),
    ],
)
def test_find(path: str, found: list[Any]) -> None:
    assert JsonPath(path).find(TRAIN) == found


@pytest.mark.parametrize(
    "path",
    [".spec.stops[9]", ".spec.crew[0]", ".spec.crew[?(@.x)]", ".spec.stops[?(@.name>1)]", ".spec.stops[0:1:0]", ".a b"],
)
def test_mismatching_paths(path: str) -> None:
    with pytest.raises(MismatchError):
        JsonPath(path).find(TRAIN)
    assert JsonPath(path).first(TRAIN) is None


@pytest.mark.parametrize(
    "path",
    [".a[", ".a[x]", ".a[?(@.b]", ".a[?(@.b)", "#", ".a....b", ".a['\n']", "1.2.3", ".a[-]", "[?(" * 100 + ")]" * 100],
)
def test_malformed_paths(path: str) -> None:
    with pytest.raises(JsonPathError):
        JsonPath(path)


def test_quotes_in_filters() -> None:
    value = {"a": [{"k": 'x"y'}, {"k": "é"}]}
    assert JsonPath(r'.a[?(@.k=="x\"y")].k').find(value) == ['x"y']
    assert JsonPath(r'.a[?(@.k=="\u00e9")].k').find(value) == ["é"]


def test_recursive_descent_of_deep_values() -> None:
    value: Any = {"x": 1}
    for _ in range(3000):
        value = {"a": value}
    assert JsonPath("..x").find(value) == [1]


@given(st.text(alphabet=".ab[]*'\"?(@=)1:-,\\ {}", max_size=20))
def test_arbitrary_path_parses_or_raises(path: str) -> None:
    try:
        found = JsonPath(path)
    except JsonPathError:
        return
    found.first({"a": [{"b": 1}, {"b": "x"}], "b": {"a": None}})
