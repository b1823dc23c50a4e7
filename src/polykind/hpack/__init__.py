"""HPACK, the header compression of HTTP/2 (RFC 7541): for the server, and for the client of etcd."""
