"""Tables: objects as rows of the columns that a definition names, for kubectl get."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from polykind.codec import json_codec
from polykind.codec.jsonpath import JsonPath, JsonPathError
from polykind.codec.partial_metadata import ordered_list_metadata, partial_object
from polykind.contract import JsonObject
from polykind.golang import duration
from polykind.golang.fmt import go_float
from polykind.golang.strconv import float_to_int64
from polykind.golang.time import parse_rfc3339

_MISSING: Final = object()
_NAME = "The name of the object, unique among those of its kind in its namespace."
_AGE = "The time since the object was created."
_CREATED = "The time at which the object was created, in UTC."
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"

Cell = Callable[[JsonObject, datetime], Any]


class TableFormat:
    """The columns of one kind at one version, compiled; `definitions` is what a Table says of them."""

    __slots__ = ("_cells", "definitions")

    def __init__(self, columns: Sequence[JsonObject] | None = None) -> None:
        """The format of additionalPrinterColumns; none of them means the age alone.

        A path that cannot be read ends the columns, as in the reference, which accepts such definitions.
        """
        self.definitions: list[JsonObject] = [_definition("Name", "string", "name", _NAME)]
        self._cells: list[Cell] = []
        for definition, cell in _read(columns or [_AGE_COLUMN]):
            self.add(definition, cell)

    @classmethod
    def built_in(cls, columns: Iterable[tuple[JsonObject, Cell]]) -> TableFormat:
        """A format whose cells are computed by functions."""
        out = cls()
        del out.definitions[1:], out._cells[:]
        for definition, cell in columns:
            out.add(definition, cell)
        return out

    def add(self, definition: JsonObject, cell: Cell) -> None:
        self.definitions.append(definition)
        self._cells.append(cell)

    def row(self, obj: JsonObject, now: datetime, include: str = "Metadata", version: str = "v1") -> JsonObject:
        """An object's row; `include` says what it carries: Metadata, Object or None."""
        metadata = obj.get("metadata")
        if type(metadata) is not dict:
            metadata = {}
        cells = [metadata.get("name") or ""]
        cells += [cell(obj, now) for cell in self._cells]
        carried: JsonObject | None = None
        if include == "Object":
            carried = json_codec.decode(json_codec.encode(obj))
        elif include == "Metadata" or INITIAL_EVENTS_END in (metadata.get("annotations") or ()):
            carried = partial_object(obj, version)
        return {"cells": cells, "object": carried}

    def table(
        self,
        objs: Iterable[JsonObject],
        list_metadata: JsonObject,
        now: datetime,
        *,
        include: str = "Metadata",
        version: str = "v1",
        headers: bool = True,
    ) -> JsonObject:
        """A Table with a row for each object, its keys in the order to be written.

        `list_metadata` is the list's, or of a single object its own. Later events of a watch have no headers.
        """
        return {
            "kind": "Table",
            "apiVersion": f"meta.k8s.io/{version}",
            "metadata": ordered_list_metadata(list_metadata),
            "columnDefinitions": self.definitions if headers else None,
            "rows": [self.row(obj, now, include, version) for obj in objs],
        }


def _definition(name: str, kind: str, form: str, description: str, priority: int = 0) -> JsonObject:
    return {"name": name, "type": kind, "format": form, "description": description, "priority": priority}


_AGE_COLUMN: Final[JsonObject] = {
    "name": "Age",
    "type": "date",
    "description": _AGE,
    "jsonPath": ".metadata.creationTimestamp",
}


def _read(columns: Iterable[JsonObject]) -> Iterable[tuple[JsonObject, Cell]]:
    for column in columns:
        path = column.get("jsonPath") or column.get("JSONPath") or ""
        kind = column.get("type") or ""
        try:
            found = JsonPath(path)
        except JsonPathError:
            return
        description = column.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
        yield (
            _definition(
                column.get("name") or "", kind, column.get("format") or "", description, column.get("priority") or 0
            ),
            _cell(kind, found),
        )


