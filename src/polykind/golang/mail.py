"""E-mail addresses as Go's net/mail parses them."""

from __future__ import annotations

import re

from polykind.golang.net import is_ip

# Non-ASCII characters are allowed, so the character classes list the excluded characters. This also compiles faster.
_ATEXT = r'[^\x00-\x20"(),:;<>@\[\\\]\x7f]'
_atom = re.compile(rf"{_ATEXT}+").match
_quoted_string = re.compile(r'"((?:[^\x00-\x08\x0a-\x1f"\\\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])*)"').match
_domain_literal = re.compile(r"\[([^\x00-\x20\[\\\]\x7f]*)\]").match


def is_email(text: str) -> bool:
    """True if mail.ParseAddress accepts the text: an address, or a display name and an address in angle brackets."""
    rest = text.lstrip(" \t")
    after = _skip_address(rest)
    if after is not None:
        return _is_end(after)
    after = _skip_display_name(rest)
    if after is None or not after.startswith("<"):
        return False
    after = _skip_address(after[1:])
    return after is not None and after.startswith(">") and _is_end(after[1:])


def _skip_address(text: str) -> str | None:
    """Return the text after an address. Return None if the text does not start with an address."""
    text = text.lstrip(" \t")
    quoted = _quoted_string(text)
    local_part = quoted or _atom(text)
    if not local_part or (quoted and not quoted[1]) or (not quoted and not _has_valid_dots(local_part.group())):
        return None
    rest = text[local_part.end() :]
    if not rest.startswith("@"):
        return None
    rest = rest[1:].lstrip(" \t")
    literal = _domain_literal(rest)
    if literal:
        return rest[literal.end() :] if is_ip(literal[1]) else None
    domain = _atom(rest)
    return rest[domain.end() :] if domain and _has_valid_dots(domain.group()) else None


def _has_valid_dots(atom: str) -> bool:
    return not (atom.startswith(".") or atom.endswith(".") or ".." in atom)


def _skip_display_name(text: str) -> str | None:
    """Return the text after a display name. Return None if the name is invalid.

    The name may be empty only if an angle bracket follows.
    """
    if text.startswith("<"):
        return text
    words = 0
    while True:
        if words:
            after = _skip_comments(text)
            if after is None:
                return None
            text = after
        text = text.lstrip(" \t")
        word = _quoted_string(text) if text.startswith('"') else _atom(text)
        if not word:
            return text if words else None
        words += 1
        text = text[word.end() :]


def _skip_comments(text: str) -> str | None:
    """Return the text after comments in parentheses. Return None if a comment is not closed."""
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


def _is_end(text: str) -> bool:
    return _skip_comments(text) == ""
