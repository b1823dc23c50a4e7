"""String formats of schemas, with the checks of kube-openapi's strfmt package."""

from __future__ import annotations

import re
from collections.abc import Callable
from unicodedata import category

from polykind.golang.duration import is_duration as is_go_duration
from polykind.golang.mail import is_email
from polykind.golang.net import is_cidr, is_ipv4, is_ipv6, is_mac
from polykind.golang.strconv import MAX_INT64
from polykind.golang.time import is_date
from polykind.golang.url import is_request_uri
from polykind.golang.utf8 import byte_length

_HEX = "[0-9a-fA-F]"
_uuid = re.compile(rf"{_HEX}{{8}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{12}}").fullmatch
_uuid3 = re.compile(rf"{_HEX}{{8}}-?{_HEX}{{4}}-?3{_HEX}{{3}}-?{_HEX}{{4}}-?{_HEX}{{12}}").fullmatch
_uuid4 = re.compile(rf"{_HEX}{{8}}-?{_HEX}{{4}}-?4{_HEX}{{3}}-?[89abAB]{_HEX}{{3}}-?{_HEX}{{12}}").fullmatch
_uuid5 = re.compile(rf"{_HEX}{{8}}-?{_HEX}{{4}}-?5{_HEX}{{3}}-?[89abAB]{_HEX}{{3}}-?{_HEX}{{12}}").fullmatch
_card = re.compile(
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})"
).fullmatch
_ssn = re.compile(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}").fullmatch
_hexcolor = re.compile(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})").fullmatch
_CHANNEL = r"[\t\n\f\r ]*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*"
_rgbcolor = re.compile(rf"rgb\({_CHANNEL},{_CHANNEL},{_CHANNEL}\)").fullmatch
_base64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})").fullmatch
_object_id = re.compile(r"[0-9a-fA-F]{24}").fullmatch
_label = re.compile(r"[a-z0-9]+(?:-+[a-z0-9]+)*").fullmatch
_subdomain = re.compile(r"[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*").fullmatch
_time_of_day = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})").fullmatch
_common_date_time = re.compile(
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?Z"
).fullmatch
# The lookbehind keeps the search linear: a match never begins inside a number.
_number_and_unit = re.compile(r"(?<![0-9])([0-9]++)[\t\n\f\r ]*+([A-Za-zµ]++)").findall
_TIME_UNITS = (
    ("ns", "nano"),
    ("us", "µs", "micro"),
    ("ms", "milli"),
    ("s", "sec"),
    ("m", "min"),
    ("h", "hr", "hour"),
    ("d", "day"),
    ("w", "wk", "week"),
)


def _is_host_letter(char: str) -> bool:
    return (char.isascii() and char.isalnum()) or category(char)[0] in "LS"


def is_hostname(text: str) -> bool:
    """True for a hostname in letters of any script. If it has several labels, the last one has only letters."""
    *labels, last = text.split(".")
    if not last or byte_length(text) > 255 or any(byte_length(part) > 63 for part in (*labels, last)):
        return False
    if not labels:
        return _is_host_letter(last[0]) and all(map(_is_host_letter, last[1:].removeprefix("-")))
    if len(last) < 2 or not all((char.isascii() and char.isalpha()) or category(char)[0] == "L" for char in last):
        return False
    return all(map(_is_host_label, labels))


def _is_host_label(label: str) -> bool:
    return bool(label) and all(map(_is_host_letter, label.replace("-", "a"))) and label[0] != "-" != label[-1]


def is_date_time(text: str) -> bool:
    """True for a date, a `t` or `T`, and a time of day. Leap seconds are not accepted."""
    if _common_date_time(text):
        return True
    day, *rest = text.lower().split("t")
    if not rest or not is_date(day):
        return False
    time_of_day = _time_of_day(rest[0])
    return time_of_day is not None and time_of_day[1] <= "23" and time_of_day[2] <= "59" and time_of_day[3] <= "59"


def is_duration(text: str) -> bool:
    """True for durations of Go, and for texts that contain a number and a unit of time, such as `3 days`."""
    if is_go_duration(text):
        return True
    has_unit = False
    for number, word in _number_and_unit(text):
        if len(number) > 18 and int(number.lstrip("0")[:20] or 0) > MAX_INT64:
            return False
        unit = word.lower()
        has_unit = has_unit or any(unit in words or unit.startswith(words[-1]) for words in _TIME_UNITS)
    return has_unit


def is_credit_card(text: str) -> bool:
    """True for the number of a known card brand with a valid Luhn checksum."""
    digits = "".join(char for char in text if char in "0123456789")
    if not _card(digits):
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def is_isbn10(text: str) -> bool:
    """True for an ISBN of ten digits with a valid checksum."""
    digits = _strip_separators(text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    return sum((i + 1) * (10 if digit == "X" else int(digit)) for i, digit in enumerate(digits)) % 11 == 0


def is_isbn13(text: str) -> bool:
    """True for an ISBN of thirteen digits with a valid checksum."""
    digits = _strip_separators(text)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    checksum = sum((1, 3)[i % 2] * int(digit) for i, digit in enumerate(digits[:12]))
    return int(digits[12]) == (10 - checksum % 10) % 10


def _strip_separators(text: str) -> str:
    return "".join(char for char in text if char not in "\t\n\f\r -")


FormatCheck = Callable[[str], object]

_FORMATS: dict[str, FormatCheck] = {
    "bsonobjectid": _object_id,
    "uri": is_request_uri,
    "email": is_email,
    "hostname": is_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "cidr": is_cidr,
    "mac": is_mac,
    "uuid": _uuid,
    "uuid3": _uuid3,
    "uuid4": _uuid4,
    "uuid5": _uuid5,
    "isbn": lambda text: is_isbn10(text) or is_isbn13(text),
    "isbn10": is_isbn10,
    "isbn13": is_isbn13,
    "creditcard": is_credit_card,
    "ssn": lambda text: byte_length(text) == 11 and _ssn(text),
    "hexcolor": _hexcolor,
    "rgbcolor": _rgbcolor,
    "byte": _base64,
    "password": lambda text: True,
    "date": is_date,
    "duration": is_duration,
    "datetime": is_date_time,
    "k8sshortname": lambda text: len(text) <= 63 and _label(text),
    "k8slongname": lambda text: len(text) <= 253 and _subdomain(text),
}

KNOWN_FORMATS = frozenset(_FORMATS)
"""The names of string formats, without dashes. A schema may write dashes anywhere in a name."""

INTEGER_FORMATS = frozenset({"int32", "int64"})
NUMBER_FORMATS = frozenset({"float", "double"})


def format_check(name: str) -> FormatCheck | None:
    """Return the check of a string format. Its result is truthy for valid texts. Return None for an unknown format."""
    return _FORMATS.get(name.replace("-", ""))


def is_known_format(name: str, type_name: str) -> bool:
    """True if a format is known for a type. `type_name` is empty for schemas without a type and for int-or-string."""
    if type_name in ("", "string"):
        return name.replace("-", "") in KNOWN_FORMATS
    if type_name == "integer":
        return name in INTEGER_FORMATS
    return type_name == "number" and name in NUMBER_FORMATS
