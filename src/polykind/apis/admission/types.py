"""AdmissionReview, the request to and the response of an admission webhook, at v1 and v1beta1."""

from __future__ import annotations

from polykind.apis.machinery.type_tables import type_table

ADMISSION_REVIEWS = {
    version: type_table("admission", version, like="v1").struct("AdmissionReview") for version in ("v1", "v1beta1")
}
"""The types of AdmissionReview, by version. The server ignores a `request` in the response of a webhook."""
