from __future__ import annotations

import json
import struct
from typing import Any

from polykind.discovery.openapi.openapi_protobuf import document
from polykind.discovery.snapshot import Discovery
from tests.discovery.crds import crontabs


def fields(message: bytes) -> dict[int, list[Any]]:
    """Decode the fields of a message by number: integers, doubles or bytes."""
    out: dict[int, list[Any]] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(message):
        key = varint()
        value: Any
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 1:
            value = struct.unpack("<d", message[at : at + 8])[0]
            at += 8
        else:
            assert key & 7 == 2
            size = varint()
            value = message[at : at + size]
            assert len(value) == size
            at += size
        out.setdefault(key >> 3, []).append(value)
    return out


def named(message: bytes, number: int) -> dict[str, dict[int, list[Any]]]:
    pairs = (fields(pair) for pair in fields(message)[number])
    return {pair[1][0].decode(): fields(pair[2][0]) for pair in pairs}


def test_same_names_as_the_json_document() -> None:
    discovery = Discovery([crontabs()])
    parsed, message_fields = json.loads(discovery.openapi_v2().body), fields(discovery.openapi_v2_protobuf().body)
    assert message_fields[1] == [b"2.0"]
    assert named(message_fields[8][0], 2).keys() == parsed["paths"].keys()
    assert named(message_fields[9][0], 1).keys() == parsed["definitions"].keys()
    assert named(message_fields[10][0], 1).keys() == parsed["parameters"].keys()
    assert discovery.openapi_v2_protobuf().etag == discovery.openapi_v2().etag


def test_schema() -> None:
    schema = {
        "description": "d",
        "type": "object",
        "maximum": 1.5,
        "minLength": 300,
        "maxLength": -1,
        "minItems": 0,
        "uniqueItems": True,
        "required": ["a", "b"],
        "enum": ["x", 1],
        "items": {"type": "string"},
        "properties": {"p": {"$ref": "#/definitions/q"}},
        "additionalProperties": True,
        "x-kubernetes-list-type": "set",
    }
    message_fields = named(fields(document({}, [], [("m", schema)]))[9][0], 1)["m"]
    assert message_fields[4] == [b"d"]
    assert fields(message_fields[22][0]) == {1: [b"object"]}
    assert message_fields[7] == [1.5]
    assert message_fields[12] == [300]
    assert message_fields[11] == [2**64 - 1]
    assert 15 not in message_fields
    assert message_fields[16] == [1]
    assert message_fields[19] == [b"a", b"b"]
    assert [fields(value) for value in message_fields[20]] == [{2: [b"x\n"]}, {2: [b"1\n"]}]
    assert fields(fields(fields(message_fields[23][0])[1][0])[22][0]) == {1: [b"string"]}
    assert named(message_fields[25][0], 1)["p"] == {1: [b"#/definitions/q"]}
    assert fields(message_fields[21][0]) == {2: [1]}
    extension = fields(message_fields[31][0])
    assert extension[1] == [b"x-kubernetes-list-type"]
    assert fields(extension[2][0]) == {2: [b"set\n"]}


def test_extensions_are_yaml_documents() -> None:
    schema = {"x-kubernetes-selectable-fields": [{"fieldPath": "spec.color"}]}
    extension = fields(named(fields(document({}, [], [("m", schema)]))[9][0], 1)["m"][31][0])
    assert fields(extension[2][0]) == {2: [b"- fieldPath: spec.color\n"]}


def test_operation() -> None:
    operation = {
        "operationId": "listX",
        "parameters": [
            {"$ref": "#/parameters/limit"},
            {"name": "dryRun", "in": "query", "type": "string", "uniqueItems": True, "description": "d"},
            {"name": "body", "in": "body", "required": True, "schema": {"$ref": "#/definitions/m"}},
        ],
        "responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/m"}}},
    }
    message_fields = fields(named(fields(document({}, [("/p", {"get": operation})], []))[8][0], 2)["/p"][2][0])
    assert message_fields[5] == [b"listX"]
    reference, query, body = (fields(item) for item in message_fields[8])
    assert fields(reference[2][0]) == {1: [b"#/parameters/limit"]}
    assert fields(fields(fields(query[1][0])[2][0])[3][0]) == {
        2: [b"query"],
        3: [b"d"],
        4: [b"dryRun"],
        6: [b"string"],
        20: [1],
    }
    assert fields(fields(body[1][0])[1][0])[4] == [1]
    response = fields(fields(fields(message_fields[9][0])[1][0])[2][0])
    assert fields(response[1][0])[1] == [b"OK"]
