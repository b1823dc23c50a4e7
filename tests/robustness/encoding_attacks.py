"""Hostile bodies: protobuf, YAML, numbers, text."""

from __future__ import annotations

from typing import Any

from tests.conformance.client import Answer
from tests.robustness.attacker import APPLY, BOMBS, GROUP, PROTOBUF, SIZE, YAML, Attacker, Attacks

_CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
_PODS = "/api/v1/namespaces/default/pods"
_DRY = "dryRun=All&fieldValidation=Ignore"


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _protobuf(kind: bytes, raw: bytes) -> bytes:
    return b"k8s\0" + _field(1, _field(1, b"v1") + _field(2, kind)) + _field(2, raw)


def _send(path: str, body: bytes, content_type: str) -> Any:
    def attack(attacker: Attacker) -> Answer:
        return attacker.send("POST", f"{path}?{_DRY}", body, content_type)

    return attack


def _deep_message(levels: int) -> bytes:
    """Return nested JSONSchemaProps in a CustomResourceDefinition's place, which no field of a Pod allows."""
    content = b""
    for _ in range(levels):
        content = _field(2, content)
    return content


_META = _field(1, _field(1, b"p"))
_ENTRY = _field(2, _field(1, b"k%d") + _field(2, b"v"))


def _entries(count: int) -> bytes:
    return b"".join(_field(2, _field(1, b"k%d" % number) + _field(2, b"v")) for number in range(count))


def _containers(count: int) -> bytes:
    container = b"".join(_field(2, _field(1, b"n%d" % number) + _field(2, b"i")) for number in range(count))
    return _META + _field(2, container)


def _yaml(spec: bytes) -> bytes:
    return b"apiVersion: %b/v1\nkind: Bomb\nmetadata: {name: yaml}\nspec:\n  open:\n%b\n" % (GROUP.encode(), spec)


def _json(value: bytes) -> bytes:
    head = b'{"apiVersion":"%b/v1","kind":"Bomb","metadata":{"name":"json"},"spec":{"open":{"x":%b}}}'
    return head % (GROUP.encode(), value)


