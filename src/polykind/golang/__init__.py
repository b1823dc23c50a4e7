"""Formats that must read or print exactly as Go's: fmt, strconv, time, net, regexp, base64."""
