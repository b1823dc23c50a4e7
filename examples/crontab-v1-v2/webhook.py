"""A conversion webhook for CronTabs that uses only the standard library.

    python3 webhook.py [--port 9443]

creates a certificate with openssl if there is none, and runs in the background. It writes a line for each converted
object to webhook.log, and its process id to webhook.pid.
"""

from __future__ import annotations

import argparse
import json
import os
import ssl
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HOST = "crontab-conversion.crontab.svc"
FIELDS = ("min", "hour", "dayOfMonth", "month", "dayOfWeek")


def v1_to_v2(spec: dict[str, Any]) -> None:
    """Split the cronSpec into its five fields."""
    parts = spec.pop("cronSpec", "").split()
    if parts and len(parts) != len(FIELDS):
        raise ValueError(f"a cronSpec has {len(FIELDS)} fields, not {len(parts)}")
    spec.update(zip(FIELDS, parts, strict=False))


def v2_to_v1(spec: dict[str, Any]) -> None:
    """Join the five fields to a cronSpec."""
    parts = [spec.pop(field, "*") for field in FIELDS]
    spec["cronSpec"] = " ".join(parts)


CONVERSIONS = {("v1", "v2"): v1_to_v2, ("v2", "v1"): v2_to_v1}


def convert(obj: dict[str, Any], to: str) -> dict[str, Any]:
    """Convert an object to another apiVersion. The metadata does not change."""
    versions = obj["apiVersion"].rpartition("/")[2], to.rpartition("/")[2]
    CONVERSIONS[versions](obj.setdefault("spec", {}))
    obj["apiVersion"] = to
    print(f"{' -> '.join(versions)} {obj['metadata']['name']}", flush=True)
    return obj


def respond(review: dict[str, Any]) -> dict[str, Any]:
    """Return the response to a ConversionReview: all objects in order, or a failure message."""
    request = review["request"]
    response: dict[str, Any] = {"uid": request["uid"], "result": {"status": "Success"}}
    try:
        response["convertedObjects"] = [convert(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
    except (KeyError, ValueError) as error:
        response["result"] = {"status": "Failed", "message": f"cannot convert: {error}"}
    return {"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response}


class Webhook(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(respond(review)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Do not log requests, because conversions are logged."""


def certificate(folder: Path) -> tuple[Path, Path]:
    """Create a self-signed certificate for the name of the Service, if there is none."""
    cert, key = folder / "webhook.crt", folder / "webhook.key"
    if not cert.exists():
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", f"/CN={HOST}"]
        command += ["-addext", f"subjectAltName=DNS:{HOST}", "-keyout", str(key), "-out", str(cert)]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - all arguments are constants
    return cert, key


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=9443)
    port = parser.parse_args().port
    server = ThreadingHTTPServer(("127.0.0.1", port), Webhook)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(Path()))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    child = os.fork()
    if child:
        Path("webhook.pid").write_text(str(child))
        print(f"converting on port {port}")
        return 0
    os.setsid()
    log = os.open("webhook.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(log, stream.fileno())
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