def _aliases(levels: int) -> bytes:
    lines = [b"    a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        names = b", ".join([b"*a%d" % (level - 1)] * 10)
        lines.append(b"    a%d: &a%d [%b]" % (level, level, names))
    return b"\n".join(lines)


def _merges(count: int) -> bytes:
    lines = [b"    m0: &m0 {a: 1}"]
    lines += [b"    m%d: &m%d {<<: *m%d, k%d: 1}" % (n, n, n - 1, n) for n in range(1, count)]
    return b"\n".join(lines)


# kube-apiserver accepts "invalid UTF-8 in strings", "invalid UTF-8 in keys" and "protobuf items", and needs longer than
# a request may take for "protobuf empty items". docs/reference/limits.md has the limits of this server.
ENCODING_ATTACKS: Attacks = {
    "invalid UTF-8": (_send(BOMBS, _json(b'"' + b"\xff" * SIZE + b'"'), ""), 201),
    "invalid UTF-8 in strings": (_send(BOMBS, _json(b"[" + b'"\xff\xfe",' * (SIZE // 5) + b"1]"), ""), 413),
    "broken UTF-8 sequences": (_send(BOMBS, _json(b'"' + b"\xe2\x82" * (SIZE // 2) + b'"'), ""), 201),
    "invalid UTF-8 in keys": (
        _send(BOMBS, _json(b"{" + b",".join(b'"\xff%d":1' % n for n in range(200_000)) + b"}"), ""),
        413,
    ),
    "invalid UTF-8 in keys below the limit": (
        _send(BOMBS, _json(b"{" + b",".join(b'"\xff%d":1' % n for n in range(130_000)) + b"}"), ""),
        201,
    ),
    "escapes": (_send(BOMBS, _json(b'"' + rb"\u0041" * (SIZE // 6) + b'"'), ""), 201),
    "surrogate pairs": (_send(BOMBS, _json(b'"' + rb"\ud83d\ude00" * (SIZE // 12) + b'"'), ""), 201),
    "huge exponent": (_send(BOMBS, _json(b"1e999999"), ""), 400),
    "huge exponents": (_send(BOMBS, _json(b"[" + b"1e999999," * 200_000 + b"1]"), ""), 400),
    "long number": (_send(BOMBS, _json(b"1" * SIZE), ""), 400),
    "long numbers": (_send(BOMBS, _json(b"[" + (b"1" * 4_000 + b",") * 650 + b"1]"), ""), 400),
    "long fraction": (_send(BOMBS, _json(b"0." + b"1" * SIZE), ""), 201),
    "many numbers in strings": (_send(BOMBS, _json(b"[" + b'"1.5",' * 400_000 + b"1]"), ""), 201),
    "whitespace": (_send(BOMBS, b" " * SIZE + _json(b"1"), ""), 201),
    "brackets only": (_send(BOMBS, b"[" * SIZE, ""), 400),
    "braces in keys": (_send(BOMBS, b'{"a":' * (SIZE // 5), ""), 400),
    "one long key": (_send(BOMBS, _json(b'{"' + b"k" * SIZE + b'":1}'), ""), 201),
    "colliding keys": (
        _send(BOMBS, _json(b"{" + b",".join(b'"%d":1' % (n << 32) for n in range(150_000)) + b"}"), ""),
        201,
    ),
    "YAML aliases": (_send(BOMBS, _yaml(_aliases(9)), YAML), 400),
    "YAML aliases below the limit": (_send(BOMBS, _yaml(_aliases(5)), YAML), 400),
    "YAML merge keys": (_send(BOMBS, _yaml(_merges(1_000)), YAML), 400),
    "YAML in block style": (_send(BOMBS, _yaml(b"    a:\n" + b"    - b\n" * 200_000), YAML), 201),
    "deep YAML": (_send(BOMBS, _yaml(b"    a: " + b"[" * 5_000 + b"]" * 5_000), YAML), 201),
    "indented YAML": (
        _send(BOMBS, _yaml(b"".join(b" " * (n + 4) + b"a:\n" for n in range(2_000))), YAML),
        201,
    ),
    "YAML tags": (_send(BOMBS, _yaml(b"    a: !!python/object:os.system [x]\n"), YAML), 201),
    "YAML documents": (_send(BOMBS, b"---\n" * 500_000, YAML), 400),
    "YAML comment": (_send(BOMBS, b"#" * SIZE + b"\n" + _yaml(b"    a: 1"), YAML), 201),
    "YAML long scalar": (_send(BOMBS, _yaml(b"    a: |\n" + b"      xxxxxxxxxx\n" * 150_000), YAML), 201),
    "YAML timestamps": (_send(BOMBS, _yaml(b"    a: [" + b"2001-01-01," * 100_000 + b"x]"), YAML), 201),
    "YAML anchors": (
        _send(BOMBS, _yaml(b"\n".join(b"    k%d: &x%d v" % (n, n) for n in range(60_000))), YAML),
        201,
    ),
    "apply in YAML": (
        lambda a: a.send(
            "PATCH",
            f"{BOMBS}/yaml?fieldManager=m&dryRun=All",
            _yaml(b"\n".join(b"    k%d: v" % n for n in range(100_000))),
            APPLY,
        ),
        201,
    ),
    "protobuf map": (_send(_CONFIG_MAPS, _protobuf(b"ConfigMap", _META + _entries(100_000)), PROTOBUF), 201),
    "protobuf list": (_send(_PODS, _protobuf(b"Pod", _containers(14_500)), PROTOBUF), 201),
    "protobuf nesting": (_send(_PODS, _protobuf(b"Pod", _deep_message(100_000)), PROTOBUF), 422),
    "protobuf unknown fields": (
        _send(_CONFIG_MAPS, _protobuf(b"ConfigMap", _META + _field(1_000, b"x") * 500_000), PROTOBUF),
        201,
    ),
    "protobuf items": (_send(_PODS, _protobuf(b"Pod", _containers(40_000)), PROTOBUF), 413),
    "protobuf empty items": (_send(_PODS, _protobuf(b"Pod", _META + _field(2, b"\x12\0" * 1_000_000)), PROTOBUF), 413),
    "protobuf cut": (_send(_PODS, _protobuf(b"Pod", _containers(1_000))[:-7], PROTOBUF), 400),
    "protobuf huge length": (_send(_PODS, b"k8s\0\x0a" + b"\xff" * 9 + b"\x01", PROTOBUF), 400),
    "protobuf long varints": (_send(_PODS, b"k8s\0" + b"\xff" * SIZE, PROTOBUF), 400),
    "protobuf groups": (_send(_PODS, _protobuf(b"Pod", b"\x0b" * 1_000_000), PROTOBUF), 400),
    "protobuf invalid UTF-8": (
        _send(
            _CONFIG_MAPS,
            _protobuf(b"ConfigMap", _META + _field(2, _field(1, b"k") + _field(2, b"\xff" * SIZE))),
            PROTOBUF,
        ),
        422,
    ),
    "gzip body": (
        lambda a: a.send("POST", f"{BOMBS}?{_DRY}", b"\x1f\x8b" + b"\0" * SIZE, Content_Encoding="gzip"),
        400,
    ),
}
