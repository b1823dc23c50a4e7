"""Columns of `kubectl get` for CertificateSigningRequests."""

from __future__ import annotations

from collections.abc import Mapping

from polykind.apis.certificates import types
from polykind.apis.machinery.columns import AGE, value_at
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.codec.table import Column
from polykind.contract import JsonObject
from polykind.golang.duration import human_duration


def _requested_duration(obj: JsonObject) -> str:
    seconds = obj["spec"].get("expirationSeconds")
    return human_duration(seconds) if seconds is not None else "<none>"


def _condition(obj: JsonObject) -> str:
    found = {condition.get("type") for condition in obj["status"].get("conditions") or ()}
    text = "Denied" if "Denied" in found else "Approved" if "Approved" in found else "Pending"
    return text + (",Failed" if "Failed" in found else "") + (",Issued" if obj["status"].get("certificate") else "")


CERTIFICATE_SIGNING_REQUEST = (
    AGE,
    Column("SignerName", "string", "The requested signer", value_at("spec", "signerName", default="<none>")),
    Column("Requestor", "string", "The user that requests the certificate", value_at("spec", "username", default="")),
    Column("RequestedDuration", "string", "The requested validity of the certificate", _requested_duration),
    Column("Condition", "string", "The state of the request in short", _condition),
)

COLUMNS: Mapping[Kind, Columns] = {
    types.CERTIFICATE_SIGNING_REQUEST: CERTIFICATE_SIGNING_REQUEST,
}
