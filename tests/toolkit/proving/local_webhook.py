"""A conversion webhook on localhost, with certificates of a CA of its own."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import trustme

CA = trustme.CA()
CERTIFICATE = CA.issue_cert("localhost", "127.0.0.1", "converter.system.svc")
Review = dict[str, Any]


@contextmanager
def served(change: Callable[[Review, Review], Any]) -> Iterator[int]:
    """Run a webhook that changes only apiVersion, and whose responses `change` spoils. Yield its port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def log_message(self, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = b""
            if "Content-Length" in self.headers:
                body = self.rfile.read(int(self.headers["Content-Length"]))
            else:
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            request = json.loads(body)["request"]
            converted = [
                {**obj, "apiVersion": request["desiredAPIVersion"], "metadata": obj.get("metadata") or {}}
                for obj in request["objects"]
            ]
            response = {"uid": request["uid"], "convertedObjects": converted, "result": {"status": "Success"}}
            change(request, response)
            review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}
            answer = json.dumps(review).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
            self.wfile.flush()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    CERTIFICATE.configure_cert(context)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
