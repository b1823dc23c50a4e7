"""HTTP/1.1: sockets, requests, responses, streams, options and limits."""
