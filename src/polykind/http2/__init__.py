"""HTTP/2 as both sides speak it: frames (RFC 9113) and header compression (RFC 7541)."""
