"""The pages below /debug/flags: flags that can be changed while the server runs. There is one, the log level `v`."""

from __future__ import annotations

import logging

from polykind.golang.fmt import go_quote
from polykind.golang.strconv import is_digits
from polykind.http.messages import Request
from polykind.operations.responses import Header, Response
from polykind.server.verbosity import log_level

_INDEX = b"""<html>
<head>
<title>/debug/flags/</title>
</head>
<body>
/debug/flags/<br>
<br>
flags:<br>
<table>
<tr>v<br>
</table>
<br>
full flags configurable<br>
</body>
</html>
"""
_HTML, _TEXT = b"text/html; charset=utf-8", b"text/plain"
_NO_SNIFF: tuple[Header, ...] = ((b"X-Content-Type-Options", b"nosniff"),)
_MAX_UINT32, _MAX_INT32 = 2**32 - 1, 2**31 - 1


def respond_about_flags(request: Request, path: str) -> Response | None:
    """Respond to a request for /debug/flags or a path below. Return None for any other path."""
    if path == "/debug/flags/v":
        return _set_verbosity(request)
    if path == "/debug/flags" or path.startswith("/debug/flags/"):
        return Response(200, _INDEX, _HTML)
    return None


def _set_verbosity(request: Request) -> Response:
    """Set the log level of this server to the number in the body."""
    if request.method != "PUT":
        return Response(406, b"unsupported http method\n", _TEXT, _NO_SNIFF)
    text = request.body.decode("utf-8", "replace")
    if problem := _number_error(text):
        return Response(400, f"{problem}\n".encode(), _TEXT, _NO_SNIFF)
    logging.getLogger("polykind").setLevel(log_level(int(text)))
    return Response(200, f"successfully set klog.logging.verbosity to {text}\n".encode(), _TEXT, _NO_SNIFF)


def _number_error(text: str) -> str:
    """Return Go's error for a text that is no verbosity, or "" if it is one."""
    if not is_digits(text):
        return f"strconv.ParseUint: parsing {go_quote(text)}: invalid syntax"
    digits = text.lstrip("0") or "0"
    if len(digits) > 10 or int(digits) > _MAX_UINT32:
        return f"strconv.ParseUint: parsing {go_quote(text)}: value out of range"
    if int(digits) > _MAX_INT32:
        reason = f"strconv.ParseInt: parsing {go_quote(text)}: value out of range"
        return f"failed set klog.logging.verbosity {text}: {reason}"
    return ""
