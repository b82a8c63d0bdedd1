"""The programs that are measured: how each is had, started, and with which settings."""

import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path

from corpus import Corpus, Unavailable

HERE = Path(__file__).resolve().parent
AT_ONCE = 64
"""Requests at once, where a peer has such a setting."""


class Peer(ABC):
    """A crawler; it asks for no robots.txt and keeps no delay."""

    name: str
    settings: str

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
        f"--workers {AT_ONCE}, scope host from the same seeds, one connection a host, journal, checkpoints and page records on disk"
    )

    def __init__(self, cache: Path, program: Path | None, arguments: list[str]) -> None:
        super().__init__(cache)
        self.program = program
        self.arguments = arguments
        if arguments:
            self.settings += "; " + " ".join(arguments)

    def prepare(self) -> None:
        if self.program is None:
            self.program = cargo(HERE.parent.parent, self.cache / "target" / "ours", "crawler")
        if not self.program.is_file():
            raise Unavailable(f"no {self.program}")

    def command(self, corpus: Corpus, work: Path) -> list[str]:
        seeds = work / "seeds.txt"
        seeds.write_text("".join(f"{seed}\n" for seed in corpus.seeds))
        fixed = ["--no-robots", "--host-delay", "0s", "--allow-private-addresses", "--no-progress", "-q"]
        place = ["--seeds", str(seeds), "--job", str(work / "job")]
        return [str(self.program), *place, *fixed, "--workers", str(AT_ONCE), *self.arguments]


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


def hosts_file(corpus: Corpus, work: Path) -> Path:
    """The hosts that belong to the crawl, one a line."""
    path = work / "hosts.txt"
    path.write_text("".join(f"{host}\n" for host in corpus.hosts))
    return path


def cargo(package: Path, target: Path, binary: str) -> Path:
    """Builds a Rust package in its release profile."""
    install(["cargo", "build", "--release", "--locked", "--quiet"], package, {"CARGO_TARGET_DIR": str(target)})
    return target / "release" / binary


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
