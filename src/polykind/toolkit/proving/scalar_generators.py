"""Generators of random strings and numbers for schema nodes, and of strings with a format such as date-time."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import lru_cache

from polykind.schema.node import SchemaNode
from polykind.toolkit.proving.choices import Choices, between, chance, pick
from polykind.toolkit.proving.pattern_generator import UNBOUNDED, UnsupportedPatternError, pattern_generator
from polykind.toolkit.proving.text_style import Style
from polykind.toolkit.proving.vocabulary import FRACTIONS, NUMBERS, map_key

WORDS = (
    "a", "b", "web", "db", "one", "two", "eu-west-1", "10", "0", "100m", "1Gi", "50%", "true", "null", "http",
    "nginx:1.27", "*/5 * * * *", "10.0.0.1", "https://example.com/x", "Always", "a b", "A", "é", 'it\'s "so"',
    "x=y,z", "line\nline", "-1", "1.5", "2026-01-02", "10s", "default", "example.com/a",
)  # fmt: skip
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-._/: ABCXYZé日\"'\\"
_HEX = "0123456789abcdef"
_SMALL, _LARGE = 12, 1 << 40


def generate_string(
    choices: Choices, node: SchemaNode, hints: Sequence[str] = (), style: Style | None = None, name: str = ""
) -> str | None:
    """Generate a string for a schema node, or return None if no attempt is valid.

    `hints` are strings that are likely valid, for example because a CEL rule contains them. `style` prefers some kinds
    of texts, and `name` is the name of the field. A text of the style may be invalid, so the caller must validate it.
    """
    least, most = node.min_length or 0, UNBOUNDED if node.max_length is None else node.max_length
    if hints and chance(choices, 60):
        hint = pick(choices, hints)
        return b64encode(hint.encode()).decode() if node.format == "byte" else hint
    if style is not None and (not (node.pattern or node.format) or chance(choices, 30)):
        text = style.text(choices, name)
        if text is not None:
            return _fit(text, least, most)
    if node.pattern:
        try:
            return pattern_generator(node.pattern).draw(choices, least, most)
        except UnsupportedPatternError:
            return plain_string(choices, least, most)
    return _formatted_string(choices, node.format or "", least, most)


def _formatted_string(choices: Choices, kind: str, least: int, most: int) -> str:
    """Generate a string with a format, or a plain string if there is no format or an unknown one."""
    maker = _FORMAT_GENERATORS.get(kind.replace("-", ""))
    if maker is None:
        return plain_string(choices, least, most)
    out = maker(choices)
    return out if len(out) >= least or kind != "byte" else "YWJj" * (-(-least // 4))


def plain_string(choices: Choices, least: int = 0, most: int = UNBOUNDED) -> str:
    """Generate a string with `least` to `most` characters: mostly a typical word, sometimes empty or unusual."""
    kind = choices.up_to(9)
    if kind < 7 or least > 4 * _SMALL:
        word = "" if kind == 0 and not least and chance(choices, 40) else pick(choices, WORDS)
        return (word * (least // len(word) + 1))[: max(least, min(len(word), most))] if word else word
    return random_string(choices, _LETTERS, least, min(most, least + 8))


def _fit(text: str, least: int, most: int) -> str:
    """Return the text, repeated or cut to a valid length."""
    if len(text) < least:
        text = ((text or "a") * (least // max(1, len(text)) + 1))[:least]
    return text[:most]


def random_string(choices: Choices, options: str, least: int, most: int) -> str:
    return "".join(pick(choices, options) for _ in range(between(choices, least, max(least, most))))


def generate_name(choices: Choices) -> str:
    """Generate a name, such as `web` or `db-7`, for an object, a label or a map key."""
    word = pick(choices, ("a", "b", "c", "web", "db", "my-app", "x1", "team-a", "blue", "green"))
    return f"{word}-{choices.up_to(99)}" if chance(choices, 40) else word


def generate_map_key(choices: Choices, style: Style) -> str:
    """Generate a key of a map: a name, or an unusual key such as `example.com/name` or `NODE_ENV`."""
    if not chance(choices, style.theme.odd_keys):
        return generate_name(choices)
    return map_key(choices, style.vocabulary.strings)


def generate_integer(choices: Choices, node: SchemaNode, style: Style | None = None) -> int:
    """Generate an integer within the bounds of a schema node: mostly small, sometimes a bound, rarely large."""
    low, high, step = _bounds(node)
    if high < low:
        return low * step
    start = min(max(0, low), high)
    if style is not None:
        special = style.number(choices)
        if special is not None and low <= special <= high:
            return int(special) // step * step if step > 1 else int(special)
        if chance(choices, style.theme.extreme_numbers):
            return pick(choices, _numbers_between(low * step, high * step, step))
    kind = choices.up_to(19)
    if kind == 19:
        return pick(choices, (high, low)) * step
    if kind == 18:
        return between(choices, start, min(high, start + _LARGE)) * step
    if kind >= 16 and low < start:
        return max(low, start - 1 - choices.up_to(_SMALL)) * step
    return min(high, start + choices.up_to(_SMALL)) * step


def _bounds(node: SchemaNode) -> tuple[int, int, int]:
    """Return the bounds of an integer, in steps, and the step: an integer that every valid integer is a multiple of."""
    # Without a format, stop after 2^53, the limit of doubles, so that a converter may multiply by 1,000 in 64 bits.
    wide = {"int32": (1 << 31) - 1, "": (1 << 53) + 1}.get(node.format or "", (1 << 63) - 1)
    low, high = -wide - (1 if node.format else 0), wide
    if node.minimum is not None:
        low = math.floor(node.minimum) + 1 if node.exclusive_minimum else math.ceil(node.minimum)
    if node.maximum is not None:
        high = math.ceil(node.maximum) - 1 if node.exclusive_maximum else math.floor(node.maximum)
    step = int(node.multiple_of) if node.multiple_of and node.multiple_of >= 1 else 1
    return -(-low // step), high // step, step


@lru_cache(maxsize=256)
def _numbers_between(low: int, high: int, step: int) -> tuple[int, ...]:
    inside = [number for number in NUMBERS if low <= number <= high and number % step == 0]
    return tuple(dict.fromkeys((*inside, low, high, min(high, low + step), max(low, high - step))))


def generate_number(choices: Choices, node: SchemaNode, style: Style | None = None) -> int | float:
    """Generate a number within the bounds of a schema node: an integer, or a fraction that a float can represent."""
    integer = generate_integer(choices, node, style)
    if style is not None and not node.multiple_of and chance(choices, 30):
        special = style.number(choices) if chance(choices, 30) else None
        return pick(choices, FRACTIONS) if special is None else special
    if node.multiple_of and node.multiple_of < 1:
        return integer * node.multiple_of
    if node.multiple_of or chance(choices, 50):
        return integer
    value = integer + pick(choices, (0.5, 0.25, 0.125))
    under = node.maximum is None or value < node.maximum
    return value if under and abs(value) < _LARGE else integer


def generate_boolean(choices: Choices, node: SchemaNode, style: Style) -> bool:
    """Generate a boolean. With some themes, false is more likely."""
    return choices.up_to(1) == 1 and not chance(choices, style.theme.falses)


def _ipv4(choices: Choices) -> str:
    return f"10.{choices.up_to(255)}.{choices.up_to(255)}.{choices.up_to(255)}"


def _ipv6(choices: Choices) -> str:
    return f"2001:db8::{choices.up_to(0xFFFF):x}"


def _cidr(choices: Choices) -> str:
    return f"2001:db8:{choices.up_to(0xFFFF):x}::/48" if chance(choices, 20) else f"10.{choices.up_to(255)}.0.0/16"


def _date(choices: Choices) -> str:
    return f"20{choices.up_to(99):02}-{between(choices, 1, 12):02}-{between(choices, 1, 28):02}"


def _date_time(choices: Choices) -> str:
    clock = f"{choices.up_to(23):02}:{choices.up_to(59):02}:{choices.up_to(59):02}"
    zone = pick(choices, ("Z", "Z", "+02:00", ".123456Z"))
    return f"{_date(choices)}T{clock}{zone}"


def _duration(choices: Choices) -> str:
    unit = pick(choices, ("s", "m", "h", "ms", "h30m", "m0s", ".5s"))
    return f"{choices.up_to(90)}{unit}"


def _uuid(choices: Choices, version: str = "4") -> str:
    low = choices.up_to((1 << 48) - 1)
    middle = f"{low >> 32:04x}-{version}{low >> 20 & 0xFFF:03x}-8{low >> 8 & 0xFFF:03x}"
    return f"{choices.up_to(0xFFFF):08x}-{middle}-{low:012x}"


def _byte(choices: Choices) -> str:
    return pick(choices, ("YQ==", "YWI=", "YWJj", "aGVsbG8sIHdvcmxk", "AAECAwQ="))


def _hexadecimal(choices: Choices, size: int) -> str:
    return "".join(pick(choices, _HEX) for _ in range(size))


_FORMAT_GENERATORS: dict[str, Callable[[Choices], str]] = {
    "bsonobjectid": lambda c: _hexadecimal(c, 24),
    "uri": lambda c: f"https://{generate_name(c)}.example.com/{generate_name(c)}",
    "email": lambda c: f"{generate_name(c)}@example.com",
    "hostname": lambda c: f"{generate_name(c)}.example.com",
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "cidr": _cidr,
    "mac": lambda c: ":".join(f"{c.up_to(255):02x}" for _ in range(6)),
    "uuid": _uuid,
    "uuid3": lambda c: _uuid(c, "3"),
    "uuid4": _uuid,
    "uuid5": lambda c: _uuid(c, "5"),
    "isbn": lambda c: pick(c, ("0306406152", "9780306406157")),
    "isbn10": lambda c: "0306406152",
    "isbn13": lambda c: "9780306406157",
    "creditcard": lambda c: pick(c, ("4111111111111111", "5555555555554444")),
    "ssn": lambda c: f"{c.up_to(999):03}-{c.up_to(99):02}-{c.up_to(9999):04}",
    "hexcolor": lambda c: "#" + _hexadecimal(c, 6),
    "rgbcolor": lambda c: f"rgb({c.up_to(9)},{c.up_to(9)},{c.up_to(9)})",
    "byte": _byte,
    "date": _date,
    "duration": _duration,
    "datetime": _date_time,
    "k8sshortname": generate_name,
    "k8slongname": lambda c: f"{generate_name(c)}.{generate_name(c)}",
}
