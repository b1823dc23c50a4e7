"""HTTP/2 (RFC 9113). Imported when the first client chooses it."""
