"""Offer the page of a study on this computer and collect votes into its folder, with the standard library.

Only GET of the page and POST of votes are answered. One file per judge, written atomically. Other hosts than the own
are refused unless the server is told to listen for them.
"""

from __future__ import annotations

import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

from verite.errors import ReadError
from verite.files import write_atomically
from verite.judge.plan import Plan
from verite.judge.votes import votes_of

LARGEST = 5_000_000  # bytes of votes
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def make_server(plan: Plan, page: str, folder: Path, *, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """Return a server of the page; `serve_forever` runs it.

    Parameters
    ----------
    plan : Plan
        The plan, against which votes are checked.
    page : str
        The HTML page.
    folder : Path
        Folder for votes-NAME.csv.
    host : str, default "127.0.0.1"
        Address to listen on.
    port : int, default 0
        Port; 0 for any free one.

    Returns
    -------
    ThreadingHTTPServer
    """
    content = page.encode()

    class Handler(BaseHTTPRequestHandler):
        """Answers for the page and for votes."""

        def is_ours(self) -> bool:
            named = (self.headers.get("Host") or "").rsplit(":", 1)[0].strip("[]")
            return named in LOOPBACK or host not in LOOPBACK

        def answer(self, status: int, text: bytes, kind: str = "text/plain; charset=utf-8") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text)))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self) -> None:
            if not self.is_ours():
                self.answer(403, b"other hosts are refused\n")
            elif self.path in ("/", "/index.html"):
                self.answer(200, content, "text/html; charset=utf-8")
            else:
                self.answer(404, b"not found\n")

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not self.is_ours() or self.path != "/votes":
                self.answer(403, b"refused\n")
            elif not length.isdecimal() or int(length) > LARGEST:
                self.answer(413, b"too long\n")
            else:
                # A name for a file: letters, digits, _ and -.
                name = re.sub(r"[^\w-]+", "-", unquote(self.headers.get("X-Judge", ""))).strip("-")[:40] or "anonymous"
                path = folder / f"votes-{name}.csv"
                unchecked = folder / f".unchecked-{name}.csv"
                unchecked.write_bytes(self.rfile.read(int(length)))
                try:
                    votes_of(plan, unchecked, name)
                    write_atomically(path, unchecked.read_text(encoding="utf-8"))
                    self.answer(200, b"saved\n")
                except (ReadError, UnicodeDecodeError):
                    self.answer(400, b"not votes of this plan\n")
                finally:
                    unchecked.unlink(missing_ok=True)

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    return ThreadingHTTPServer((host, port), Handler)
