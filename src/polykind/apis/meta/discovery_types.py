"""Types of the discovery endpoints: /api, /apis, /apis/<group>, /apis/<group>/<version> and /version."""

from __future__ import annotations

from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import BOOL, STRING, STRINGS, ListOf
from polykind.apis.meta.types import META_V1, TYPE_META

_SERVER_ADDRESSES = ListOf(
    META_V1.struct(
        "ServerAddressByClientCIDR",
        "The address of the server for clients in a range of addresses.",
        Field("clientCIDR", 1, STRING, "The range of the clients' addresses.", omitempty=False),
        Field("serverAddress", 2, STRING, "The host and port of the server.", omitempty=False),
    )
)

API_VERSIONS = META_V1.struct(
    "APIVersions",
    "The versions of the core group.",
    *TYPE_META,
    Field("versions", 1, STRINGS, "The versions.", omitempty=False),
    Field("serverAddressByClientCIDRs", 2, _SERVER_ADDRESSES, "The addresses of the server.", omitempty=False),
    kind=True,
)

_GROUP_VERSION = META_V1.struct(
    "GroupVersionForDiscovery",
    "A group version.",
    Field("groupVersion", 1, STRING, "The group and version, as in apiVersion.", omitempty=False),
    Field("version", 2, STRING, "The version.", omitempty=False),
)

API_GROUP = META_V1.struct(
    "APIGroup",
    "An API group and its versions.",
    *TYPE_META,
    Field("name", 1, STRING, "The name of the group.", omitempty=False),
    Field("versions", 2, ListOf(_GROUP_VERSION), "The versions of the group.", omitempty=False),
    Field("preferredVersion", 3, _GROUP_VERSION, "The version that clients should use."),
    Field("serverAddressByClientCIDRs", 4, _SERVER_ADDRESSES, "The addresses of the server."),
    kind=True,
)

API_GROUP_LIST = META_V1.struct(
    "APIGroupList",
    "All API groups except the core group.",
    *TYPE_META,
    Field("groups", 1, ListOf(API_GROUP), "The groups.", omitempty=False),
    kind=True,
)

API_RESOURCE_LIST = META_V1.struct(
    "APIResourceList",
    "The resources of a group version.",
    *TYPE_META,
    Field("groupVersion", 1, STRING, "The group version of the resources.", omitempty=False),
    Field(
        "resources",
        2,
        ListOf(
            META_V1.struct(
                "APIResource",
                "A resource or subresource.",
                Field("name", 1, STRING, "The plural name of the resource.", omitempty=False),
                Field("singularName", 6, STRING, "The singular name of the resource.", omitempty=False),
                Field("namespaced", 2, BOOL, "True if the objects are in namespaces.", omitempty=False),
                Field("group", 8, STRING, "The API group of the objects, if it differs from the list's."),
                Field("version", 9, STRING, "The version of the objects, if it differs from the list's."),
                Field("kind", 3, STRING, "The kind of the objects.", omitempty=False),
                Field("verbs", 4, ListOf(STRING, "v1.Verbs"), "The supported verbs.", omitempty=False, list_type=""),
                Field("shortNames", 5, STRINGS, "Short names for the command line."),
                Field("categories", 7, STRINGS, "Groups of resources for the command line, such as all."),
                Field("storageVersionHash", 10, STRING, "A hash of the version at which objects are stored."),
            )
        ),
        "The resources.",
        omitempty=False,
    ),
    kind=True,
)

VERSION_INFO = Struct(
    "version.Info",
    (
        Field("major", 0, STRING, "The major version of the server.", omitempty=False),
        Field("minor", 0, STRING, "The minor version of the server.", omitempty=False),
        Field("emulationMajor", 0, STRING, "The major version that the server emulates."),
        Field("emulationMinor", 0, STRING, "The minor version that the server emulates."),
        Field("minCompatibilityMajor", 0, STRING, "The oldest compatible major version."),
        Field("minCompatibilityMinor", 0, STRING, "The oldest compatible minor version."),
        *(
            Field(name, 0, STRING, omitempty=False)
            for name in ("gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform")
        ),
    ),
    model="io.k8s.apimachinery.pkg.version.Info",
    doc="The version of the server.",
)
