"""Operations: what a client or the server itself wants done to a resource, independent of HTTP."""
