"""Resources that the server serves: custom (from a CRD) and built-in (from `apis`)."""
