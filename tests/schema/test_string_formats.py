"""String formats."""

from __future__ import annotations

import pytest

from polykind.schema import string_formats

ACCEPTED: dict[str, tuple[list[str], list[str]]] = {
    "bsonobjectid": (["507f1f77bcf86cd799439011"], ["507f1f77bcf86cd79943901", "z" * 24]),
    "uri": (["http://a.b/c?d", "/path", "mailto:x", "http://[::1]:80/", "*"], ["no scheme", "", "http://a b/", "x%"]),
    "email": (["a@b.c", "x <a@b>", '"a b"@c.d', "a@[1.2.3.4]"], ["nobody", "a@", "a@b c", "a..b@c", "x <a@b"]),
    "hostname": (["a", "a-b.com", "xn--é.com"], ["-bad-.example", "", "a.b", "a" * 64, "a_b"]),
    "ipv4": (["10.0.0.1", "010.0.0.1", "::ffff:1.2.3.4"], ["10.0.0.256", "1.2.3", "::1"]),
    "ipv6": (["::1", "1:2:3:4:5:6:7::", "::1.2.3.4"], ["10.0.0.1", "1::2::3", "fe80::1%eth0", "::01.2.3.4"]),
    "cidr": (["10.0.0.0/8", "fe80::/10", "10.0.0.0/08"], ["10.0.0.0/33", "10.0.0.0", "::/129"]),
    "mac": (
        ["00:00:5e:00:53:01", "0000.5e00.5301", "02-00-5e-10-00-00-00-01"],
        ["00:00:5e:00:53", "00:00-5e:00:53:01"],
    ),
    "uuid": (["0f8fad5b-d9cb-469f-a165-70867728950e", "0F8FAD5BD9CB469FA16570867728950E"], ["0f8fad5b-d9cb-469f-a165"]),
    "uuid4": (["0f8fad5b-d9cb-469f-a165-70867728950e"], ["0f8fad5b-d9cb-369f-a165-70867728950e"]),
    "isbn": (["978-0321751041", "0321751043"], ["0321751044", "x"]),
    "creditcard": (["4111 1111 1111 1111"], ["4111 1111 1111 1112"]),
    "ssn": (["123-45-6789"], ["123456789"]),
    "hexcolor": (["#fff", "00AA11"], ["#ffff"]),
    "rgbcolor": (["rgb(1, 2,255)"], ["rgb(1,2,256)", "rgb(01,2,3)"]),
    "byte": (["aGVsbG8="], ["not base64!", "", "aGVsbG8"]),
    "password": (["", "anything"], []),
    "date": (["2024-02-29"], ["2024-02-30", "2023-02-29", "2024-2-9", "２０２４-02-29"]),
    "duration": (["5m", "1h2.5m", "-1.5h", "0", "22 ns", "3 days", "5 weeks"], ["5 apples", "", "five"]),
    "date-time": (
        ["2024-02-29T12:00:00Z", "2024-02-29t23:59:59.5+01:00", "2024-03-31T00:00:00z"],
        ["2024-02-29 12:00", "2024-02-30T12:00:00Z", "2024-02-29T24:00:00Z", "2024-02-29T12:00:00"],
    ),
    "k8s-short-name": (["a-b"], ["a.b", "A", "a" * 64]),
    "k8s-long-name": (["a.b"], ["a..b", "a" * 254]),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_format_accepts_valid_and_rejects_invalid_texts(name: str) -> None:
    judge = string_formats.format_check(name)
    assert judge is not None
    good, bad = ACCEPTED[name]
    assert [text for text in good if not judge(text)] == []
    assert [text for text in bad if judge(text)] == []


def test_known_formats_by_type() -> None:
    assert string_formats.is_known_format("date-time", "string")
    assert string_formats.is_known_format("ipv4", "")
    assert string_formats.is_known_format("int32", "integer")
    assert not string_formats.is_known_format("int32", "string")
    assert not string_formats.is_known_format("date", "integer")
    assert not string_formats.is_known_format("unheard-of", "string")
    assert "datetime" in string_formats.KNOWN_FORMATS
    assert string_formats.format_check("unheard-of") is None
