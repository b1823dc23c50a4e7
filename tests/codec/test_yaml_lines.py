import pytest

from polykind.codec.yaml_lines import field_lines


def test_lines_of_fields() -> None:
    [doc] = field_lines('a:\n  b: [1,\n    2]\n  c: |\n    x\n    y\nd: "z"\n')
    assert doc.span(("a",)) == (1, 6)
    assert doc.span(("a", "b")) == (2, 3)
    assert doc.span(("a", "b", 1)) == (3, 3)
    assert doc.span(("a", "c")) == (4, 6)
    assert doc.span(("d",)) == (7, 7)
    assert doc.span(("e",)) is None
    assert doc.nearest(("a", "x", "y")) == 1
    assert doc.scalar(("d",)) == "z"
    with pytest.raises(ValueError, match="not YAML"):
        field_lines("a: [")
