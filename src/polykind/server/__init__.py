"""The server, its settings, its router and its health and version endpoints."""
