"""References to container images, such as registry.example.com/team/app:1.2@sha256:..."""

from __future__ import annotations

import re

_DOMAIN_LABEL = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_DOMAIN_LABEL}(?:\.{_DOMAIN_LABEL})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_PATH_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_reference = re.compile(
    rf"(?P<name>{_DOMAIN}/{_PATH_COMPONENT}(?:/{_PATH_COMPONENT})*)(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?"
    r"(?:@(?P<algorithm>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*):(?P<hash>[0-9a-fA-F]{32,}))?"
).fullmatch
_identifier = re.compile("[a-f0-9]{64}").fullmatch
_DIGEST_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_MAX_NAME_LENGTH = 255
_DEFAULT_DOMAIN = "docker.io"


def image_tag(image: str) -> str:
    """Return the tag of an image, which is `latest` if the image has neither a tag nor a digest.

    Return an empty string if the image has only a digest or is not a valid reference.
    """
    if _identifier(image):
        return ""
    domain, path = _split_domain(image)
    name = path.partition(":")[0]
    match = _reference(f"{domain}/{path}")
    if name.lower() != name or match is None or len(match["name"]) > _MAX_NAME_LENGTH:
        return ""
    if match["algorithm"] and not _is_digest(match["algorithm"], match["hash"]):
        return ""
    return match["tag"] or ("" if match["algorithm"] else "latest")


def _split_domain(image: str) -> tuple[str, str]:
    """Split an image name into the registry and the rest. The default registry is Docker Hub."""
    domain, slash, path = image.partition("/")
    if not slash or ("." not in domain and ":" not in domain and domain != "localhost" and domain.lower() == domain):
        domain, path = _DEFAULT_DOMAIN, image
    if domain == "index.docker.io":
        domain = _DEFAULT_DOMAIN
    if domain == _DEFAULT_DOMAIN and "/" not in path:
        path = f"library/{path}"
    return domain, path


def _is_digest(algorithm: str, digits: str) -> bool:
    return _DIGEST_LENGTHS.get(algorithm) == len(digits) and digits.lower() == digits
