"""Token files and token lookup."""

from __future__ import annotations

from pathlib import Path

import pytest

from polykind.auth.tokens import TokenFileError, Tokens
from polykind.auth.user import User

AUTHENTICATED = "system:authenticated"


def load_tokens(folder: Path, text: str | bytes) -> Tokens:
    path = folder / "tokens.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    tokens = Tokens()
    tokens.load(path)
    return tokens


def test_lines_have_token_user_uid_and_groups(tmp_path: Path) -> None:
    tokens = load_tokens(
        tmp_path,
        't1,alice,1\nt2, bob ,2,"dev,ops"\r\nt3,eve,3,admins\n\n# a comment\nt4,joe,4,"dev,dev,system:authenticated"\n',
    )
    assert tokens.find(b"t1") == User("alice", "1", (AUTHENTICATED,))
    assert tokens.find(b"t2") == User("bob", "2", ("dev", "ops", AUTHENTICATED))
    assert tokens.find(b"t3") == User("eve", "3", ("admins", AUTHENTICATED))
    assert tokens.find(b"t4") == User("joe", "4", ("dev", "dev", AUTHENTICATED))


@pytest.mark.parametrize("token", [b"", b"t", b"t11", b"T1", b"\xff", b"x" * 100_000])
def test_unknown_token_is_not_found(tmp_path: Path, token: bytes) -> None:
    assert load_tokens(tmp_path, "t1,alice,1\n").find(token) is None


@pytest.mark.parametrize(
    ("text", "line", "error"),
    [
        ("t1,alice\n", 1, "needs at least 3 columns: token,user,uid"),
        ("t1,alice,1\nt2\n", 2, "needs at least 3 columns: token,user,uid"),
        (",alice,1\n", 1, "the token is empty"),
        (b"t1,\xff,1\n", 1, "can't decode byte 0xff"),
        ("t1,alice,1\nt2,%s,2\n" % ("x" * 200_000), 2, "field larger than field limit"),
    ],
)
def test_invalid_file_error_names_line_and_error(tmp_path: Path, text: str | bytes, line: int, error: str) -> None:
    with pytest.raises(TokenFileError, match=f"tokens.csv, line {line}: .*{error}"):
        load_tokens(tmp_path, text)


def test_tokens_are_hashed_and_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = Tokens()
    tokens.add("secret", User("alice"))
    assert b"secret" not in repr(vars(tokens)).encode()
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr("polykind.auth.tokens.hmac.compare_digest", compare)
    assert tokens.find(b"secret") is not None
    assert len(compared) == 1
    assert all(len(part) == 32 for part in compared[0])
