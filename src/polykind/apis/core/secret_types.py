"""The fields of ConfigMaps, Secrets and ServiceAccounts."""

from __future__ import annotations

from polykind.apis.core.reference_types import LOCAL_OBJECT_REFERENCE, OBJECT_REFERENCE
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BOOL, BYTES, STRING_MAP, ListOf, MapOf, String

CONFIG_MAP_FIELDS = (
    Field("immutable", 4, BOOL, "True if the data cannot be changed. Cannot be reset.", pointer=True),
    Field("data", 2, STRING_MAP, "Text values, by keys of alphanumeric characters, '-', '_' or '.'."),
    Field("binaryData", 3, MapOf(BYTES), "Binary values, by keys that are not in `data`."),
)

SECRET_FIELDS = (
    Field("immutable", 5, BOOL, "True if the data cannot be changed. Cannot be reset.", pointer=True),
    Field("data", 2, MapOf(BYTES), "The values in base64, by keys of alphanumeric characters, '-', '_' or '.'."),
    Field("stringData", 4, STRING_MAP, "Values as text, which are merged into `data` and never returned."),
    Field("type", 3, String("v1.SecretType"), "The type of the secret, which can require certain keys."),
)

SERVICE_ACCOUNT_FIELDS = (
    Field(
        "secrets",
        2,
        ListOf(OBJECT_REFERENCE),
        "The Secrets that pods of the account may use.",
        keys=("name",),
        merge_key="name",
    ),
    Field("imagePullSecrets", 3, ListOf(LOCAL_OBJECT_REFERENCE), "The Secrets with credentials for image registries."),
    Field("automountServiceAccountToken", 4, BOOL, "False to mount no token in pods of the account.", pointer=True),
)
