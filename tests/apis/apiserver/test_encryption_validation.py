"""EncryptionConfiguration files get kube-apiserver's error messages."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from polykind.apis.apiserver.encryption_validation import masked_rule, validate_encryption_configuration
from polykind.errors import aggregate_message

KEY = base64.b64encode(b"abcdefghijklmnopqrstuvwxyz012345").decode()
SHORT = base64.b64encode(b"short").decode()
IDENTITY: list[Any] = [{"identity": {}}]
OVERLAP = (
    "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be "
    "masked"
)
DUPLICATE = "the same resource cannot be specified multiple times"


def errors_of(resources: list[str], providers: list[Any]) -> str:
    config = {"resources": [{"resources": resources, "providers": providers}]}
    problems = validate_encryption_configuration(config)
    return aggregate_message(problems) if problems else ""


def test_lists_must_not_be_empty() -> None:
    nothing = aggregate_message(validate_encryption_configuration({"resources": []}))
    assert nothing == "resources: Required value: at least one resources is required"
    assert errors_of([], []) == (
        "[resources[0].resources: Required value: at least one resources[0].resources is required, "
        "resources[0].providers: Required value: at least one resources[0].providers is required]"
    )


@pytest.mark.parametrize(
    ("names", "listed", "details"),
    [
        (["*.", "secrets"], '["*.","secrets"]', [OVERLAP]),
        (["*.*", "secrets"], '["*.*","secrets"]', [OVERLAP]),
        (["*.apps", "deployments.apps"], '["*.apps","deployments.apps"]', [OVERLAP]),
        (["secrets", "secrets"], '["secrets","secrets"]', [DUPLICATE]),
        (["*.apps", "*.apps"], '["*.apps","*.apps"]', [DUPLICATE, OVERLAP]),
    ],
)
def test_overlapping_names(names: list[str], listed: str, details: list[str]) -> None:
    texts = [f"resources[0].resources: Invalid value: {listed}: {detail}" for detail in details]
    assert errors_of(names, IDENTITY) == (texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")


def test_names_that_overlap_nothing() -> None:
    assert errors_of(["*.", "*.apps", "jobs.batch", "crontabs.example.com"], IDENTITY) == ""


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("Secrets", "resource name should not contain capital letters"),
        ("*", "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"),
        ("apiserveripinfo", "resources which do not have REST API/s cannot be encrypted"),
        (
            "a.events.k8s.io",
            "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the "
            "config file",
        ),
        ("b.extensions", "'extensions' group has been removed and cannot be used for encryption"),
        ("c.*", "encrypting the same resource across groups is not supported"),
    ],
)
def test_names_that_are_not_accepted(name: str, detail: str) -> None:
    assert errors_of([name], IDENTITY) == f'resources[0].resources[0]: Invalid value: "{name}": {detail}'


def test_each_element_has_one_provider() -> None:
    assert errors_of(["secrets"], [{}]) == (
        'resources[0].providers[0]: Invalid value: {"AESGCM":null,"AESCBC":null,"Secretbox":null,"Identity":null,'
        '"KMS":null}: provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity'
    )
    both = errors_of(["secrets"], [{"identity": {}, "aesgcm": {"keys": [{"name": "a", "secret": KEY}]}}])
    assert "more than one provider specified in a single element" in both
    assert KEY not in both


def test_kms_is_refused_by_name() -> None:
    message = errors_of(["secrets"], [{"kms": {"name": "vault"}}])
    assert message.startswith(
        'resources[0].providers[0].kms: Invalid value: "vault": the provider kms is not supported'
    )
    assert "use aesgcm" in message


def test_keys() -> None:
    keys = [
        {"name": "", "secret": KEY},
        {"name": "a", "secret": ""},
        {"name": "b", "secret": "!!"},
        {"name": "c", "secret": SHORT},
    ]
    at = "resources[0].providers"
    assert errors_of(
        ["secrets"],
        [
            {"aesgcm": {"keys": []}},
            {"aescbc": {"keys": keys}},
            {"secretbox": {"keys": [{"name": "a", "secret": SHORT}]}},
        ],
    ) == (
        f"[{at}[0].aesgcm.keys: Required value: at least one keys is required, "
        f"{at}[1].aescbc.keys[0].name: Required value: name is a mandatory field for a key, "
        f"{at}[1].aescbc.keys[1].secret: Required value: secret is a mandatory field for a key, "
        f'{at}[1].aescbc.keys[2].secret: Invalid value: "REDACTED": secrets must be base64 encoded, '
        f'{at}[1].aescbc.keys[3].secret: Invalid value: "REDACTED": secret is not of the expected length, got 5, '
        "expected one of [16 24 32], "
        f'{at}[2].secretbox.keys[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 5, '
        "expected one of [32]]"
    )


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("*.", "secrets", 'resource "secrets" is masked by earlier rule "*."'),
        ("*.*", "*.apps", 'resource "*.apps" is masked by earlier rule "*.*"'),
        ("*.apps", "*.apps", 'resource "*.apps" is masked by earlier rule "*.apps"'),
        ("secrets", "*.", ""),
        ("secrets", "secrets", ""),
    ],
)
def test_masked_rules(first: str, second: str, message: str) -> None:
    assert masked_rule({"resources": [{"resources": [first]}, {"resources": [second]}]}) == message
