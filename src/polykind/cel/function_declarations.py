"""Function declarations: the overloads of every function with their argument and result types."""

from __future__ import annotations

import re
from typing import NamedTuple

from polykind.cel import cel_types
from polykind.cel.cel_types import Type, list_of, map_of, optional_of, type_of, type_param

_TYPES_BY_NAME = cel_types.PRIMITIVES | {
    "ip": cel_types.IP,
    "cidr": cel_types.CIDR,
    "url": cel_types.URL,
    "quantity": cel_types.QUANTITY,
    "semver": cel_types.SEMVER,
    "format": cel_types.FORMAT,
    **cel_types.AUTHORIZER_TYPES,
}
_type_token = re.compile(r"\w+|[(),]")


class Overload(NamedTuple):
    """One overload of a function. A `member` is called on its first argument; `params` are its type parameters."""

    id: str
    function: str
    member: bool
    args: tuple[Type, ...]
    result: Type
    params: tuple[str, ...]


_COMPARABLE = ["bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"]
_NUMBERS = ("int", "uint", "double")
_MIXED_NUMBERS = [(left, right) for left in _NUMBERS for right in reversed(_NUMBERS) if left != right]
_COMPARISONS = {"<": "less", "<=": "less_equals", ">": "greater", ">=": "greater_equals"}

