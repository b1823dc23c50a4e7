"""What parses the texts of clients takes linear time, and little of it before the client is authorized.

The texts are those for which a simple parser takes quadratic time: seconds to hours for these lengths.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress

import pytest

from polykind import errors
from polykind.auth.authorizer import Access
from polykind.auth.request_authorization import request_access
from polykind.auth.user import ANONYMOUS
from polykind.cel.arithmetic import string_to_double
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.timestamps import parse_duration_format
from polykind.codec import json_codec, negotiation
from polykind.crd.ca_bundle import ca_bundle_error
from polykind.discovery.accept import aggregated_media_type
from polykind.golang.duration import parse_duration
from polykind.golang.fmt import go_quote
from polykind.golang.pem import decode_pem
from polykind.golang.query import parse_query
from polykind.operations.options import request_timeout
from polykind.quantity import parse_quantity
from polykind.schema.string_formats import is_duration

_EXPECTED = (errors.APIError, ValueError, EvalError)
_SIZE = 240_000
_PEM_START = "-----BEGIN A-----\n"
_PEM_END = "-----END B-----\n"


def _seconds(parse: Callable[[str], object], text: str) -> float:
    """Return the CPU time of a parse. The least of several: other programs slow down a parse by their use of caches."""
    times = []
    for _ in range(3):
        started = time.thread_time()
        with suppress(*_EXPECTED):
            parse(text)
        times.append(time.thread_time() - started)
    return min(times)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_duration, "1ns" * 80_000),
        (parse_duration, "1" * _SIZE),
        (is_duration, "1" * _SIZE),
        (is_duration, "1 " * 120_000),
        (parse_duration_format, "1" * _SIZE),
        (parse_quantity, "1" * _SIZE + "!"),
        (parse_quantity, "0." + "0" * _SIZE + "!"),
        (string_to_double, "1" * _SIZE + "!"),
        (string_to_double, "0x" + "1" * _SIZE + "!"),
        (lambda text: json_codec.decode(text.encode()), "[" + "1" * 400 + ',"' + '\\"' * 120_000),
        (lambda text: decode_pem(text.encode()), _PEM_START * 14_000),
        (lambda text: decode_pem(text.encode()), _PEM_START * 14_000 + _PEM_END),
        (lambda text: ca_bundle_error(b64encode(text.encode()).decode()), _PEM_START * 14_000),
        (go_quote, "\x01" * 80_000),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else getattr(value, "__name__", "lambda"),
)
def test_parser_takes_linear_time(parse: Callable[[str], object], text: str) -> None:
    assert _seconds(parse, text) < 0.4


def _access(query: str) -> Access:
    return request_access(ANONYMOUS, "GET", "/api/v1/pods", ["api", "v1", "pods"], parse_query(query))


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (_access, "labelSelector=" + "a>1," * 60_000 + "&fieldSelector=metadata.name=a"),
        (_access, "fieldSelector=" + "metadata.name!=1," * 14_000),
        (_access, "a=b&" * 60_000),
        (_access, "%41=%42&" * 30_000),
        (lambda text: request_timeout(parse_query(text)), "timeout=" + "1ns" * 80_000),
        (lambda text: negotiation.negotiate_error(text), "application/json;q=" + "1" * _SIZE),
        (lambda text: negotiation.negotiate_error(text), "a/b;q=0.1," * 24_000),
        (lambda text: negotiation.check_names_media_type(text), "a/b," * 60_000),
        (aggregated_media_type, "a/b," * 60_000),
    ],
)
def test_little_is_parsed_before_the_client_is_authorized(parse: Callable[[str], object], text: str) -> None:
    assert _seconds(parse, text) < 0.03


def test_names_in_short_selectors_are_authorized() -> None:
    assert _access("fieldSelector=metadata.name=a&labelSelector=b").name == "a"
    assert _access("fieldSelector=metadata.name=a&labelSelector=b>c").name == ""
    assert _access("fieldSelector=metadata.name=a&labelSelector=b&watch=1").verb == "watch"


def test_first_clauses_of_a_long_accept_header_count() -> None:
    assert negotiation.negotiate("application/yaml," + "a/b," * 60_000).media == "yaml"
