"""Themes: the kinds of values that a generated object prefers.

A converter's fault often needs several unusual values of the same kind, for example two long texts or three equal
items. Objects in which every value is chosen independently rarely have them. Therefore each object of a run has a
theme, and the themes take turns, so that rare shapes occur early.
"""

from __future__ import annotations

from typing import NamedTuple

THEMES = (
    "plain", "mixed", "constants", "dense", "equal", "typical", "lists", "empty", "odd-text", "keys", "extremes",
    "mixed",
    "constants", "duplicates", "long-text", "dense", "typical", "equal", "sparse", "odd-text", "long-text", "mixed",
    "constants", "lists",
    "single-text",
)  # fmt: skip
"""The themes in the order of a run. Themes that find more faults occur more than once."""


class TextShares(NamedTuple):
    """The percentages of the kinds of texts: plain words, typical texts of a field, the converter's constants, etc."""

    plain: int
    typical: int
    constant: int
    odd: int
    long: int


MIXED_TEXTS = TextShares(plain=35, typical=25, constant=20, odd=17, long=3)


class Theme(NamedTuple):
    """The preferences of an object with this theme. Numbers are percentages, unless they say something else."""

    texts: TextShares = MIXED_TEXTS
    density: int = 0
    """The percentage of optional fields that are set. 0: the generator chooses one for each object."""
    extreme_numbers: int = 20
    """Integers that are at a limit of a type or unit."""
    constant_numbers: int = 20
    """Numbers that are constants of the converter."""
    odd_keys: int = 25
    """Keys of maps that are not simple names."""
    swapped_keys: int = 0
    """Keys of maps that differ from another key only by case."""
    longest_list: int = 3
    """The number of items that the generator adds to a list, if its schema and budget allow."""
    counted_lists: int = 0
    """Objects with lists that are longer than a number that is a constant of the converter."""
    long_lists: int = 0
    """Lists with at least four items."""
    long_maps: int = 0
    """Maps that may have as many keys as a list has items."""
    most_keys: int = 0
    """The number of keys that the generator adds to a map. 0: it depends on the budget."""
    equal_texts: int = 0
    """Texts that are equal to one of two texts of the object."""
    equal_numbers: int = 0
    """Numbers that are equal to one of two numbers of the object."""
    equal_containers: int = 0
    """Objects and lists that are equal to the last one with the same schema."""
    equal_items: int = 0
    """Items of a list that are equal, or similar, to an earlier item of it."""
    similar_texts: int = 0
    """Texts of one kind, chosen once for each object."""
    empty_texts: int = 0
    empty_lists: int = 0
    empty_maps: int = 0
    zeros: int = 0
    """Numbers that are 0."""
    falses: int = 0
    """Booleans that are false besides those that are false by chance."""


_TABLE = {
    "plain": Theme(TextShares(80, 10, 6, 4, 0), extreme_numbers=8, constant_numbers=8, odd_keys=10),
    "constants": Theme(TextShares(10, 5, 80, 5, 0), constant_numbers=65),
    "typical": Theme(TextShares(5, 85, 5, 5, 0)),
    "odd-text": Theme(TextShares(5, 5, 5, 85, 0)),
    "long-text": Theme(TextShares(20, 10, 5, 15, 50)),
    "single-text": Theme(similar_texts=85),
    "mixed": Theme(longest_list=5),
    "dense": Theme(density=95),
    "sparse": Theme(density=10),
    "equal": Theme(
        density=75, extreme_numbers=5, longest_list=4, equal_texts=85, equal_numbers=80, equal_containers=60
    ),
    "empty": Theme(extreme_numbers=10, empty_texts=50, empty_lists=50, empty_maps=50, zeros=60, falses=60),
    "lists": Theme(longest_list=12, counted_lists=40, long_lists=60, long_maps=30, most_keys=5),
    "duplicates": Theme(longest_list=6, equal_items=50),
    "keys": Theme(odd_keys=85, swapped_keys=30, most_keys=5),
    "extremes": Theme(extreme_numbers=75),
}


def theme_of(name: str) -> Theme:
    """Return the theme with this name."""
    return _TABLE[name]
