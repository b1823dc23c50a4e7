"""Types of the discovery endpoints: /api, /apis, /apis/<group>, /apis/<group>/<version> and /version."""

from __future__ import annotations

from polykind.apis.machinery.type_tables import type_table
from polykind.apis.meta.types import META_V1

API_VERSIONS = META_V1.struct("APIVersions")
API_GROUP = META_V1.struct("APIGroup")
API_GROUP_LIST = META_V1.struct("APIGroupList")
API_RESOURCE_LIST = META_V1.struct("APIResourceList")
VERSION_INFO = type_table("meta", "version").struct("Info")
