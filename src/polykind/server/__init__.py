"""The server, its settings, the filters and routes of requests, and its health and version endpoints."""
