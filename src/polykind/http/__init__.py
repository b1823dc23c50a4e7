"""HTTP/1.1: sockets to requests and back."""
