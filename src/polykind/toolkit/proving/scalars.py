"""Values of one piece: texts, with or without a format, and numbers."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Sequence

from polykind.schema.node import SchemaNode
from polykind.toolkit.proving.choices import Choices, between, likely, pick
from polykind.toolkit.proving.patterns import ENDLESS, Unsaid, texts

WORDS = (
    "a", "b", "web", "db", "one", "two", "eu-west-1", "10", "0", "100m", "1Gi", "50%", "true", "null", "http",
    "nginx:1.27", "*/5 * * * *", "10.0.0.1", "https://example.com/x", "Always", "a b", "A", "é", 'it\'s "so"',
    "x=y,z", "line\nline", "-1", "1.5", "2026-01-02", "10s", "default", "example.com/a",
)  # fmt: skip
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-._/: ABCXYZé日\"'\\"
_HEX = "0123456789abcdef"
_SMALL, _LARGE = 12, 1 << 40


def text(choices: Choices, node: SchemaNode, hints: Sequence[str] = ()) -> str | None:
    """A text for a node, None if none was found; `hints` are texts that may be welcome there."""
    least, most = node.min_length or 0, ENDLESS if node.max_length is None else node.max_length
    if hints and likely(choices, 60):
        hint = pick(choices, hints)
        return b64encode(hint.encode()).decode() if node.format == "byte" else hint
    if node.pattern:
        try:
            return texts(node.pattern).draw(choices, least, most)
        except Unsaid:
            return plain(choices, least, most)
    maker = _FORMATS.get(node.format.replace("-", "")) if node.format else None
    if maker is None:
        return plain(choices, least, most)
    out = maker(choices)
    return out if len(out) >= least or node.format != "byte" else "YWJj" * (-(-least // 4))


def plain(choices: Choices, least: int = 0, most: int = ENDLESS) -> str:
    """Any text: mostly a word as users write them, at times empty or odd."""
    kind = choices.upto(9)
    if kind < 7 or least > 4 * _SMALL:
        word = "" if kind == 0 and not least and likely(choices, 40) else pick(choices, WORDS)
        return (word * (least // len(word) + 1))[: max(least, min(len(word), most))] if word else word
    return letters(choices, _LETTERS, least, min(most, least + 8))


def letters(choices: Choices, options: str, least: int, most: int) -> str:
    return "".join(pick(choices, options) for _ in range(between(choices, least, max(least, most))))


def name(choices: Choices) -> str:
    """A name as objects, labels and keys have them."""
    word = pick(choices, ("a", "b", "c", "web", "db", "my-app", "x1", "team-a", "blue", "green"))
    return f"{word}-{choices.upto(99)}" if likely(choices, 40) else word


def integer(choices: Choices, node: SchemaNode) -> int:
    """A whole number in a node's bounds: mostly small, at times at the bounds, rarely large."""
    wide = 31 if node.format == "int32" else 53 if not node.format else 63
    low, high = -(1 << wide), (1 << wide) - 1
    if node.minimum is not None:
        low = math.floor(node.minimum) + 1 if node.exclusive_minimum else math.ceil(node.minimum)
    if node.maximum is not None:
        high = math.ceil(node.maximum) - 1 if node.exclusive_maximum else math.floor(node.maximum)
    step = int(node.multiple_of) if node.multiple_of and node.multiple_of >= 1 else 1
    low, high = -(-low // step), high // step
    if high < low:
        return low * step
    start = min(max(0, low), high)
    kind = choices.upto(19)
    if kind == 19:
        return pick(choices, (high, low)) * step
    if kind == 18:
        return between(choices, start, min(high, start + _LARGE)) * step
    if kind >= 16 and low < start:
        return max(low, start - 1 - choices.upto(_SMALL)) * step
    return min(high, start + choices.upto(_SMALL)) * step


def number(choices: Choices, node: SchemaNode) -> int | float:
    """A number in a node's bounds: whole, or with a fraction that JSON and floats say alike."""
    whole = integer(choices, node)
    if node.multiple_of and node.multiple_of < 1:
        return whole * node.multiple_of
    if node.multiple_of or likely(choices, 50):
        return whole
    value = whole + pick(choices, (0.5, 0.25, 0.125))
    under = node.maximum is None or value < node.maximum
    return value if under and abs(value) < _LARGE else whole


def _ipv4(choices: Choices) -> str:
    return f"10.{choices.upto(255)}.{choices.upto(255)}.{choices.upto(255)}"


def _ipv6(choices: Choices) -> str:
    return f"2001:db8::{choices.upto(0xFFFF):x}"


def _cidr(choices: Choices) -> str:
    return f"2001:db8:{choices.upto(0xFFFF):x}::/48" if likely(choices, 20) else f"10.{choices.upto(255)}.0.0/16"


def _date(choices: Choices) -> str:
    return f"20{choices.upto(99):02}-{between(choices, 1, 12):02}-{between(choices, 1, 28):02}"


def _date_time(choices: Choices) -> str:
    clock = f"{choices.upto(23):02}:{choices.upto(59):02}:{choices.upto(59):02}"
    zone = pick(choices, ("Z", "Z", "+02:00", ".123456Z"))
    return f"{_date(choices)}T{clock}{zone}"


def _duration(choices: Choices) -> str:
    unit = pick(choices, ("s", "m", "h", "ms", "h30m", "m0s", ".5s"))
    return f"{choices.upto(90)}{unit}"


def _uuid(choices: Choices, version: str = "4") -> str:
    low = choices.upto((1 << 48) - 1)
    middle = f"{low >> 32:04x}-{version}{low >> 20 & 0xFFF:03x}-8{low >> 8 & 0xFFF:03x}"
    return f"{choices.upto(0xFFFF):08x}-{middle}-{low:012x}"


def _byte(choices: Choices) -> str:
    return pick(choices, ("YQ==", "YWI=", "YWJj", "aGVsbG8sIHdvcmxk", "AAECAwQ="))


def _hexadecimal(choices: Choices, size: int) -> str:
    return "".join(pick(choices, _HEX) for _ in range(size))


_FORMATS: dict[str, Callable[[Choices], str]] = {
    "bsonobjectid": lambda c: _hexadecimal(c, 24),
    "uri": lambda c: f"https://{name(c)}.example.com/{name(c)}",
    "email": lambda c: f"{name(c)}@example.com",
    "hostname": lambda c: f"{name(c)}.example.com",
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "cidr": _cidr,
    "mac": lambda c: ":".join(f"{c.upto(255):02x}" for _ in range(6)),
    "uuid": _uuid,
    "uuid3": lambda c: _uuid(c, "3"),
    "uuid4": _uuid,
    "uuid5": lambda c: _uuid(c, "5"),
    "isbn": lambda c: pick(c, ("0306406152", "9780306406157")),
    "isbn10": lambda c: "0306406152",
    "isbn13": lambda c: "9780306406157",
    "creditcard": lambda c: pick(c, ("4111111111111111", "5555555555554444")),
    "ssn": lambda c: f"{c.upto(999):03}-{c.upto(99):02}-{c.upto(9999):04}",
    "hexcolor": lambda c: "#" + _hexadecimal(c, 6),
    "rgbcolor": lambda c: f"rgb({c.upto(9)},{c.upto(9)},{c.upto(9)})",
    "byte": _byte,
    "date": _date,
    "duration": _duration,
    "datetime": _date_time,
    "k8sshortname": name,
    "k8slongname": lambda c: f"{name(c)}.{name(c)}",
}
