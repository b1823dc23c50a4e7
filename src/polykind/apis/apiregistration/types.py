"""The kind of the apiregistration.k8s.io group: APIService."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Columns, Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

APIREGISTRATION_V1 = GroupVersion(
    "apiregistration.k8s.io", "v1", type_table("apiregistration", "v1"), group_priority=20000, version_priority=1000
)


def _columns(kind: Kind) -> Columns:
    from polykind.apis.apiregistration.columns import COLUMNS

    return COLUMNS[kind]


API_SERVICE = Kind(
    APIREGISTRATION_V1,
    "APIService",
    columns=_columns,
    categories=("api-extensions",),
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.apiregistration.strategy:APIServiceStrategy",
    known_versions=("v1", "v1beta1"),
)

KINDS = (API_SERVICE,)