# Each line: function (with a leading dot for a member), overload id, argument types, result type. A single capital
# letter is a type parameter.
_DECLARATIONS = """
_?_:_ conditional bool A A -> A
_&&_ logical_and bool bool -> bool
_||_ logical_or bool bool -> bool
!_ logical_not bool -> bool
@not_strictly_false not_strictly_false bool -> bool
_==_ equals A A -> bool
_!=_ not_equals A A -> bool
_+_ add_bytes bytes bytes -> bytes
_+_ add_double double double -> double
_+_ add_duration_duration duration duration -> duration
_+_ add_duration_timestamp duration timestamp -> timestamp
_+_ add_timestamp_duration timestamp duration -> timestamp
_+_ add_int64 int int -> int
_+_ add_list list(A) list(A) -> list(A)
_+_ add_string string string -> string
_+_ add_uint64 uint uint -> uint
_/_ divide_double double double -> double
_/_ divide_int64 int int -> int
_/_ divide_uint64 uint uint -> uint
_%_ modulo_int64 int int -> int
_%_ modulo_uint64 uint uint -> uint
_*_ multiply_double double double -> double
_*_ multiply_int64 int int -> int
_*_ multiply_uint64 uint uint -> uint
-_ negate_double double -> double
-_ negate_int64 int -> int
_-_ subtract_double double double -> double
_-_ subtract_duration_duration duration duration -> duration
_-_ subtract_int64 int int -> int
_-_ subtract_timestamp_duration timestamp duration -> timestamp
_-_ subtract_timestamp_timestamp timestamp timestamp -> duration
_-_ subtract_uint64 uint uint -> uint
_[_] index_list list(A) int -> A
_[_] index_map map(A,B) A -> B
_[_] optional_list_index_int optional(list(V)) int -> optional(V)
_[_] optional_map_index_value optional(map(K,V)) K -> optional(V)
_[?_] list_optindex_optional_int list(V) int -> optional(V)
_[?_] optional_list_optindex_optional_int optional(list(V)) int -> optional(V)
_[?_] map_optindex_optional_value map(K,V) K -> optional(V)
_[?_] optional_map_optindex_optional_value optional(map(K,V)) K -> optional(V)
@in in_list A list(A) -> bool
@in in_map A map(A,B) -> bool
size size_bytes bytes -> int
.size bytes_size bytes -> int
size size_list list(A) -> int
.size list_size list(A) -> int
size size_map map(A,B) -> int
.size map_size map(A,B) -> int
size size_string string -> int
.size string_size string -> int
type type A -> type(A)
bool bool_to_bool bool -> bool
bool string_to_bool string -> bool
bytes bytes_to_bytes bytes -> bytes
bytes string_to_bytes string -> bytes
double double_to_double double -> double
double int64_to_double int -> double
double string_to_double string -> double
double uint64_to_double uint -> double
duration duration_to_duration duration -> duration
duration int64_to_duration int -> duration
duration string_to_duration string -> duration
dyn to_dyn A -> dyn
int int64_to_int64 int -> int
int double_to_int64 double -> int
int duration_to_int64 duration -> int
int string_to_int64 string -> int
int timestamp_to_int64 timestamp -> int
int uint64_to_int64 uint -> int
string string_to_string string -> string
string bool_to_string bool -> string
string bytes_to_string bytes -> string
string double_to_string double -> string
string duration_to_string duration -> string
string int64_to_string int -> string
string timestamp_to_string timestamp -> string
string uint64_to_string uint -> string
string ip_to_string ip -> string
string cidr_to_string cidr -> string
timestamp timestamp_to_timestamp timestamp -> timestamp
timestamp int64_to_timestamp int -> timestamp
timestamp string_to_timestamp string -> timestamp
uint uint64_to_uint64 uint -> uint
uint double_to_uint64 double -> uint
uint int64_to_uint64 int -> uint
uint string_to_uint64 string -> uint
.contains contains_string string string -> bool
.endsWith ends_with_string string string -> bool
.startsWith starts_with_string string string -> bool
matches matches string string -> bool
.matches matches_string string string -> bool
.charAt string_char_at_int string int -> string
.indexOf string_index_of_string string string -> int
.indexOf string_index_of_string_int string string int -> int
.lastIndexOf string_last_index_of_string string string -> int
.lastIndexOf string_last_index_of_string_int string string int -> int
.lowerAscii string_lower_ascii string -> string
.upperAscii string_upper_ascii string -> string
.replace string_replace_string_string string string string -> string
.replace string_replace_string_string_int string string string int -> string
.split string_split_string string string -> list(string)
.split string_split_string_int string string int -> list(string)
.substring string_substring_int string int -> string
.substring string_substring_int_int string int int -> string
.trim string_trim string -> string
.format string_format string list(dyn) -> string
strings.quote strings_quote string -> string
.join list_join list(string) -> string
.join list_join_string list(string) string -> string
.find string_find_string string string -> string
.findAll string_find_all_string string string -> list(string)
.findAll string_find_all_string_int string string int -> list(string)
.indexOf list_a_index_of_int list(A) A -> int
.lastIndexOf list_a_last_index_of_int list(A) A -> int
.slice list_slice list(T) int int -> list(T)
.flatten list_flatten list(list(T)) -> list(T)
.flatten list_flatten_int list(dyn) int -> list(dyn)
lists.range lists_range int -> list(int)
.reverse list_reverse list(T) -> list(T)
.distinct list_distinct list(T) -> list(T)
sets.contains list_sets_contains_list list(T) list(T) -> bool
sets.equivalent list_sets_equivalent_list list(T) list(T) -> bool
sets.intersects list_sets_intersects_list list(T) list(T) -> bool
cel.@mapInsert @mapInsert_map_key_value map(K,V) K V -> map(K,V)
cel.@mapInsert @mapInsert_map_map map(K,V) map(K,V) -> map(K,V)
optional.of optional_of V -> optional(V)
optional.ofNonZeroValue optional_ofNonZeroValue V -> optional(V)
optional.none optional_none -> optional(V)
.value optional_value optional(V) -> V
.hasValue optional_hasValue optional(V) -> bool
.or optional_or_optional optional(V) optional(V) -> optional(V)
.orValue optional_orValue_value optional(V) V -> V
.last list_last list(V) -> optional(V)
.first list_first list(V) -> optional(V)
optional.unwrap optional_unwrap list(optional(V)) -> list(V)
.unwrapOpt optional_unwrapOpt list(optional(V)) -> list(V)
url string_to_url string -> url
isURL is_url_string string -> bool
.getScheme url_get_scheme url -> string
.getHost url_get_host url -> string
.getHostname url_get_hostname url -> string
.getPort url_get_port url -> string
.getEscapedPath url_get_escaped_path url -> string
.getQuery url_get_query url -> map(string,list(string))
ip string_to_ip string -> ip
isIP is_ip string -> bool
ip.isCanonical ip_is_canonical string -> bool
.family ip_family ip -> int
.isUnspecified ip_is_unspecified ip -> bool
.isLoopback ip_is_loopback ip -> bool
.isLinkLocalMulticast ip_is_link_local_multicast ip -> bool
.isLinkLocalUnicast ip_is_link_local_unicast ip -> bool
.isGlobalUnicast ip_is_global_unicast ip -> bool
cidr string_to_cidr string -> cidr
isCIDR is_cidr string -> bool
.containsIP cidr_contains_ip_string cidr string -> bool
.containsIP cidr_contains_ip_ip cidr ip -> bool
.containsCIDR cidr_contains_cidr_string cidr string -> bool
.containsCIDR cidr_contains_cidr cidr cidr -> bool
.ip cidr_ip cidr -> ip
.prefixLength cidr_prefix_length cidr -> int
.masked cidr_masked cidr -> cidr
quantity string_to_quantity string -> quantity
isQuantity is_quantity_string string -> bool
sign quantity_sign quantity -> int
.isGreaterThan quantity_is_greater_than quantity quantity -> bool
.isLessThan quantity_is_less_than quantity quantity -> bool
.compareTo quantity_compare_to quantity quantity -> int
.asApproximateFloat quantity_get_float quantity -> double
.asInteger quantity_get_int quantity -> int
.isInteger quantity_is_integer quantity -> bool
.add quantity_add quantity quantity -> quantity
.add quantity_add_int quantity int -> quantity
.sub quantity_sub quantity quantity -> quantity
.sub quantity_sub_int quantity int -> quantity
semver string_to_semver string -> semver
semver string_bool_to_semver string bool -> semver
isSemver is_semver_string string -> bool
isSemver is_semver_string_bool string bool -> bool
.isGreaterThan semver_is_greater_than semver semver -> bool
.isLessThan semver_is_less_than semver semver -> bool
.compareTo semver_compare_to semver semver -> int
.major semver_major semver -> int
.minor semver_minor semver -> int
.patch semver_patch semver -> int
.validate format-validate format string -> optional(list(string))
format.named format-named string -> optional(format)
"""

