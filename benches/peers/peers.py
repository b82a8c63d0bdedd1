"""The programs that are measured: how each is had, started, and with which settings."""

import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path

from corpus import Corpus, Unavailable, download

HERE = Path(__file__).resolve().parent
AT_ONCE = 64
"""Requests at once, where a peer has such a setting."""


class Peer(ABC):
    """A crawler; it asks for no robots.txt and keeps no delay."""

    name: str
    settings: str
    speaks_tls = True
    """And takes a private authority's certificate from `SSL_CERT_FILE`."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache

    @abstractmethod
    def prepare(self) -> None:
        """Builds or installs it where that was not done yet; raises `Unavailable`."""

    @abstractmethod
    def command(self, corpus: Corpus, work: Path) -> list[str]:
        """How it is started; `work` is an empty folder."""

    def environment(self) -> dict[str, str]:
        return {}


class Ours(Peer):
    """This crate's command."""

    name = "ours"
    settings = (
        f"--workers {AT_ONCE}, scope host from the same seeds, one connection a host (eight on `one`), journal, checkpoints and page records on disk"
    )

    def __init__(self, cache: Path, program: Path | None, arguments: list[str]) -> None:
        super().__init__(cache)
        self.program = program
        self.arguments = arguments
        if arguments:
            self.settings += "; " + " ".join(arguments)

    def prepare(self) -> None:
        if self.program is None:
            self.program = cargo(HERE.parent.parent, self.cache / "target" / "ours", "crawler", "dist", "--features", "jemalloc")
        if not self.program.is_file():
            raise Unavailable(f"no {self.program}")

    def command(self, corpus: Corpus, work: Path) -> list[str]:
        seeds = work / "seeds.txt"
        seeds.write_text("".join(f"{seed}\n" for seed in corpus.seeds))
        fixed = ["--no-robots", "--host-delay", "0s", "--allow-private-addresses", "--no-progress", "-q"]
        place = ["--seeds", str(seeds), "--job", str(work / "job")]
        beside = ["--connections-per-host", str(corpus.connections)] if corpus.connections > 1 else []
        return [str(self.program), *place, *fixed, *beside, "--workers", str(AT_ONCE), *self.arguments]


class Spider(Peer):
    """spider, a library in Rust: a small program around it."""

    name = "spider"
    settings = (
        f"fat LTO, one unit, mimalloc; {AT_ONCE} at once, no retries, names cached, links of the same hosts; nothing kept on disk; "
        "without its features that throttle by load or keep links in SQLite"
    )

    def prepare(self) -> None:
        self.program = cargo(HERE / "spider", self.cache / "target" / "spider", "spider-peer")

    def command(self, corpus: Corpus, work: Path) -> list[str]:
        return [str(self.program), corpus.start, str(hosts_file(corpus, work)), str(AT_ONCE)]


class Bare(Peer):
    """The bound: no crawl, but a client that is given the list of URLs."""

    name = "bare"
    speaks_tls = False
    settings = f"hyper alone over the list of pages, {AT_ONCE} hosts at once, one connection a host, one thread, memchr for each `<`"

    def prepare(self) -> None:
        self.program = cargo(HERE / "bare", self.cache / "target" / "bare", "bare")

    def command(self, corpus: Corpus, work: Path) -> list[str]:
        return [str(self.program), str(corpus.closure(self.cache)), str(AT_ONCE)]


class Scrapy(Peer):
    """Scrapy, a framework in Python."""

    name = "scrapy"
    settings = f"{AT_ONCE} at once, also to one host, no retries, no cookies; links by its LinkExtractor (lxml); queues in memory"

    def prepare(self) -> None:
        self.python = environment_of_python(self.cache, "scrapy", ["scrapy"])

    def command(self, corpus: Corpus, work: Path) -> list[str]:
        options = {
            "CONCURRENT_REQUESTS": AT_ONCE,
            "CONCURRENT_REQUESTS_PER_DOMAIN": AT_ONCE,
            "COOKIES_ENABLED": False,
            "DOWNLOAD_DELAY": 0,
            "LOG_LEVEL": "ERROR",
            "RETRY_ENABLED": False,
            "ROBOTSTXT_OBEY": False,
            "TELNETCONSOLE_ENABLED": False,
        }
        settings = [part for name, value in options.items() for part in ("-s", f"{name}={value}")]
        given = ["-a", f"start={corpus.start}", "-a", f"hosts={hosts_file(corpus, work)}"]
        return [str(self.python), "-m", "scrapy", "runspider", str(HERE / "with_scrapy.py"), *given, *settings]


