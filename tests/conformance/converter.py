"""The webhook of a scenario, for conversion and admission. Each scenario has its own and chooses how it behaves."""

from __future__ import annotations

import base64
import copy
import functools
import http.server
import json
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Any

import trustme

CRON_FIELDS = ("min", "hour", "dayOfMonth", "month", "dayOfWeek")


def move_fields(fields: str, part: dict[str, Any], version: str) -> None:
    """Move the fields that differ.

    hostport: v1beta1 has hostPort, every other version host and port. crontab: v1 has cronSpec, v2 has five fields.
    """
    if fields == "hostport":
        if version == "v1beta1" and "host" in part:
            part["hostPort"] = f"{part.pop('host')}:{part.pop('port', '')}"
        elif version != "v1beta1" and "hostPort" in part:
            part["host"], _, part["port"] = part.pop("hostPort").partition(":")
    elif fields == "crontab":
        if version == "v2" and "cronSpec" in part:
            part.update(zip(CRON_FIELDS, part.pop("cronSpec").split(" "), strict=False))
        elif version == "v1" and "min" in part:
            part["cronSpec"] = " ".join(part.pop(field, "*") for field in CRON_FIELDS)


def spoil_metadata(mode: str, obj: dict[str, Any], to: str) -> None:
    """Change metadata in the allowed or forbidden way that `mode` names."""
    meta, version = obj["metadata"], to.rsplit("/", 1)[-1]
    if mode == "mutate-name":
        meta["name"] += "-changed"
    elif mode == "mutate-namespace":
        meta["namespace"] = "elsewhere"
    elif mode == "mutate-uid":
        meta["uid"] = "00000000-0000-0000-0000-000000000000"
    elif mode == "mutate-labels":
        meta.setdefault("labels", {})["from"] = to
        meta.setdefault("annotations", {})["from"] = to
    elif mode == "relabel":
        meta["labels"] = (meta.get("labels") or {}) | {"converted-to": version}
        meta["annotations"] = (meta.get("annotations") or {}) | {"converted-to": to}
    elif mode == "unlabel":
        meta.pop("labels", None)
        meta.pop("annotations", None)
    elif mode == "mutate-other":
        meta["finalizers"] = ["example.com/added"]
        meta["generation"] = 99
        meta["creationTimestamp"] = "2001-01-01T00:00:00Z"
        meta["ownerReferences"] = [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "1"}]
    elif mode == "drop-metadata":
        del obj["metadata"]


def convert(mode: str, obj: dict[str, Any], to: str, base: str | None = None) -> dict[str, Any]:
    """Convert one object as `mode` says.

    `base` (hostport or crontab) moves the fields for modes that only change metadata.
    """
    fields, version = base or mode, to.rsplit("/", 1)[-1]
    spec = obj.get("spec") if isinstance(obj.get("spec"), dict) else None
    if fields == "hostport":
        move_fields(fields, obj, version)
    if spec is not None:
        move_fields(fields, spec, version)
    if mode != "wrong-version":
        obj["apiVersion"] = to
    if mode == "mutate-kind":
        obj["kind"] = "Other"
    elif mode == "extra":
        obj["extra"] = "x"
        if spec is not None:
            spec["extra"] = "x"
    spoil_metadata(mode, obj, to)
    return obj


@functools.cache
def authority() -> tuple[ssl.SSLContext, str]:
    """Create one CA for all converters of a run. Return the server's TLS context and the caBundle."""
    ca = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    return context, base64.b64encode(ca.cert_pem.bytes()).decode()