def _cell(kind: str, path: JsonPath) -> Cell:
    if kind == "date":
        return lambda obj, now: _date(path.first(obj), now)
    convert = {"string": _text, "integer": _integer, "number": _number, "boolean": _boolean}.get(kind)
    if convert is None:
        return lambda obj, now: None
    return lambda obj, now: convert(path.first(obj, _MISSING))


def _text(value: Any) -> str | None:
    if value is _MISSING:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return go_float(value)
    return "<no value>" if value is None else json_codec.encode(value).decode()


def _integer(value: Any) -> int | None:
    if isinstance(value, float):
        # Go's conversion of what no int64 can hold, on the machines that the reference runs on.
        return float_to_int64(value)
    return value if type(value) is int else None


def _number(value: Any) -> int | float | None:
    if type(value) is int and abs(value) > 1 << 53:
        return json_codec.normalize_float(float(value))
    return value if type(value) in (int, float) else None


def _boolean(value: Any) -> bool | None:
    return value if type(value) is bool else None


def _date(value: Any, now: datetime) -> str | None:
    """A time as the span since then."""
    return age(value, now) if isinstance(value, str) else None


def age(value: str, now: datetime) -> str:
    """How long ago an RFC 3339 time was, as people say it."""
    if value in ("", "null"):
        return "<unknown>"
    try:
        moment = parse_rfc3339(value)
    except ValueError:
        return "<invalid>"
    return "<unknown>" if moment.is_zero else duration.human_duration(now.timestamp() - moment.seconds)


def _created(obj: JsonObject, now: datetime) -> Any:
    return (obj.get("metadata") or {}).get("creationTimestamp") or "0001-01-01T00:00:00Z"


def _age(obj: JsonObject, now: datetime) -> str:
    return age((obj.get("metadata") or {}).get("creationTimestamp") or "", now)


def _phase(obj: JsonObject, now: datetime) -> str:
    return (obj.get("status") or {}).get("phase") or ""


def _service_type(obj: JsonObject, now: datetime) -> str:
    return (obj.get("spec") or {}).get("type") or ""


def _external_name(obj: JsonObject, now: datetime) -> str:
    return (obj.get("spec") or {}).get("externalName") or "<none>"


def _ports(obj: JsonObject, now: datetime) -> str:
    ports = (obj.get("spec") or {}).get("ports") or []
    return ",".join(f"{p.get('port')}/{p.get('protocol', 'TCP')}" for p in ports) or "<none>"


def _webhooks(obj: JsonObject, now: datetime) -> int:
    return len(obj.get("webhooks") or ())


def _validations(obj: JsonObject, now: datetime) -> int:
    return len((obj.get("spec") or {}).get("validations") or ())


def _mutations(obj: JsonObject, now: datetime) -> int:
    return len((obj.get("spec") or {}).get("mutations") or ())


def _param_kind(obj: JsonObject, now: datetime) -> str:
    kind = (obj.get("spec") or {}).get("paramKind")
    return "<unset>" if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _policy_name(obj: JsonObject, now: datetime) -> str:
    return (obj.get("spec") or {}).get("policyName") or ""


def _param_ref(obj: JsonObject, now: datetime) -> str:
    ref = (obj.get("spec") or {}).get("paramRef") or {}
    if ref.get("name"):
        return f"{ref.get('namespace') or '*'}/{ref['name']}"
    selector = ref.get("selector")
    return "<unset>" if selector is None else _selector_text(selector)


