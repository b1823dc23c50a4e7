"""URIs and mail addresses as Go reads them."""

from __future__ import annotations

import re

from polykind.golang.net import is_ip

_scheme = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:").match
_bad_escape = re.compile(r"%(?![0-9A-Fa-f]{2})").search
_userinfo = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*").fullmatch
# What is not ASCII is allowed in most places; classes that name what is not allowed are quicker to compile.
_host = re.compile(r"(?:[^\x00-\x20#%/?@\\^`{|}\x7f]|%25|%[89A-Fa-f][0-9A-Fa-f])*").fullmatch
_port = re.compile(r"(?::[0-9]*)?").fullmatch
_ATEXT = r'[^\x00-\x20"(),:;<>@\[\\\]\x7f]'
_atom = re.compile(rf"{_ATEXT}+").match
_quoted = re.compile(r'"((?:[^\x00-\x08\x0a-\x1f"\\\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])*)"').match
_literal = re.compile(r"\[([^\x00-\x20\[\\\]\x7f]*)\]").match


def is_request_uri(text: str) -> bool:
    """Whether url.ParseRequestURI takes the text: an absolute URI or an absolute path."""
    if not text or any(char < " " or char == "\x7f" for char in text) or text[0] == ":":
        return False
    if text == "*":
        return True
    found = _scheme(text)
    scheme = found.group()[:-1].lower() if found else ""
    rest = text[found.end() :] if found else text
    rest = rest.partition("?")[0]
    if not rest.startswith("/"):
        return bool(scheme)
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        return _is_authority(scheme, authority) and not _bad_escape(slash + path)
    return not _bad_escape(rest)


def _is_authority(scheme: str, authority: str) -> bool:
    user, _, host = authority.rpartition("@")
    if not _userinfo(user) or _bad_escape(user):
        return False
    bracket = host.rfind("[")
    if bracket > 0:
        return False
    if bracket == 0:
        inside, close, port = host[1:].rpartition("]")
        if not close or not _port(port) or not _host(inside.partition("%25")[0]):
            return False
        address, _, zone = inside.partition("%25")
        return ":" in address and is_ip(address, lenient=False) and ("%25" not in inside or bool(zone))
    if ":" in host:
        at = host.find(":") if scheme in ("http", "https") else host.rfind(":")
        if not _port(host[at:]):
            return False
    return _host(host) is not None


def is_email(text: str) -> bool:
    """Whether mail.ParseAddress takes the text: an address, alone or after a name in angle brackets."""
    rest = text.lstrip(" \t")
    after = _address(rest)
    if after is not None:
        return _ends(after)
    after = _phrase(rest)
    if after is None or not after.startswith("<"):
        return False
    after = _address(after[1:])
    return after is not None and after.startswith(">") and _ends(after[1:])


def _address(text: str) -> str | None:
    """What follows an address at the start of the text, None if there is none."""
    text = text.lstrip(" \t")
    quoted = _quoted(text)
    local = quoted or _atom(text)
    if not local or (quoted and not quoted[1]) or (not quoted and not _dots_fit(local.group())):
        return None
    rest = text[local.end() :]
    if not rest.startswith("@"):
        return None
    rest = rest[1:].lstrip(" \t")
    literal = _literal(rest)
    if literal:
        return rest[literal.end() :] if is_ip(literal[1], lenient=False) else None
    domain = _atom(rest)
    return rest[domain.end() :] if domain and _dots_fit(domain.group()) else None


def _dots_fit(atom: str) -> bool:
    return not (atom.startswith(".") or atom.endswith(".") or ".." in atom)


def _phrase(text: str) -> str | None:
    """What follows a display name; a name may be missing only before an angle bracket."""
    if text.startswith("<"):
        return text
    words = 0
    while True:
        if words:
            skipped = _skip_comments(text)
            if skipped is None:
                return None
            text = skipped
        text = text.lstrip(" \t")
        word = _quoted(text) if text.startswith('"') else _atom(text)
        if not word:
            return text if words else None
        words += 1
        text = text[word.end() :]


def _skip_comments(text: str) -> str | None:
    text = text.lstrip(" \t")
    while text.startswith("("):
        depth, at = 1, 1
        while at < len(text) and depth:
            if text[at] == "\\" and at + 1 < len(text):
                at += 1
            elif text[at] in "()":
                depth += 1 if text[at] == "(" else -1
            at += 1
        if depth:
            return None
        text = text[at:].lstrip(" \t")
    return text


def _ends(text: str) -> bool:
    return _skip_comments(text) == ""
