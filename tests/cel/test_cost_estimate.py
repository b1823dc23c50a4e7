"""Cost estimates, equal to those of kube-apiserver, which rejects expensive rules by them."""

from __future__ import annotations

import pytest

from polykind.cel import environment
from polykind.cel.call_cost_estimate import MAX_UINT64, Range
from polykind.cel.cost_estimate import estimate_cost
from polykind.contract import JsonObject
from tests.cel.support import declare

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "maxLength": 20},
        "u": {"type": "string"},
        "e": {"type": "string", "enum": ["abc", "de"]},
        "b": {"type": "integer"},
        "d": {"type": "number"},
        "t": {"type": "string", "format": "date-time"},
        "du": {"type": "string", "format": "duration"},
        "by": {"type": "string", "format": "byte", "maxLength": 30},
        "x": {"x-kubernetes-int-or-string": True},
        "xm": {"x-kubernetes-int-or-string": True, "maxLength": 7},
        "n": {"type": "string", "nullable": True, "maxLength": 9},
        "l": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 5}},
        "li": {"type": "array", "maxItems": 50, "items": {"type": "integer"}},
        "ll": {
            "type": "array",
            "maxItems": 4,
            "items": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 6}},
        },
        "m": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "string", "maxLength": 8}},
        "o": {
            "type": "array",
            "maxItems": 7,
            "items": {
                "type": "object",
                "properties": {"k": {"type": "string", "maxLength": 4}, "v": {"type": "integer"}},
            },
        },
        "mo": {
            "type": "object",
            "maxProperties": 6,
            "additionalProperties": {"type": "object", "properties": {"s": {"type": "string", "maxLength": 12}}},
        },
        "set": {
            "type": "array",
            "maxItems": 8,
            "x-kubernetes-list-type": "set",
            "items": {"type": "string", "maxLength": 3},
        },
    },
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", 0),
        ("self.a == self.u", 12),
        ("self.a != 'hello world this is a long text'", 6),
        ("self.a.contains('abc')", 10),
        ("self.u.startsWith(self.u)", 314577),
        ("self.a.size() > 3", 4),
        ("self.l.all(x, x.startsWith('a'))", 28),
        ("self.l.map(x, x + 'y').size() > 0", 95),
        ("self.l.all(x, self.l.all(y, x == y))", 208),
        ("self.m['a'] == 'b'", 4),
        ("self.m.all(k, k == 'b')", 15),
        ("self.o.all(x, x.k == 'a')", 45),
        ("has(self.a)", 1),
        ("self.b in [1, 2, 3]", 15),
        ("'x' in self.m", 3),
        ("{'a': self.a}.a == 'x'", 33),
        ("self.l == ['a']", 13),
        ("self.m == {'a': 'b'}", 33),
        ("self.l + self.l == ['a']", 16),
        ("type(self.x) == string ? self.x == 'a' : self.x == 1", 7),
        ("string(self.x) == 'a'", 314576),
        ("string(self.b).size() > 1", 5),
        ("string(self.by) == 'x'", 6),
        ("self.t > timestamp('2020-01-01T00:00:00Z')", 4),
        ("self.du < duration('1h')", 4),
        ("duration(self.a) == self.du", 6),
        ("self.a.upperAscii() == self.u", 20),
        ("self.a.substring(1, 3) == self.u", 20),
        ("self.a.lastIndexOf('x') > 1", 11),
        ("self.a.replace('', 'b') == self.u", 37),
        ("self.a.split(',').size() > 1", 20),
        ("self.a.split(',')[0] == 'x'", 19),
        ("self.ll.all(x, x.join('-') == 'a')", 55),
        ("self.a.findAll('[0-9]+').all(x, x == 'a')", 341),
        ("self.li.sum() > 1", 53),
        ("self.l.indexOf('a') > 1", 18),
        ("self.l.sort() == ['a']", 77),
        ("self.li.reverse().size() > 1", 65),
        ("self.ll.flatten().size() > 1", 19),
        ("self.o.sortBy(x, x.k).all(x, x.v > 1)", 532),
        ("sets.contains(self.l, ['a'])", 18),
        ("self.?a.orValue('x') == 'y'", 4),
        ("self.m[?'a'].orValue('x') == 'y'", 5),
        ("optional.ofNonZeroValue(self.a).hasValue()", 4),
        ("quantity(self.a) == quantity('1')", 12),
        ("ip.isCanonical(self.a)", 18),
        ("cidr(self.a).containsIP(ip(self.a))", 24),
        ("string(ip(self.a)) == 'x'", 12),
        ("isURL(self.a)", 3),
        ("semver(self.a) == semver('1.0.0')", 12),
        ("format.named(self.a).hasValue()", 4),
        ("strings.quote(self.a) == 'x'", 11),
        ("dyn(self.l).all(x, x == 'a')", 24),
        ("self.l.transformMap(i, v, v).all(k, k > 1)", 79),
        ("self.l.map(x, {'a': x}).all(y, y.a == 'a')", 259),
        ("self.b + self.b * 2 - 1 / 2 % 3 > -self.b", 13),
        ("self.n == 'abc'", 3),
        ("(true ? [self.a] : [self.u]).all(x, x == 'abc')", 17),
        ("self.l.all(x, [x].all(y, y == 'a'))", 98),
        ("self.b == oldSelf.b", 4),
        ("self.l.map(x, x.split('')).flatten().size() > 1", 116),
        ("(self.a + self.a).split(',').size() > 2", 54),
        ("self.m.filter(k, k == 'x').all(y, y == 'z')", 68),
        ("[[self.a], [self.u]].all(x, x.all(y, y == 'abcdef'))", 45),
        ("'abc' == 'abd'", 1),
        ("type(self.b) == int", 4),
        ("type(self.t) == google.protobuf.Timestamp", 4),
    ],
)
def test_maximum_cost(text: str, expected: int) -> None:
    decl_type, type_provider = declare(SCHEMA)
    compiled = environment.compile_rule(text, decl_type, type_provider, optional_old=False)
    assert compiled.ast is not None
    assert estimate_cost(compiled.ast, decl_type).max == expected


def test_range_arithmetic_saturates() -> None:
    huge = Range(1, MAX_UINT64)
    assert huge.plus(huge) == Range(2, MAX_UINT64)
    assert huge.times(huge) == Range(1, MAX_UINT64)
    assert huge.scaled(0.1).max < MAX_UINT64
    assert huge.scaled(2) == Range(2, MAX_UINT64)
