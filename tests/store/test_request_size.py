"""The size limit of stored objects, measured on kube-apiserver with etcd 3.6."""

from __future__ import annotations

import pytest

from polykind.contract import RequestSizeError
from polykind.store.request_size import check_request_size

KEY = "/registry/example.com/crontabs/bounds/lim.."
"""A key of 43 bytes."""
TOO_LARGE = "etcdserver: request is too large"


@pytest.mark.parametrize(("expect", "slack"), [(0, 41 + 2 * 43), (7, 48 + 3 * 43)])
def test_largest_object_is_the_one_that_etcd_accepts(expect: int, slack: int) -> None:
    largest = b"x" * (1536 * 1024 - slack)
    check_request_size(KEY, largest, expect)
    with pytest.raises(RequestSizeError, match=TOO_LARGE):
        check_request_size(KEY, largest + b"x", expect)


def test_still_larger_object_fails_in_the_client_of_etcd() -> None:
    with pytest.raises(RequestSizeError, match=r"message larger than max \(2500112 vs. 2097152\)"):
        check_request_size(KEY, b"x" * 2_500_000, 0)


def test_etcd_checks_its_own_limit() -> None:
    check_request_size(KEY, b"x" * 2_000_000, 0, message_only=True)
