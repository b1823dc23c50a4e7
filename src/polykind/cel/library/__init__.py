"""The function libraries: the declaration and the implementation of every overload.

A library maps declarations to implementations. A declaration consists of the function's name, with a leading dot for a
member function, the overload id, the argument types, an arrow and the result type. Capital letters are type parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from polykind.cel import cel_types
from polykind.cel.cel_types import Type
from polykind.cel.library.authz import FUNCTIONS as AUTHZ
from polykind.cel.library.ip_addresses import FUNCTIONS as IP_ADDRESSES
from polykind.cel.library.lists import FUNCTIONS as LISTS
from polykind.cel.library.named_formats import FUNCTIONS as NAMED_FORMATS
from polykind.cel.library.quantities import FUNCTIONS as QUANTITY
from polykind.cel.library.regex import FUNCTIONS as REGEX
from polykind.cel.library.semver import FUNCTIONS as SEMVER
from polykind.cel.library.standard import FUNCTIONS as STANDARD
from polykind.cel.library.strings import FUNCTIONS as STRINGS
from polykind.cel.library.strings import MUTATION_FUNCTIONS
from polykind.cel.library.urls import FUNCTIONS as URLS

_TYPES_BY_NAME = cel_types.PRIMITIVES | {
    "ip": cel_types.IP,
    "cidr": cel_types.CIDR,
    "url": cel_types.URL,
    "quantity": cel_types.QUANTITY,
    "semver": cel_types.SEMVER,
    "format": cel_types.FORMAT,
    **cel_types.AUTHORIZER_TYPES,
}
_TYPE_CONSTRUCTORS = {"list": cel_types.list_of, "optional": cel_types.optional_of, "type": cel_types.type_of}


class Overload(NamedTuple):
    """One overload of a function.

    If `member` is true, the first argument is the receiver. `params` are the type parameters.
    """

    id: str
    function: str
    member: bool
    args: tuple[Type, ...]
    result: Type
    params: tuple[str, ...]
    implementation: Callable[..., Any]


def _parse_declaration(declaration: str, implementation: Callable[..., Any]) -> Overload:
    head, result = declaration.split("-> ")
    name, id_, *args = head.split()
    params: set[str] = set()
    arg_types = tuple(_parse_type(arg, params) for arg in args)
    result_type = _parse_type(result, params)
    function = name.removeprefix(".")
    return Overload(id_, function, name != function, arg_types, result_type, tuple(sorted(params)), implementation)


def _parse_type(text: str, params: set[str]) -> Type:
    """Parse a type and add its type parameters to `params`."""
    name, _, inner = text.removesuffix(")").partition("(")
    if name == "map":
        key, _, value = inner.partition(",")
        return cel_types.map_of(_parse_type(key, params), _parse_type(value, params))
    if inner:
        return _TYPE_CONSTRUCTORS[name](_parse_type(inner, params))
    if len(name) == 1:
        params.add(name)
        return cel_types.type_param(name)
    return _TYPES_BY_NAME[name]


def _by_function(declarations: Mapping[str, Callable[..., Any]]) -> dict[str, tuple[Overload, ...]]:
    functions: dict[str, tuple[Overload, ...]] = {}
    for declaration, implementation in declarations.items():
        overload = _parse_declaration(declaration, implementation)
        functions[overload.function] = (*functions.get(overload.function, ()), overload)
    return functions


FUNCTION_OVERLOADS = _by_function(
    STANDARD | STRINGS | REGEX | LISTS | URLS | IP_ADDRESSES | QUANTITY | SEMVER | NAMED_FORMATS | AUTHZ
)
"""Overloads by function name, in the order in which they are tried."""
MUTATION_FUNCTION_OVERLOADS = FUNCTION_OVERLOADS | _by_function(MUTATION_FUNCTIONS)
"""Overloads by function name for mutating admission policies, which have additional functions."""
OVERLOADS_BY_ID = {
    overload.id: overload for overloads in MUTATION_FUNCTION_OVERLOADS.values() for overload in overloads
}