_AUTHORIZER_DECLARATIONS = """
.path authorizer_path Authorizer string -> PathCheck
.group authorizer_group Authorizer string -> GroupCheck
.serviceAccount authorizer_serviceaccount Authorizer string string -> Authorizer
.resource groupcheck_resource GroupCheck string -> ResourceCheck
.subresource resourcecheck_subresource ResourceCheck string -> ResourceCheck
.namespace resourcecheck_namespace ResourceCheck string -> ResourceCheck
.name resourcecheck_name ResourceCheck string -> ResourceCheck
.check pathcheck_check PathCheck string -> Decision
.check resourcecheck_check ResourceCheck string -> Decision
.errored decision_errored Decision -> bool
.error decision_error Decision -> string
.allowed decision_allowed Decision -> bool
.reason decision_reason Decision -> string
.fieldSelector authorizer_fieldselector ResourceCheck string -> ResourceCheck
.labelSelector authorizer_labelselector ResourceCheck string -> ResourceCheck
"""
"""Declared in every environment, as in kube-apiserver: in a rule, a call fails because no overload matches."""

_MUTATION_DECLARATIONS = "jsonpatch.escapeKey string_jsonpatch_escapeKey_string string -> string"
"""Declared only in the environment of mutating admission policies."""

_FORMATS = (
    "dns1123Label dns1123Subdomain dns1035Label qualifiedName dns1123LabelPrefix dns1123SubdomainPrefix "
    "dns1035LabelPrefix labelValue uri uuid byte date datetime"
)

_TIME_PARTS = {
    "getFullYear": "year",
    "getMonth": "month",
    "getDayOfYear": "day_of_year",
    "getDayOfMonth": "day_of_month",
    "getDate": "day_of_month_1_based",
    "getDayOfWeek": "day_of_week",
    "getHours": "hours",
    "getMinutes": "minutes",
    "getSeconds": "seconds",
    "getMilliseconds": "milliseconds",
}