def _selector_text(selector: JsonObject) -> str:
    """A label selector as Go prints the struct."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    terms = "".join(
        "LabelSelectorRequirement{"
        f"Key:{term['key']},Operator:{term['operator']},Values:[{' '.join(term.get('values') or ())}],}},"
        for term in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{terms}}},}}"
    )


def _role_ref(obj: JsonObject, now: datetime) -> str:
    ref = obj.get("roleRef") or {}
    return f"{ref.get('kind', '')}/{ref.get('name', '')}"


def _migrated(obj: JsonObject, now: datetime) -> str:
    resource = obj["spec"]["resource"]
    return f"{resource['resource']}.{resource['group']}" if resource["group"] else str(resource["resource"])


def _migration_state(obj: JsonObject, now: datetime) -> str:
    """The last condition that holds."""
    state = "Unknown"
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition["status"] == "True" and condition["type"] in ("Running", "Succeeded", "Failed"):
            state = condition["type"]
    return state


def _subjects(kind: str) -> Cell:
    """The names of a binding's subjects of a kind; those of service accounts with their namespaces."""

    def cell(obj: JsonObject, now: datetime) -> str:
        return ", ".join(
            f"{subject.get('namespace', '')}/{subject['name']}" if kind == "ServiceAccount" else subject["name"]
            for subject in obj.get("subjects") or ()
            if subject["kind"] == kind
        )

    return cell


DEFAULT: Final = TableFormat.built_in([(_definition("Created At", "date", "", _CREATED), _created)])
"""For definitions, and for every built-in kind without columns of its own."""

NAMESPACES: Final = TableFormat.built_in(
    [
        (_definition("Status", "string", "", "The status of the namespace"), _phase),
        (_definition("Age", "string", "", _AGE), _age),
    ]
)

SERVICES: Final = TableFormat.built_in(
    [
        (
            _definition("Type", "string", "", "What the service is"),
            _service_type,
        ),
        (_definition("External-Name", "string", "", "The name that an ExternalName service leads to"), _external_name),
        (_definition("Port(s)", "string", "", "The ports of the service"), _ports),
        (_definition("Age", "string", "", _AGE), _age),
    ]
)

WEBHOOK_CONFIGURATIONS: Final = TableFormat.built_in(
    [
        (_definition("Webhooks", "integer", "", "The number of webhooks in the configuration"), _webhooks),
        (_definition("Age", "string", "", _AGE), _age),
    ]
)

POLICIES: Final = TableFormat.built_in(
    [
        (_definition("Validations", "integer", "", "The number of rules in the policy"), _validations),
        (_definition("ParamKind", "string", "", "The kind of what gives the policy its parameters"), _param_kind),
        (_definition("Age", "string", "", _AGE), _age),
    ]
)

MUTATING_POLICIES: Final = TableFormat.built_in(
    [
        (_definition("Mutations", "integer", "", "The number of mutations in the policy"), _mutations),
        (_definition("ParamKind", "string", "", "The kind of what gives the policy its parameters"), _param_kind),
        (_definition("Age", "string", "", _AGE), _age),
    ]
)

POLICY_BINDINGS: Final = TableFormat.built_in(
    [
        (_definition("PolicyName", "string", "", "The policy that is bound"), _policy_name),
        (_definition("ParamRef", "string", "", "What gives the policy its parameters here"), _param_ref),
        (_definition("Age", "string", "", _AGE), _age),
    ]
)

MIGRATIONS: Final = TableFormat.built_in(
    [
        (_definition("Resource", "string", "", "What is migrated"), _migrated),
        (_definition("Status", "string", "", "How the migration fares"), _migration_state),
    ]
)
MIGRATIONS.definitions[0] = _definition("Name", "string", "", _NAME)

ROLE_BINDINGS: Final = TableFormat.built_in(
    [
        (_definition("Role", "string", "", "The role that is given"), _role_ref),
        (_definition("Age", "string", "", _AGE), _age),
        (_definition("Users", "string", "", "The users who have it", 1), _subjects("User")),
        (_definition("Groups", "string", "", "The groups that have it", 1), _subjects("Group")),
        (
            _definition("ServiceAccounts", "string", "", "The service accounts that have it", 1),
            _subjects("ServiceAccount"),
        ),
    ]
)

SCALES: Final = TableFormat(
    [
        {
            "name": "Desired",
            "type": "integer",
            "description": "Number of desired replicas",
            "jsonPath": ".spec.replicas",
        },
        {
            "name": "Available",
            "type": "integer",
            "description": "Number of actual replicas",
            "jsonPath": ".status.replicas",
        },
        _AGE_COLUMN,
    ]
)
"""For the scale subresource of any custom resource."""
