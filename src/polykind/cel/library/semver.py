"""The semver library: semantic versions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from polykind.cel.evaluation_errors import EvalError, is_valid
from polykind.cel.runtime_values import KIND_BY_CLASS
from polykind.golang.fmt import go_quote

_is_number = re.compile(r"[0-9]+").fullmatch
_is_identifier = re.compile(r"[0-9A-Za-z-]+").fullmatch


class Semver(NamedTuple):
    """A semantic version. `key` orders versions: numbers before words, and prereleases before their release."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[tuple[int, int, str], ...]

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.major, self.minor, self.patch, not self.prerelease, self.prerelease)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.key == other.key

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.key)


KIND_BY_CLASS[Semver] = "kubernetes.Semver"


def parse(text: str) -> Semver:
    """Parse a version as the Go library blang/semver does. Raise EvalError with its message if the text is invalid."""
    if not text:
        raise EvalError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvalError("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    major = _parse_number(parts[0], "major")
    minor = _parse_number(parts[1], "minor")
    version = Semver(
        major,
        minor,
        _parse_number(patch, "patch"),
        tuple(map(_parse_prerelease, prerelease.split("."))) if dash else (),
    )
    for word in build.split(".") if plus else ():
        if not word:
            raise EvalError("Build meta data is empty")
        if not _is_identifier(word):
            raise EvalError(f"Invalid character(s) found in build meta data {go_quote(word)}")
    return version


def _parse_number(text: str, name: str) -> int:
    if text and not _is_number(text):
        raise EvalError(f"Invalid character(s) found in {name} number {go_quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvalError(f"{name.capitalize()} number must not contain leading zeroes {go_quote(text)}")
    if not text:
        raise EvalError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) >= 2**64:
        raise EvalError(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return int(text)


def _parse_prerelease(text: str) -> tuple[int, int, str]:
    if not text:
        raise EvalError("Prerelease is empty")
    if _is_number(text):
        if len(text) > 1 and text[0] == "0":
            raise EvalError(f"Numeric PreRelease version must not contain leading zeroes {go_quote(text)}")
        if len(text) > 20 or int(text) >= 2**64:
            raise EvalError(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
        return (0, int(text), "")
    if not _is_identifier(text):
        raise EvalError(f"Invalid character(s) found in prerelease {go_quote(text)}")
    return (1, 0, text)


def _parse_normalized(text: str) -> Semver:
    """Parse a version leniently. For example, v1.02 is parsed as 1.2.0."""
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[index] = stripped if stripped and stripped[0] in "0123456789" else f"0{stripped}"
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise EvalError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse(".".join(parts))


def _semver(text: str, normalize: bool = False) -> Semver:
    return _parse_normalized(text) if normalize else parse(text)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "semver string_to_semver string -> semver": _semver,
    "semver string_bool_to_semver string bool -> semver": _semver,
    "isSemver is_semver_string string -> bool": is_valid(_semver),
    "isSemver is_semver_string_bool string bool -> bool": is_valid(_semver),
    ".isGreaterThan semver_is_greater_than semver semver -> bool": lambda a, b: a.key > b.key,
    ".isLessThan semver_is_less_than semver semver -> bool": lambda a, b: a.key < b.key,
    ".compareTo semver_compare_to semver semver -> int": lambda a, b: (a.key > b.key) - (a.key < b.key),
    ".major semver_major semver -> int": lambda version: version.major,
    ".minor semver_minor semver -> int": lambda version: version.minor,
    ".patch semver_patch semver -> int": lambda version: version.patch,
}
