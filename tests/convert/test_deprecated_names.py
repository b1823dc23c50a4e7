"""Deprecated names of the public API: each still works, and warns when it is used."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from polykind.convert import Conversions
from polykind.toolkit.proving.case import Finding

ALIASES = [
    ("polykind.convert.definition:Definition", "polykind.convert.crd:CRD"),
    ("polykind.convert.definition:DefinedVersion", "polykind.convert.crd:CRDVersion"),
    ("polykind.convert.definition:Unfit", "polykind.convert.crd:RejectedError"),
    ("polykind.convert.files.offline:Offline", "polykind.convert.files:OfflineConverter"),
    ("polykind.convert.files.offline:Converted", "polykind.convert.files:ConvertedDocument"),
    ("polykind.convert.proof:Trial", "polykind.convert.proof:ProofRun"),
    ("polykind.convert.proof:definition_in", "polykind.convert.crd:read_crd"),
    ("polykind.convert.review:answered", "polykind.convert.hosting:convert_review"),
    ("polykind.convert.review:BadReview", "polykind.convert.hosting:InvalidReviewError"),
    (
        "polykind.convert.hosting.certificates:KeptCertificates",
        "polykind.convert.hosting.certificates:ExternalCertificates",
    ),
    (
        "polykind.convert.hosting.certificates:OwnCertificates",
        "polykind.convert.hosting.certificates:ManagedCertificates",
    ),
]


@pytest.mark.parametrize(("old", "new"), ALIASES, ids=[old for old, _ in ALIASES])
def test_deprecated_name_warns_and_resolves(old: str, new: str) -> None:
    old_module, _, old_name = old.partition(":")
    new_module, _, new_name = new.partition(":")
    replacement = getattr(import_module(new_module), new_name)
    with pytest.warns(
        DeprecationWarning, match=rf"{old_module}\.{old_name} is deprecated, use {new_module}\.{new_name}"
    ):
        assert getattr(import_module(old_module), old_name) is replacement


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = import_module("polykind.convert.proof").nothing


def test_importing_the_public_modules_does_not_warn() -> None:
    modules = "polykind.convert, polykind.convert.proof, polykind.convert.hosting.certificates, polykind.convert.files"
    command = [sys.executable, "-W", "error::DeprecationWarning:polykind", "-c", f"import {modules}"]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""


def test_deprecated_methods_of_conversions_warn() -> None:
    conversions = Conversions("CronTab.example.com")
    conversions.add("v1", "v2", lambda obj: None)
    with pytest.warns(DeprecationWarning, match=r"use Conversions\.path"):
        assert conversions.way("v1", "v2") == conversions.path("v1", "v2")
    obj = {"apiVersion": "example.com/v1", "kind": "CronTab"}
    with pytest.warns(DeprecationWarning, match=r"use Conversions\.convert_in_place"):
        assert conversions.change(obj, "v2")["apiVersion"] == "example.com/v2"


def test_deprecated_attribute_of_findings_warns() -> None:
    finding = Finding("never-fails", {}, "it failed")
    with pytest.warns(DeprecationWarning, match=r"use Finding\.message"):
        assert finding.said == "it failed"
