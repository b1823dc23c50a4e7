"""Resource quantities such as 1500m, 2Gi and 1e3, with apimachinery's parsing, arithmetic and canonical text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal

from polykind.bounded_cache import remember

_FORMAT_REASON = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX_REASON = "unable to parse quantity's suffix"
_NUMERIC_REASON = "unable to parse numeric part of quantity"
_parse_parts = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[-+]?[0-9]*+)").fullmatch
_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX_OF = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_SUFFIX_OF = {0: "", **{exponent: suffix for suffix, exponent in _BINARY_SUFFIXES.items()}}
_CONTEXT = Context(prec=400, Emax=999_999_999_999, Emin=-999_999_999_999)
_MAX_DIGITS = 300
_WRAPPED_EXPONENTS = (1, 2, 3, 6, 9)
_INT64 = range(-(2**63), 2**63)

DECIMAL_SI = "DecimalSI"
BINARY_SI = "BinarySI"
DECIMAL_EXPONENT = "DecimalExponent"


class QuantityError(ValueError):
    """The text is not a quantity. The message is the same as kube-apiserver's."""


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """A resource quantity.

    Quantities are compared and hashed by their amount: 1 and 1000m are equal.
    """

    amount: Decimal
    int64_amount: tuple[int, int] | None = None
    """The amount as an int64 times a power of ten: (number, exponent). None if it does not fit.

    kube-apiserver's fast path computes with this form.
    """
    format: str = DECIMAL_SI
    """The suffixes of the canonical text: DECIMAL_SI (1k), BINARY_SI (1Ki) or DECIMAL_EXPONENT (1e3)."""
    text: str = ""
    """The text from which the quantity was parsed, or "" if kube-apiserver would write another text."""

    @classmethod
    def of(cls, number: int, unit_format: str = DECIMAL_SI) -> Quantity:
        """Return an integer as a quantity."""
        return cls(Decimal(number), (number, 0) if number in _INT64 else None, unit_format)

    @classmethod
    def of_milli(cls, number: int, unit_format: str = DECIMAL_SI) -> Quantity:
        """Return a number of thousandths as a quantity."""
        return cls(Decimal(number).scaleb(-3, _CONTEXT), (number, -3), unit_format)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.amount == other.amount

    def __hash__(self) -> int:
        return hash(self.amount)

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __le__(self, other: Quantity) -> bool:
        return self.compare(other) <= 0

    def __gt__(self, other: Quantity) -> bool:
        return self.compare(other) > 0

    def __ge__(self, other: Quantity) -> bool:
        return self.compare(other) >= 0

    def compare(self, other: Quantity) -> int:
        """Return -1, 0 or 1 if this quantity is less than, equal to or greater than `other`."""
        return int(_CONTEXT.compare(self.amount, other.amount))

    @property
    def sign(self) -> int:
        """-1, 0 or 1 for a negative, zero or positive quantity."""
        return (self.amount > 0) - (self.amount < 0)

    def __add__(self, other: Quantity) -> Quantity:
        amount = _CONTEXT.add(self.amount, other.amount)
        return Quantity(amount, self._int64_sum(other, 1), self.format if self.sign else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        amount = _CONTEXT.subtract(self.amount, other.amount)
        return Quantity(amount, self._int64_sum(other, -1), self.format if self.sign else other.format)

    def __neg__(self) -> Quantity:
        return self * -1

    def __mul__(self, factor: int) -> Quantity:
        amount = _CONTEXT.multiply(self.amount, Decimal(factor))
        int64_amount = None
        if self.int64_amount is not None and self.int64_amount[0] * factor in _INT64:
            int64_amount = (self.int64_amount[0] * factor, self.int64_amount[1])
        return Quantity(amount, int64_amount, self.format)

    def _int64_sum(self, other: Quantity, sign: int) -> tuple[int, int] | None:
        left, right = self.int64_amount, other.int64_amount
        if left is None or right is None:
            return None
        if not (left[0] and right[0]):
            return left if left[0] else (sign * right[0], right[1])
        scale = min(left[1], right[1])
        if max(left[1], right[1]) - scale > 40:
            return None
        one, two = (value * 10 ** (power - scale) for value, power in (left, right))
        total = one + sign * two
        return (total, scale) if total in _INT64 else None

    def as_int64(self) -> int | None:
        """Return the quantity as an integer. Return None if it is a fraction or does not fit int64, or if
        `int64_amount` is None.
        """
        if self.int64_amount is None or self.int64_amount[1] < 0:
            return None
        value = self.int64_amount[0] * 10 ** min(self.int64_amount[1], 40)
        return value if value in _INT64 else None

    def value(self) -> int:
        """Return the quantity as an integer, rounded up. One that does not fit int64 overflows as in kube-apiserver."""
        return self._scaled(0)

    def milli_value(self) -> int:
        """Return the number of thousandths, rounded up. One that does not fit int64 overflows as in kube-apiserver."""
        return self._scaled(3)

    def _scaled(self, power: int) -> int:
        if self.int64_amount is not None:
            return _scale_int64(self.int64_amount[0], self.int64_amount[1] + power)
        sign, digits, exponent = self.amount.as_tuple()
        unscaled = int("".join(map(str, digits)))
        return _scale_big(-unscaled if sign else unscaled, int(exponent) + power)

    def approximate_float(self) -> float:
        """Return the amount as a float, computed in the same way as in Go. It is not always the nearest float."""
        if self.int64_amount is not None:
            digits, exponent = self.int64_amount
        else:
            exponent = int(self.amount.as_tuple().exponent)
            digits = int(self.amount.scaleb(-exponent, _CONTEXT))
        return float(digits) * float(f"1e{exponent}") if exponent else float(digits)

    def canonical(self) -> str:
        """Return the text that kube-apiserver writes for this quantity."""
        if self.text:
            return self.text
        if not self.amount:
            return "0"
        if self.format == BINARY_SI and abs(self.amount) >= 1024 and self.amount == self.amount.to_integral_value():
            return _binary_text(int(self.amount))
        return _decimal_text(self.amount, DECIMAL_SI if self.format == BINARY_SI else self.format)

    def __str__(self) -> str:
        return self.canonical()


def _scale_int64(value: int, exponent: int) -> int:
    """Return value * 10**exponent, rounded away from zero.

    As in kube-apiserver, a product that does not fit int64 is wrapped for the usual exponents, else 0.
    """
    if exponent < 0:
        quotient, remainder = divmod(abs(value), _power_of_ten(min(-exponent, 20)))
        quotient += bool(remainder)
        return -quotient if value < 0 else quotient
    scaled = value * _power_of_ten(min(exponent, 20))
    return scaled if scaled in _INT64 else _wrapped(scaled) if exponent in _WRAPPED_EXPONENTS else 0


def _scale_big(unscaled: int, exponent: int) -> int:
    """Return unscaled * 10**exponent for an amount without int64 form, rounded up and wrapped as in kube-apiserver."""
    if exponent >= 0:
        return _wrapped(unscaled * pow(10, exponent, 2**64))
    if unscaled < _INT64[-1] and exponent > -19:
        # Go divides the lowest 64 bits, towards zero.
        lowest = _wrapped(unscaled)
        quotient, remainder = divmod(abs(lowest), _power_of_ten(-exponent))
        return (-quotient if lowest < 0 else quotient) + bool(remainder)
    quotient, remainder = divmod(unscaled, _power_of_ten(-exponent))
    return _wrapped(_wrapped(quotient) + bool(remainder))


def _power_of_ten(exponent: int) -> int:
    power: int = 10**exponent
    return power


def _wrapped(number: int) -> int:
    """Return the lowest 64 bits of an integer as a signed integer."""
    return (number - _INT64[0]) % 2**64 + _INT64[0]


def _binary_text(number: int) -> str:
    exponent = 0
    while abs(number) >= 1024 and number % 1024 == 0:
        number //= 1024
        exponent += 10
    return f"{number}{_BINARY_SUFFIX_OF.get(exponent, '')}"


def _decimal_text(amount: Decimal, unit_format: str) -> str:
    sign, digits, exponent = amount.as_tuple()
    text = "".join(map(str, digits))
    stripped = text.rstrip("0")
    exponent = int(exponent) + len(text) - len(stripped)
    padding = exponent % 3
    exponent -= padding
    if unit_format == DECIMAL_EXPONENT:
        suffix = f"e{exponent}" if exponent else ""
    else:
        # Like kube-apiserver, write no suffix if there is none for the exponent.
        suffix = _DECIMAL_SUFFIX_OF.get(exponent, "")
    return f"{'-' if sign else ''}{stripped}{'0' * padding}{suffix}"


def parse_quantity(text: str) -> Quantity:
    """Parse a quantity as apimachinery's resource.ParseQuantity does. Raise QuantityError if the text is invalid.

    Quantities with the same short text are the same object.
    """
    return _parse(text)


@remember(512 * 1024)
def _parse(text: str) -> Quantity:
    match = _parse_parts(text)
    if not text or match is None:
        raise QuantityError(_FORMAT_REASON)
    sign, integer, fraction, suffix = match[1], match[2].lstrip("0"), match[3] or "", match[4]
    exponent, unit_format = _interpret_suffix(suffix)
    if len(integer) + len(fraction) > _MAX_DIGITS:
        raise QuantityError(_NUMERIC_REASON)
    unsigned = int((integer + fraction) or "0")
    number = -unsigned if sign == "-" else unsigned
    if unit_format == BINARY_SI:
        amount = _CONTEXT.multiply(Decimal(number).scaleb(-len(fraction), _CONTEXT), Decimal(2**exponent))
        precision = 15 - max(len(integer), 1) - int(exponent * 3 / 10) - 1 if not fraction else -1
        int64_amount = (number * 2**exponent, 0)
        kept = bool(unsigned & 7)
    else:
        scale = exponent - len(fraction)
        amount = Decimal(number).scaleb(scale, _CONTEXT)
        precision = 18 - len(integer or "0") - len(fraction)
        int64_amount = (number, scale)
        kept = scale % 3 == 0 and integer != "" and not (integer + fraction).endswith("000")
    if precision < 0 or int64_amount[1] < -9 or int64_amount[0] not in _INT64:
        if not match[2] and not fraction:
            raise QuantityError(_NUMERIC_REASON)
        return _rounded(amount, unit_format)
    return Quantity(amount, int64_amount, unit_format, text if kept else "")


def _interpret_suffix(suffix: str) -> tuple[int, str]:
    """Return the exponent that a suffix stands for, and the suffix's format. Raise QuantityError if it is unknown."""
    if suffix in _BINARY_SUFFIXES:
        return _BINARY_SUFFIXES[suffix], BINARY_SI
    if suffix in _DECIMAL_SUFFIXES:
        return _DECIMAL_SUFFIXES[suffix], DECIMAL_SI
    if len(suffix) > 1 and suffix[0] in "eE" and re.fullmatch(r"[+-]?[0-9]{1,9}", suffix[1:]):
        return int(suffix[1:]), DECIMAL_EXPONENT
    raise QuantityError(_SUFFIX_REASON)


def _rounded(amount: Decimal, unit_format: str) -> Quantity:
    """Return a quantity whose `int64_amount` is None. The amount is rounded away from zero to nanos.

    If the format is binary, the amount is limited to int64.
    """
    if amount.adjusted() < _MAX_DIGITS:
        amount = amount.quantize(Decimal(1).scaleb(-9), ROUND_UP, _CONTEXT)
    if unit_format == BINARY_SI and abs(amount) > _INT64[-1]:
        amount = Decimal(_INT64[-1]).copy_sign(amount)
    if unit_format == BINARY_SI and 0 < abs(amount) < 1:
        unit_format = DECIMAL_SI
    return Quantity(amount, None, unit_format)
