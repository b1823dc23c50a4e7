"""Bearer tokens: kube-apiserver's static token file, and the token of the administrator."""

from __future__ import annotations

import csv
import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path

from polykind.auth.user import User, authenticated_groups


class TokenFileError(ValueError):
    """A token file is invalid. The message names the line and the error."""


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


class Tokens:
    """The known bearer tokens and their users.

    Only the digests of tokens are stored. A digest is looked up by its prefix, then compared in constant time.
    """

    def __init__(self) -> None:
        self._users: dict[bytes, tuple[bytes, User]] = {}

    def add(self, token: str, user: User) -> None:
        groups = authenticated_groups(user.name, user.groups)
        digest = _digest(token.encode())
        self._users[digest[:8]] = (digest, User(user.name, user.uid, groups))

    def load(self, path: Path) -> None:
        """Add the tokens of a file with lines of the form token,user,uid and optionally a quoted list of groups."""
        with path.open(newline="", encoding="utf-8") as file:
            for number, row in _rows(path, csv.reader(file)):
                if not row or not "".join(row).strip() or row[0].lstrip().startswith("#"):
                    continue
                fields = [f.strip() for f in row]
                if len(fields) < 3:
                    raise TokenFileError(f"{path}, line {number}: needs at least 3 columns: token,user,uid")
                if not fields[0]:
                    raise TokenFileError(f"{path}, line {number}: the token is empty")
                groups = tuple(g.strip() for g in fields[3].split(",") if g.strip()) if len(fields) > 3 else ()
                self.add(fields[0], User(fields[1], fields[2], groups))

    def replace(self, other: Tokens) -> None:
        """Replace all tokens by the tokens of `other`."""
        self._users = other._users

    def find(self, token: bytes) -> User | None:
        digest = _digest(token)
        known = self._users.get(digest[:8])
        return known[1] if known is not None and hmac.compare_digest(known[0], digest) else None


def _rows(path: Path, reader: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield each row of the file with its number. Raise TokenFileError if the file is not valid CSV."""
    number = 1
    while True:
        try:
            row = next(reader, None)
        except (csv.Error, UnicodeDecodeError) as error:
            raise TokenFileError(f"{path}, line {number}: {error}") from None
        if row is None:
            return
        yield number, row
        number += 1