class Crawlee(Peer):
    """Crawlee, a framework for Node, with its crawler over plain HTTP and cheerio."""

    name = "crawlee"
    speaks_tls = False
    settings = f"CheerioCrawler, {AT_ONCE} at once always, no retries, no sessions; links by a[href] and area[href]; queue in memory"

    def prepare(self) -> None:
        self.modules = self.cache / "node"
        if not (self.modules / "node_modules" / "@crawlee" / "cheerio").exists():
            self.modules.mkdir(exist_ok=True)
            install(["npm", "install", "--silent", "--no-fund", "--no-audit", "@crawlee/cheerio"], self.modules)
        if shutil.which("node") is None:
            raise Unavailable("no node")

    def command(self, corpus: Corpus, work: Path) -> list[str]:
        hosts = hosts_file(corpus, work)
        return ["node", str(HERE / "with_crawlee.mjs"), str(self.modules), corpus.start, str(hosts), str(AT_ONCE)]


class Wget2(Peer):
    """GNU wget2, which is a downloader: what it reads it first writes to disk."""

    name = "wget2"
    speaks_tls = False
    settings = f"{AT_ONCE} threads, one try, HTTP/1.1, links of a, area and frames, files deleted once read"
    _LIBRARIES = ("libwget0", "libgpgme11", "libassuan0")

    def prepare(self) -> None:
        self.folder = self.cache / "wget2"
        if not (self.folder / ".done").exists():
            for package in ("wget2", *self._LIBRARIES):
                archive = download(self.cache, package)
                install(["dpkg-deb", "-x", str(archive), str(self.folder)], self.cache)
            (self.folder / ".done").touch()

    def command(self, corpus: Corpus, work: Path) -> list[str]:
        domains = ",".join(corpus.hosts)
        ignored = ",".join(("img", "link", "script", "embed", "object", "video", "audio", "source", "input", "body", "td", "th"))
        fixed = ["--config=/dev/null", "--quiet", "--recursive", "--level=0", "--span-hosts", "--robots=off", "--tries=1"]
        fixed += ["--delete-after", "--http2=off", "--hsts=off", "--hpkp=off", "--ocsp=off", f"--ignore-tags={ignored}"]
        return [str(self.folder / "usr/bin/wget2"), *fixed, f"--max-threads={AT_ONCE}", f"--domains={domains}", corpus.start]

    def environment(self) -> dict[str, str]:
        folders = [self.folder / "usr/lib", *(self.folder / "usr/lib").glob("*-linux-gnu*")]
        return {"LD_LIBRARY_PATH": ":".join(map(str, folders))}


def hosts_file(corpus: Corpus, work: Path) -> Path:
    """The hosts that belong to the crawl, one a line."""
    path = work / "hosts.txt"
    path.write_text("".join(f"{host}\n" for host in corpus.hosts))
    return path


def cargo(package: Path, target: Path, binary: str, profile: str = "release", *options: str) -> Path:
    """Builds a Rust package as it is shipped."""
    command = ["cargo", "build", "--profile", profile, "--locked", "--quiet", *options]
    install(command, package, {"CARGO_TARGET_DIR": str(target)})
    return target / profile / binary


def install(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    """Runs a build tool or a package manager; what it says is shown if it fails."""
    if shutil.which(command[0]) is None:
        raise Unavailable(f"no {command[0]}")
    result = subprocess.run(
        command, cwd=folder, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if result.returncode != 0:
        print(result.stdout[-2000:], result.stderr[-2000:], sep="\n", file=sys.stderr)
        raise Unavailable(f"`{' '.join(command[:4])}` failed")


def environment_of_python(cache: Path, name: str, packages: list[str]) -> Path:
    """A virtual environment with these packages; answers with its Python."""
    folder = cache / "venv" / name
    python = folder / "bin" / "python"
    done = folder / ".done"
    if not done.exists():
        install([sys.executable, "-m", "venv", "--clear", str(folder)], HERE)
        install([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], HERE)
        done.touch()
    return python
