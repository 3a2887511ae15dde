"""A web server for tests that can do wrong: breaks off, stalls, refuses, ignores what it is asked for."""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class SmallWeb:
    """What is served, what goes wrong with the next answers, and what was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.moved: dict[str, str] = {}
        self.requests: list[tuple[str, str | None]] = []  # path and Range
        self.breaks: list[int] = []  # bytes after which each of the next answers breaks off
        self.reset = False  # break with a reset instead of an end
        self.stall_at: int | None = None  # bytes after which nothing comes any more
        self.statuses: list[int] = []  # of the next answers, instead of content
        self.lengths: list[int] = []  # that the next answers claim for the whole file
        self.ranges = True
        self.tell_length = True
        self.url = ""
        self.closing = threading.Event()

    def ranges_of(self, path: str) -> list[str | None]:
        return [asked for name, asked in self.requests if name == path]


@contextlib.contextmanager
def small_web() -> Iterator[SmallWeb]:
    web = SmallWeb()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            web.requests.append((self.path, asked))
            if web.statuses:
                return self.send_error(web.statuses.pop(0))
            if self.path in web.moved:
                self.send_response(301)
                self.send_header("Location", web.url + web.moved[self.path])
                return self.end_headers()
            if self.path not in web.files:
                return self.send_error(404)
            body = web.files[self.path]
            length = web.lengths.pop(0) if web.lengths else len(body)
            if asked and web.ranges:
                start = int(asked.removeprefix("bytes=").removesuffix("-"))
                if start >= len(body):
                    return self.send_error(416)
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{length - 1}/{length}")
                body = body[start:]
            else:
                self.send_response(200)
                if web.tell_length:
                    self.send_header("Content-Length", str(length))
            self.end_headers()
            return self.send_body(body)

        def send_body(self, body: bytes) -> None:
            if web.breaks:
                self.wfile.write(body[: web.breaks.pop(0)])
                if web.reset:
                    linger = struct.pack("ii", 1, 0)  # a close within no seconds is a reset
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    self.connection.close()
            elif web.stall_at is not None:
                self.wfile.write(body[: web.stall_at])
                self.wfile.flush()
                web.closing.wait(60)
            else:
                with contextlib.suppress(ConnectionError):
                    self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield web
    finally:
        web.closing.set()
        server.shutdown()
        server.server_close()
