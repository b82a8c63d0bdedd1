"""nginx on loopback, one server for each corpus, and what its log says: the server's view is the truth."""

import os
import shutil
import socket
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import address
from corpus import Corpus, Unavailable

_CONFIGURATION = """\
{user}worker_processes 2;
daemon off;
pid {folder}/pid;
error_log {folder}/error.log warn;
worker_rlimit_nofile {files};
events {{ worker_connections {connections}; }}
http {{
    types {{ text/html html htm shtml; text/css css; application/javascript js; image/png png; image/svg+xml svg; image/gif gif;
             image/jpeg jpg; text/plain txt; application/pdf pdf; application/gzip gz; text/xml xml; }}
    default_type application/octet-stream;
    sendfile on;
    gzip_static {zipped};
    tcp_nopush on;
    keepalive_timeout 3600s;
    keepalive_requests {keep_alive};
    open_file_cache max=8000 inactive=1h;
    open_file_cache_valid 1h;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    log_format view '$connection\\t$status\\t$sent_http_content_type\\t$host\\t$request_uri\\t$request_method\\t$ssl_session_reused';
    access_log {folder}/access.log view buffer=1m;
    server {{
        listen {listen} backlog=16384{protocol};
        {certificate}
        allow 127.0.0.0/8;
        deny all;
        root {root}/$host;
        index index.html;
    }}
}}
"""


@dataclass(frozen=True)
class View:
    """What the server saw of a crawl."""

    connections: int
    resumed: int
    """Of these, connections over TLS whose handshake was spared the certificates."""
    pages: Counter[str]
    """Pages sent whole with status 200, by host and target as asked."""
    other: int
    """Requests that were answered with something else."""

    def keys(self) -> set[str]:
        return {address.key(*page.split("\t")) for page in self.pages}

    def twice(self) -> int:
        """Pages sent again."""
        return sum(self.pages.values()) - len(self.pages)


class Server:
    """One nginx, while in the `with`; the log is read after it."""

    def __init__(self, corpus: Corpus, folder: Path, keys: Path) -> None:
        self.corpus = corpus
        self.folder = folder
        self.keys = keys
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Server":
        program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin")
        if program is None:
            raise Unavailable("no nginx (Debian: nginx-light)")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        is_tls = self.corpus.scheme == "https"
        # TLS 1.3 is not among the defaults of older nginx.
        certificate = f"ssl_certificate {self.keys}/site.pem; ssl_certificate_key {self.keys}/site.key; ssl_protocols TLSv1.2 TLSv1.3;"
        place = "127.0.0.1" if self.corpus.is_named else "0.0.0.0"
        configuration = self.folder / "nginx.conf"
        configuration.write_text(
            _CONFIGURATION.format(
                # The corpora may be where only root reads.
                user="user root;\n" if os.geteuid() == 0 else "",
                folder=self.folder,
                files=19_000,
                connections=16_384,
                listen=f"{place}:{self.corpus.port}",
                protocol=(" ssl http2" if self.corpus.http2 else " ssl") if is_tls else "",
                certificate=certificate if is_tls else "",
                keep_alive=self.corpus.keep_alive,
                zipped="on" if self.corpus.shape.is_zipped else "off",
                root=self.corpus.root,
            )
        )
        self.process = subprocess.Popen([program, "-c", configuration, "-p", self.folder])
        until = time.monotonic() + 10
        while not _answers(self.corpus.port):
            if self.process.poll() is not None or time.monotonic() > until:
                raise Unavailable(f"nginx does not start: see {self.folder}/error.log")
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process is not None
        self.process.terminate()
        self.process.wait()

    def view(self) -> View:
        """Of all that was logged; the probe at the start was closed without a request, and is not there."""
        connections: set[str] = set()
        resumed: set[str] = set()
        pages: Counter[str] = Counter()
        other = 0
        with open(self.folder / "access.log", encoding="utf-8", errors="surrogateescape") as log:
            for line in log:
                connection, status, kind, host, target, method, reused = line.rstrip("\n").split("\t")
                connections.add(connection)
                if reused == "r":
                    resumed.add(connection)
                if status == "200" and kind.startswith("text/html") and method == "GET":
                    pages[f"{host}\t{target}"] += 1
                else:
                    other += 1
        return View(len(connections), len(resumed), pages, other)


def authority(keys: Path) -> Path:
    """A private authority's certificate, by which that of all the corpora's names is signed; both are made once."""
    if not (keys / "site.pem").exists():
        if shutil.which("openssl") is None:
            raise Unavailable("no openssl")
        keys.mkdir(parents=True, exist_ok=True)
        new = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650"]
        own = ["-x509", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Benchmark authority"]
        leaf = ["-keyout", "site.key", "-out", "site.csr", "-subj", "/CN=docs.test"]
        (keys / "names").write_text("subjectAltName=DNS:*.docs.test,DNS:*.many.test\nextendedKeyUsage=serverAuth\n")
        signed = ["openssl", "x509", "-req", "-in", "site.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"]
        signed += ["-days", "365", "-extfile", "names", "-out", "site.pem"]
        for command in ([*new, *own], [*new, *leaf], signed):
            subprocess.run(command, cwd=keys, check=True, capture_output=True)
    return keys / "ca.pem"


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