def send(
    call: http.server.BaseHTTPRequestHandler, status: int, body: bytes, headers: Mapping[str, str] | None = None
) -> None:
    call.send_response(status)
    call.send_header("Content-Type", "application/json")
    for name, value in (headers or {}).items():
        call.send_header(name, value)
    call.send_header("Content-Length", str(len(body)))
    call.end_headers()
    call.wfile.write(body)
    call.wfile.flush()


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that reject the certificate or hang up: scenarios provoke both."""


class Converter:
    """The converter of one scenario. `behave` switches its mode; `take` returns the reviews that it has received."""

    lock = threading.Lock()

    def __init__(self) -> None:
        with Converter.lock:
            context, self.ca = authority()
        self.mode = "noop"
        self.options: dict[str, Any] = {}
        self.reviews: list[dict[str, Any]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_POST(self) -> None:
                outer.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_port
        self.url = f"https://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def behave(self, mode: str, **options: Any) -> None:
        self.mode, self.options = mode, options

    def take(self) -> list[dict[str, Any]]:
        taken, self.reviews = self.reviews, []
        return taken

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, call: http.server.BaseHTTPRequestHandler) -> None:
        review = json.loads(call.rfile.read(int(call.headers.get("Content-Length") or 0)))
        if review["kind"] == "AdmissionReview":
            self.admit(call, review)
            return
        self.reviews.append(
            {
                "path": call.path,
                "contentType": call.headers.get("Content-Type"),
                "apiVersion": review["apiVersion"],
                "kind": review["kind"],
                "desiredAPIVersion": review["request"]["desiredAPIVersion"],
                "objects": copy.deepcopy(review["request"]["objects"]),
            }
        )
        mode, options = self.mode, self.options
        if mode == "hang":
            time.sleep(float(options.get("seconds", 60)))
        if mode == "close":
            call.close_connection = True
            call.connection.shutdown(socket.SHUT_RDWR)
            call.connection.close()
            return
        status, body = 200, json.dumps(self.reply(review, mode, options)).encode()
        if mode == "bad-json":
            body = b"{not json"
        elif mode == "http-error":
            status, body = int(options.get("code", 500)), options.get("body", "told to fail").encode()
        send(call, status, body, options.get("headers", {}))

    def admit(self, call: http.server.BaseHTTPRequestHandler, review: dict[str, Any]) -> None:
        """Answer an AdmissionReview as the options say: `allowed`, `result`, `warnings` and `patch` (a JSON patch)."""
        request, options = review["request"], self.options
        received = {key: review[key] for key in ("apiVersion", "kind")}
        self.reviews.append({"path": call.path, **received, "request": copy.deepcopy(request)})
        response: dict[str, Any] = {"uid": request["uid"], "allowed": options.get("allowed", True)}
        response |= {key: options[key] for key in ("warnings", "auditAnnotations") if key in options}
        if "result" in options:
            response["status"] = options["result"]
        if "patch" in options:
            patch = base64.b64encode(json.dumps(options["patch"]).encode()).decode()
            response |= {"patchType": "JSONPatch", "patch": patch}
        if self.mode == "wrong-uid":
            response["uid"] = "not-the-uid-you-sent"
        status = int(options.get("code", 500)) if self.mode == "http-error" else 200
        send(call, status, json.dumps({**received, "response": response}).encode())

    def reply(self, review: dict[str, Any], mode: str, options: dict[str, Any]) -> dict[str, Any]:
        request = review["request"]
        response: dict[str, Any] = {"uid": request["uid"], "result": {"status": "Success"}}
        failing = options.get("names")
        if mode == "fail" and (not failing or any(o["metadata"]["name"] in failing for o in request["objects"])):
            message = options.get("message", "told to fail")
            response["result"] = {"status": options.get("status", "Failed"), "message": message}
        else:
            base = options.get("base", "hostport" if mode == "fail" else None)
            to = request["desiredAPIVersion"]
            response["convertedObjects"] = [convert(mode, o, to, base) for o in request["objects"]]
        if mode == "wrong-uid":
            response["uid"] = "not-the-uid-you-sent"
        elif mode == "empty":
            response["convertedObjects"] = []
        elif mode == "fewer":
            response["convertedObjects"] = response["convertedObjects"][:-1]
        elif mode == "reversed":
            response["convertedObjects"].reverse()
        elif mode == "success-no-status":
            del response["result"]
        out = {"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response}
        if mode == "wrong-review-version":
            out["apiVersion"] = "apiextensions.k8s.io/v2"
        elif mode == "wrong-review-kind":
            out["kind"] = "AdmissionReview"
        elif mode == "no-response":
            del out["response"]
        return out
