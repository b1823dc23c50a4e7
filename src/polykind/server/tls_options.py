"""TLS versions and cipher suites: kube-apiserver's names and what they mean for OpenSSL."""

from __future__ import annotations

import ssl

VERSIONS = {"VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}
"""The values of --tls-min-version."""

CIPHER_SUITES = {
    "TLS_AES_128_GCM_SHA256": "",
    "TLS_AES_256_GCM_SHA384": "",
    "TLS_CHACHA20_POLY1305_SHA256": "",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
}
"""The values of --tls-cipher-suites with OpenSSL's names.

The suites of TLS 1.3 cannot be configured in Go, so they have no name here. Go's suites with RC4 and 3DES are missing,
because OpenSSL refuses them.
"""

_DEFAULT_SUITES = tuple(
    f"TLS_ECDHE_{key}_WITH_{cipher}"
    for cipher in (
        "AES_128_GCM_SHA256",
        "AES_256_GCM_SHA384",
        "CHACHA20_POLY1305_SHA256",
        "AES_128_CBC_SHA",
        "AES_256_CBC_SHA",
    )
    for key in ("ECDSA", "RSA")
)
"""Go's default suites for TLS 1.2, which kube-apiserver uses, in Go's order of preference."""


def tls_option_error(minimum: str, suites: tuple[str, ...]) -> str:
    """Return a sentence about the first invalid value of the TLS flags, or "" if all are valid."""
    if minimum not in VERSIONS:
        return f"--tls-min-version {minimum} is not supported; use {' or '.join(VERSIONS)}"
    for suite in suites:
        if suite not in CIPHER_SUITES:
            known = ", ".join(CIPHER_SUITES)
            return f"--tls-cipher-suites: Cipher suite {suite} not supported or doesn't exist; use {known}"
    return ""


def apply_tls_options(context: ssl.SSLContext, minimum: str, suites: tuple[str, ...]) -> None:
    """Set the minimum version and the cipher suites of a server context. As in Go, no suites mean the default ones."""
    context.minimum_version = VERSIONS[minimum]
    names = [CIPHER_SUITES[suite] for suite in suites or _DEFAULT_SUITES if CIPHER_SUITES[suite]]
    if names:
        context.set_ciphers(":".join(dict.fromkeys(names)))
    else:
        # Only suites of TLS 1.3 are left, so older versions have no suite.
        context.minimum_version = ssl.TLSVersion.TLSv1_3
