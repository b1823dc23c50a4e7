"""HTTP/1.1: sockets, requests, responses, streams, request options and limits."""
