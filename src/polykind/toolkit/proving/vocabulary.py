"""Values that converters often handle wrongly: unusual texts and numbers, typical values of fields, and constants.

Constants come from the converter's code (see `constants`) and from its answers. A converter that treats one value
specially usually has that value as a constant, or writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from polykind.contract import JsonObject
from polykind.toolkit.proving.choices import Choices, chance, pick

LONG_LENGTHS = (64, 254, 1030, 300, 1100)
"""Lengths just above the limits of labels, names and typical messages."""
_SHA = "sha256:" + "0123456789abcdef" * 4

TEXTS: dict[str, Sequence[str]] = {
    "multi-line": ("line\nline", "a\nb\n", "\na", "a\r\nb", "key: value\nother: 1\n", "a\n\nb", "a\tb", "- a\n- b\n"),
    "spaces": (" a", "a ", "  ", " ", "a  b", "\ta", "a\n", " a b ", "a\u00a0b", "A B"),
    "unicode": (
        "e\u0301", "\u00e9", "A\u030a", "\u212b", "\ufb01x", "日本", "\U0001f600", "\u0430\u0441", "stra\u00dfe",
        "\u0130x",
        "a\u200bb", "\u1e9b\u0323", "\uff21", "Z\u0308", "\u202eab", "ﬀ", "İstanbul", "\u0660",
    ),
    "case": ("Always", "always", "ALWAYS", "aB", "AB", "ab", "HTTP", "http", "Http", "TRUE", "True", "eu-West-1", "iD"),
    "numeric": (
        "1", "0", "01", "007", "1.0", "1.50", "1e3", "1E3", "0x10", "-0", "+5", "-1", "1_000", "1,000", ".5", "5.",
        "NaN",
        "9007199254740993", "9223372036854775807", "10", "100", "1.10", "Infinity", "08", "0.1",
    ),
    "boolean": ("true", "false", "yes", "no", "on", "off", "True", "False", "null", "~", "none", "None", "nil", "y",
        "n"),
    "separators": (
        "a,b", "a,b,c", "a, b", ",a", "a,", "a:b", "a:b:c", "a=b", "a=b=c", "a/b", "a/b/c", "/a", "a/", "a.b.c", ".a",
        "a.",
        "a;b", "a|b", "a-b-c", "-a", "a--b", "a_b", "a@b", "a#b", "a?b=c&d", "a+b", "a%20b", "a\\b", "a\"b", "a'b",
        "{a}",
        "[a]", "a*b", "$a", "${a}", "{{ a }}", "<a>", "a&b", "a::b", "a->b", "~a", "^a$", "(a)", "a`b", "//", ",", ":",
        "=", "-",
    ),
    "duration": (
        "10s", "1m", "90s", "1h30m", "1h30m0s", "500ms", "1.5h", "0s", "0", "36h", "1h0m0s", "90m", "24h", "7d", "1d",
        "1500ms",
        "60s", "60m", "1us", "-5s", "3600s", "2h45m30s", "100ms", "30", "168h", "1w", "P1D", "PT1H30M", "1m30s", "59s",
        "61s",
    ),
    "quantity": (
        "1", "100m", "1Gi", "0.5", "1500m", "1.5Gi", "1000m", "1e3", "0", "128974848", "1G", "2048Mi", "1Ki", "1k",
        "0.1", "10m",
        "1024", "500Mi", "2", "1E", "1Ti", "1.0", "0.25", "1M", "250m", "1000Ki", "1023Mi", "3Gi", "-1", "1n", "5u",
        "1.25",
    ),
    "time": (
        "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456Z", "2026-01-02T03:04:05+02:00", "2026-12-31T23:59:60Z",
        "2026-01-02", "03:04", "2026-01-02T03:04:05.1Z", "2026-01-02T03:04:05-11:30", "1970-01-01T00:00:00Z",
        "2024-02-29T00:00:00Z",
        "1767323045", "23:59:59", "Mon", "0001-01-01T00:00:00Z",
    ),
    "address": (
        "10.0.0.1", "::1", "2001:db8::1", "10.0.0.0/8", "fd00::/64", "0.0.0.0", "127.0.0.1", "2001:DB8:0:0::1",  # noqa: S104
        "10.0.0.1/32",
        "255.255.255.255", "192.168.0.1-192.168.0.9", "::ffff:10.0.0.1", "10.0.0.5/8", "0.0.0.0/0", "::/0", "010.0.0.1",
    ),
    "url": (
        "https://example.com", "https://example.com:8443/a/b?q=1&r=2#f", "http://user:pass@example.com/",
        "example.com:443",
        "[::1]:8080", "localhost:5000", "https://EXAMPLE.com/A", "https://example.com/", "http://10.0.0.1:80",
        "tcp://a:1",
        "https://[2001:db8::1]:443/x", "example.com", "a.b.example.com", "*.example.com", "https://example.com:443",
        "oci://ghcr.io/a/b", "git@github.com:a/b.git", "ssh://git@example.com:22/a.git", "https://example.com//a",
        "/a/b", "a:80",
        "http://example.com:80/", "https://example.com/a%2Fb", "https://example.com?x", "amqp://u:p@h:5672/v",
        "example.com.",
        "https://user@example.com", "a:80:90", "http://example.com/a/../b", "postgres://u:p%40@h:5432/d?s=r",
    ),
    "cron": (
        "*/5 * * * *", "@daily", "@every 1h30m", "0 0 1 1 0", "CRON_TZ=UTC 0 5 * * *", "0 9 * * MON-FRI",
        "*/30 * * * * *",
        "0 0 * * 7", "TZ=Europe/Berlin 0 3 * * *", "15,45 1-3 * jan,jul ?", "@yearly", "0  5  *  *  *", "@hourly",
        "0 0 31 2 *",
        "0 0 12 * * ? 2027",
    ),
    "image": (
        "nginx", "nginx:1.27", f"registry.example.com:5000/team/app:v1.2@{_SHA}", f"app@{_SHA}", "localhost:5000/app",
        "ghcr.io/org/app:latest", "registry.example.com:5000/app", "docker.io/library/nginx:1", "a/b/c/d:1.0-rc.1",
        "app:V1",
        "10.0.0.1:5000/app:1", f"nginx:1.27@{_SHA}",
    ),
    "version": ("v1.2.3", "1.2", "latest", "1.10", "v2", "1.2.3-rc.1+build", "1.9", "v1beta1", "1", "1.0.0", "2026.1",
        "v01.2"),
    "reference": (
        "ns/name", "a.b.c", "apps/v1", "v1", "Deployment.v1.apps", "kube-system/coredns", "a/b/c",
        "name.ns.svc.cluster.local",
        "example.com/Kind", "name.ns.svc", "default/a", "/a", "a/", "secret:key", "group.example.com",
        "a.example.com/b",
    ),
    "percent": ("50%", "100%", "0%", "33.3%", "1", "150%", "-1%", "5 %", "%", "0.5%", "1%"),
    "selector": ("app=web,tier!=db", "a in (b,c)", "!x", "a==b", "app=web", "a,b", "app.kubernetes.io/name=a", "a=",
        "a notin (b)"),
    "expression": ('a{b="c"} > 1', "{{ .Values.x }}", "self.a == 'b'", "sum(rate(a[5m]))", "$.a[0]", "^a.*$", "a && b",
        "<no value>"),
    "json": ("{}", "[]", "null", '{"a": 1}', '["a","b"]', '""', '{"a":{"b":[1,2]}}', "1", "{", '"a"', "true",
        '{"b":1, "a":2}'),
    "binary": ("YQ==", "YWI=", "YWJj", "YQ", "AAEC", "/+8=", "_-8=", "not base64!"),
}  # fmt: skip
"""Unusual or typical texts by kind."""

_GENERIC = ("multi-line", "spaces", "unicode", "case", "numeric", "boolean", "separators", "json")
_HINTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("cron|schedule|window", ("cron", "time")),
    ("timeout|interval|period|ttl|duration|delay|backoff|grace|retention|every|wait|expir|lifetime|age|renew",
        ("duration",)),
    ("cpu|memory|mem|storage|size|capacity|quota|limit|request|disk|bytes|resources|volume|burst|rate", ("quantity",
        "percent")),
    ("time|date|notbefore|notafter|start|end|since|until|at$|when|stamp", ("time", "duration")),
    ("ip$|ips$|addr|cidr|subnet|range|network|gateway|dns|lease|pool", ("address", "url")),
    ("url|uri|endpoint|server|host|registry|repo|address|domain|proxy|broker|connection|source|issuer|link|target|git",
        ("url", "address")),
    ("image|tag|digest|container", ("image", "version")),
    ("version|release|revision|tag|chart", ("version",)),
    ("port", ("numeric", "url")),
    ("ref|name|namespace|class|kind|group|secret|account|key|id$|owner|path|from|to$", ("reference", "separators")),
    ("percent|weight|surge|unavailable|threshold|ratio|max|min|util", ("percent", "numeric", "quantity")),
    ("select|label|match|filter|toleration|affinity|annot", ("selector",)),
    ("expr|query|template|rule|condition|script|pattern|regex|metric|message|jmes|json", ("expression", "json")),
    ("data|cert|ca$|bundle|token|password|config|param|arg|env|value|option|settings", ("binary", "json", "numeric",
        "boolean")),
    ("enable|disable|allow|deny|force|suspend|paused|tls|secure|verify|mode|policy|strategy|type|protocol|level",
        ("case", "boolean")),
    ("count|replicas|number|limit|priority|retries|parallel|concurrency", ("numeric",)),
)  # fmt: skip
_compiled_hints = [(re.compile(words), kinds) for words, kinds in _HINTS]

KEYS = (
    "example.com/name", "NODE_ENV", "Content-Type", "a.b.c", "a/b", "config.yaml", "A", "Upper", "a b", "0", "1",
    "a:b", "a=b",
    "a,b", "a_b", "app.kubernetes.io/name", "x-a", "kubernetes.io/arch", "a[0]", "*", "default", "cpu", "memory",
    "nvidia.com/gpu",
    "Name", "constructor", "é", "-a", "name", "requests.cpu", "tls.crt", "log_level", "logLevel", "http", "HTTP",
    "key with=all/of.it",
    "a" * 64, "..data", "true", "null",
)  # fmt: skip
"""Keys of maps as they occur in labels, environments, files and resource lists."""

NUMBERS = (
    0, 1, -1, 2, 10, 16, 59, 60, 61, 64, 80, 99, 100, 101, 127, 128, 255, 256, 300, 443, 512, 999, 1000, 1001, 1023,
    1024, 1025, 1500,
    3600, 4096, 8080, 32767, 32768, 60000, 65535, 65536, 86400, 90061, 1 << 20, 1 << 30, (1 << 31) - 1, 1 << 31,
    -(1 << 31), (1 << 32) - 1,
    1 << 32, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1, (1 << 63) - 1, -(1 << 63), 123456789012345678, 1700000000,
    1700000000123, 7, 30, 90,
    15, 45, 120, 1999, -5, -100, 50, 12, 24, 365, 10**9 + 7, 10**12, 5, 3,
)  # fmt: skip
"""Integers around the limits of types, units and typical thresholds."""
FRACTIONS = (0.5, 0.25, 1.5, 2.75, 0.125, 0.0625, 0.00390625, 99.96875, 1024.5, -0.5, 1.0009765625, 33.3125)
"""Fractions that a float represents exactly, so that a change of units and back does not round them."""
T = TypeVar("T")
_MAX_LEARNED = 120
_MAX_LENGTH, _MAX_COUNT = 5000, 30
_MAX_LEARNED_LENGTH = 80
_words = re.compile(r"'([^']{1,40})'|\"([^\"]{1,40})\"").findall


def kinds_for(name: str) -> tuple[str, ...]:
    """Return the kinds of texts that a field with this name probably holds, or () if the name suggests none."""
    lower = name.lower()
    out: dict[str, None] = {}
    for pattern, kinds in _compiled_hints:
        if pattern.search(lower):
            out.update(dict.fromkeys(kinds))
    return tuple(out)


def long_text(choices: Choices, limits: Sequence[int] = ()) -> str:
    """Return a text that is longer than a usual limit or than one of `limits`, of words or of one repeated letter."""
    length = pick(choices, limits) + 1 if limits and chance(choices, 40) else pick(choices, LONG_LENGTHS)
    filler = pick(choices, ("a", "ab ", "a.", "word ", "0123456789", "é", "a\n", "A-"))
    text = (filler * (length // len(filler) + 1))[:length]
    return text[:-1] + "z" if chance(choices, 50) else text


class Vocabulary:
    """The constants of a converter, and the texts and numbers that were seen in its answers."""

    def __init__(self, strings: Iterable[str] = (), numbers: Iterable[int | float] = ()) -> None:
        self.strings = list(dict.fromkeys(strings))
        """Strings in the converter's code."""
        self.numbers = list(dict.fromkeys(numbers))
        """Numbers in the converter's code."""
        self._learned_strings: list[str] = []
        self._learned_numbers: list[int | float] = []
        self._known: set[Any] = {*self.strings, *self.numbers}
        self.lengths = _within(self.numbers, 8, _MAX_LENGTH)
        """Numbers in the converter's code that may be the maximum length of a text."""
        self.counts = _within(self.numbers, 2, _MAX_COUNT)
        """Numbers in the converter's code that may be the maximum length of a list."""

    def copy(self) -> Vocabulary:
        """Return a vocabulary with the same constants that learns independently."""
        return Vocabulary(self.strings, self.numbers)

    def learn(self, sent: JsonObject, received: JsonObject) -> None:
        """Add the texts and numbers in a converted object that the original object does not have."""
        if len(self._learned_strings) + len(self._learned_numbers) >= _MAX_LEARNED:
            return
        known = set(_scalars(sent))
        for value in _scalars({key: item for key, item in received.items() if key not in ("apiVersion", "metadata")}):
            if value not in known:
                self._add(value)

    def learn_message(self, message: str) -> None:
        """Add the quoted words in an error message of the converter."""
        for quoted in _words(message):
            self._add(quoted[0] or quoted[1])

    def text(self, choices: Choices) -> str | None:
        """Return a constant, or a text that contains one, or None if there are no constants."""
        strings, numbers = self._choose(choices, self.strings, self._learned_strings), self.numbers
        if not strings and not numbers:
            return None
        if numbers and (not strings or chance(choices, 12)):
            number = pick(choices, numbers)
            return f"{number}{pick(choices, ('', '', 's', '%', 'm', 'Gi', '.0'))}"
        word = pick(choices, strings)
        if word and len(word) <= 3 and not word.isalnum():
            return pick(
                choices,
                (
                    f"a{word}b",
                    word,
                    f"{word}a",
                    f"a{word}",
                    f"a{word}b{word}c",
                    f"a{word}{word}b",
                    f"{word}a{word}",
                    f"A{word} b",
                ),
            )
        kind = choices.up_to(15)
        variants = (
            word, word, word, word, word, word, f"{word}a", f"a{word}", f"a{word}b", word.upper(), word.lower(),
            word[:1].upper() + word[1:],
            f"{word}-a", f"{word}{pick(choices, strings)}", f"{word}.example.com",
            f"a{pick(choices, '/.:,-=')}{word}",
        )  # fmt: skip
        return variants[kind]

    def number(self, choices: Choices) -> int | float | None:
        """Return a number in the converter's code or next to one, or None if there are no such numbers."""
        numbers = self._choose(choices, self.numbers, self._learned_numbers)
        if not numbers:
            return None
        number = pick(choices, numbers)
        kind = choices.up_to(9)
        return number if kind < 5 else (number + 1, number - 1, -number, number * 2, number * number)[kind - 5]

    def _choose(self, choices: Choices, constants: Sequence[T], learned: Sequence[T]) -> Sequence[T]:
        """Return the constants or the learned values. Answers have many values, so constants are preferred."""
        if not constants or not learned:
            return constants or learned
        return learned if chance(choices, 25) else constants

    def _add(self, value: Any) -> None:
        if value in self._known or isinstance(value, bool) or value is None:
            return
        if isinstance(value, str):
            if not 0 < len(value) <= _MAX_LEARNED_LENGTH:
                return
            self._learned_strings.append(value)
        else:
            self._learned_numbers.append(value)
        self._known.add(value)


def _within(numbers: Iterable[int | float], low: int, high: int) -> list[int]:
    return [number for number in numbers if isinstance(number, int) and low <= number <= high]


def _scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    else:
        yield value


def typical_text(choices: Choices, name: str, kind: str = "") -> str:
    """Return a text of one kind: of `kind` if it is given, else of a kind that the field name suggests, else of any."""
    if not kind:
        suggested = kinds_for(name)
        kind = pick(choices, suggested) if suggested and chance(choices, 75) else pick(choices, _GENERIC)
    return pick(choices, TEXTS[kind])


def map_key(choices: Choices, words: Sequence[str]) -> str:
    """Return an unusual map key, or one of `words`, such as constants in the converter's code."""
    if words and chance(choices, 30):
        return pick(choices, words)
    return pick(choices, KEYS)