def _generated_declarations() -> list[str]:
    lines = []
    for op, word in _COMPARISONS.items():
        lines += [f"_{op}_ {word}_{kind} {kind} {kind} -> bool" for kind in _COMPARABLE]
        lines += [f"_{op}_ {word}_{left}_{right} {left} {right} -> bool" for left, right in _MIXED_NUMBERS]
    for function, part in _TIME_PARTS.items():
        lines.append(f".{function} timestamp_to_{part} timestamp -> int")
        lines.append(f".{function} timestamp_to_{part}_with_tz timestamp string -> int")
        if part in ("hours", "minutes", "seconds", "milliseconds"):
            lines.append(f".{function} duration_to_{part} duration -> int")
    for kind in ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"):
        lines.append(f".isSorted list_{kind}_is_sorted_bool list({kind}) -> bool")
        lines.append(f".max list_{kind}_max_{kind} list({kind}) -> {kind}")
        lines.append(f".min list_{kind}_min_{kind} list({kind}) -> {kind}")
    lines += [f".sum list_{kind}_sum_{kind} list({kind}) -> {kind}" for kind in (*_NUMBERS, "duration")]
    for kind in ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"):
        lines.append(f".sort list_{kind}_sort list({kind}) -> list({kind})")
        lines.append(f".@sortByAssociatedKeys list_{kind}_sortByAssociatedKeys list(T) list({kind}) -> list(T)")
    lines += [f"format.{name} format.{name} -> format" for name in _FORMATS.split()]
    return lines


def _parse_declaration(line: str) -> Overload:
    head, result = line.split("-> ")
    function, id_, *args = head.split()
    params: set[str] = set()
    arg_types = tuple(_parse_type(arg, params) for arg in args)
    member = function.startswith(".")
    result_type = _parse_type(result, params)
    return Overload(id_, function[1:] if member else function, member, arg_types, result_type, tuple(sorted(params)))


def _parse_type(text: str, params: set[str]) -> Type:
    """Parse a type and add its type parameters to `params`."""
    type_, rest = _parse_type_tokens(_type_token.findall(text), params)
    if rest:
        raise ValueError(text)
    return type_


def _parse_type_tokens(tokens: list[str], params: set[str]) -> tuple[Type, list[str]]:
    """Return the type that the tokens begin with, and the tokens after it."""
    head, rest = tokens[0], tokens[1:]
    if not rest or rest[0] != "(":
        if len(head) == 1 and head.isupper():
            params.add(head)
            return type_param(head), rest
        return _TYPES_BY_NAME[head], rest
    inner: list[Type] = []
    rest = rest[1:]
    while True:
        type_, rest = _parse_type_tokens(rest, params)
        inner.append(type_)
        separator, rest = rest[0], rest[1:]
        if separator == ")":
            break
    if head == "map":
        return map_of(inner[0], inner[1]), rest
    return {"list": list_of, "optional": optional_of, "type": type_of}[head](inner[0]), rest


def _table(lines: list[str]) -> dict[str, tuple[Overload, ...]]:
    functions: dict[str, list[Overload]] = {}
    for overload in map(_parse_declaration, lines):
        functions.setdefault(overload.function, []).append(overload)
    return {name: tuple(overloads) for name, overloads in functions.items()}


FUNCTION_OVERLOADS = _table(
    [*_DECLARATIONS.strip().splitlines(), *_AUTHORIZER_DECLARATIONS.strip().splitlines(), *_generated_declarations()]
)
"""Overloads by function name, in the order of resolution."""
MUTATION_FUNCTION_OVERLOADS = FUNCTION_OVERLOADS | _table([_MUTATION_DECLARATIONS])
"""The functions of mutating admission policies."""
OVERLOADS_BY_ID = {
    overload.id: overload for overloads in MUTATION_FUNCTION_OVERLOADS.values() for overload in overloads
}
