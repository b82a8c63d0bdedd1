"""The webs that are crawled: documentation packages of Debian on a host each, one manual under many names, generated sites."""

import html
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import sites


@dataclass(frozen=True)
class Package:
    """A documentation package, served under one name."""

    name: str
    host: str
    root: str
    """The folder inside the package that becomes the host's root."""
    fronts: tuple[str, ...]
    """The pages that the portal links to, below the root."""


_QT = ("core", "gui", "widgets", "network", "sql", "xml", "dbus", "opengl", "concurrent", "printsupport")

PACKAGES = (
    Package("python3.11-doc", "python", "usr/share/doc/python3.11/html", ("index.html",)),
    Package("openjdk-17-doc", "java", "usr/share/doc/openjdk-17-jre-headless", ("api/index.html",)),
    Package("libboost1.74-doc", "boost", "usr/share/doc/libboost1.74-doc", ("doc/html/index.html",)),
    Package("apache2-doc", "apache", "usr/share/doc/apache2-doc/manual", ("en/index.html", "de/index.html", "index.html")),
    Package("debian-policy", "policy", "usr/share/doc/debian-policy", ("policy.html/index.html", "README.html")),
    Package("postgresql-doc-15", "postgres", "usr/share/doc/postgresql-doc-15/html", ("index.html",)),
    Package("rust-doc", "rust", "usr/share/doc/rust-doc/html", ("index.html",)),
    Package("cppreference-doc-en-html", "cpp", "usr/share/cppreference/doc/html", ("en/index.html",)),
    Package("erlang-doc", "erlang", "usr/share/doc/erlang-doc", ("doc/index.html",)),
    Package("cmake-doc", "cmake", "usr/share/doc/cmake-data/html", ("index.html",)),
    Package("git-doc", "git", "usr/share/doc/git-doc", ("index.html",)),
    Package("python-django-doc", "django", "usr/share/doc/python-django-doc/html", ("index.html",)),
    Package("qtbase5-doc-html", "qt", "usr/share/qt5/doc", tuple(f"qt{part}/qt{part}-index.html" for part in _QT)),
    Package("sqlite3-doc", "sqlite", "usr/share/doc/sqlite3", ("index.html",)),
    Package("libstdc++-12-doc", "stdcpp", "usr/share/doc/gcc-12-base/libstdc++", ("index.html",)),
)

MANUAL_NAMES = 16
SITES = 1000

ANCHOR = sites.Shape(
    pages=(1.5, 0.5), most_pages=12, size=(12.3, 0.45), most_bytes=1_000_000, links=(3, 8), elsewhere=(60, 160), is_zipped=True
)
"""Pages as a crawl of a billion met them in 2025: 242 kB on average, sent in gzip, each over a connection of its own."""


class Unavailable(Exception):
    """Something cannot be had here; says what."""


@dataclass(frozen=True)
class Corpus:
    """A web under one port: its hosts, and the URLs that a crawl begins with."""

    name: str
    root: Path
    """A folder for each host."""
    port: int
    scheme: str
    hosts: tuple[str, ...]
    seeds: tuple[str, ...] = field(repr=False)
    """The portal first, which links to all the others."""
    connections: int = 1
    """That ours may have to a host."""
    http2: bool = False
    keep_alive: int = 1_000_000_000
    """Requests after which the server closes a connection."""
    shape: sites.Shape = sites.Shape()
    """Of generated pages."""

    @property
    def start(self) -> str:
        return self.seeds[0]

    def closure(self, cache: Path) -> Path:
        """Where the pages that links lead to are listed, once they were found."""
        return cache / f"closure-{self.name}.txt"

    @property
    def is_named(self) -> bool:
        return not self.hosts[0][0].isdigit()


def corpora(cache: Path) -> dict[str, Corpus]:
    """All of them, assembled or not."""
    real = [(f"{package.host}.docs.test", package.fronts) for package in PACKAGES]
    manual = [(f"manual{number:02}.docs.test", ("index.html",)) for number in range(MANUAL_NAMES)]
    addresses = [(sites.address(number), ("",)) for number in range(SITES)]
    names = [(f"site{number:03}.many.test", ("",)) for number in range(SITES)]
    java = [front for front in real if front[0] == "java.docs.test"]
    every = (
        corpus(cache, "real", 8481, "http://portal.docs.test", real),
        corpus(cache, "manual", 8482, "http://portal.docs.test", manual),
        corpus(cache, "many", 8483, "http://127.1.0.250", addresses),
        corpus(cache, "one", 8484, "http://portal.docs.test", java, connections=8),
        corpus(cache, "real-tls", 8491, "https://portal.docs.test", real),
        corpus(cache, "manual-tls", 8492, "https://portal.docs.test", manual),
        corpus(cache, "many-tls", 8493, "https://portal.many.test", names, keep_alive=5),
        corpus(cache, "anchor", 8495, "https://portal.many.test", names, keep_alive=1, shape=ANCHOR),
        corpus(cache, "real-h2", 8494, "https://portal.docs.test", real, connections=8, http2=True),
    )
    return {one.name: one for one in every}


PLAIN = ("real", "manual", "many", "one")
"""Those over HTTP, which are measured where none is named."""


def corpus(
    cache: Path,
    name: str,
    port: int,
    portal: str,
    fronts: list[tuple[str, tuple[str, ...]]],
    connections: int = 1,
    http2: bool = False,
    keep_alive: int = 1_000_000_000,
    shape: sites.Shape = sites.Shape(),
) -> Corpus:
    """A web of these hosts and their front pages, below a portal."""
    scheme, portal = portal.split("://")
    seeds = [f"{scheme}://{portal}:{port}/"]
    seeds += [f"{scheme}://{host}:{port}/{page}" for host, pages in fronts for page in pages]
    hosts = (portal, *(host for host, _ in fronts))
    return Corpus(name, cache / "sites" / name, port, scheme, hosts, tuple(seeds), connections, http2, keep_alive, shape)


def assemble(cache: Path, corpus: Corpus) -> None:
    """Downloads, unpacks and generates what is missing."""
    done = corpus.root / ".done"
    if done.exists():
        return
    shutil.rmtree(corpus.root, ignore_errors=True)
    corpus.root.mkdir(parents=True)
    packages = {f"{package.host}.docs.test": package for package in PACKAGES}
    if corpus.hosts[1] in packages:
        for host in corpus.hosts[1:]:
            (corpus.root / host).symlink_to(unpack(cache, packages[host]))
    elif corpus.hosts[1].startswith("manual"):
        for host in corpus.hosts[1:]:
            (corpus.root / host).symlink_to(unpack(cache, PACKAGES[0]))
    else:
        paragraphs = sites.paragraphs(unpack(cache, package) for package in PACKAGES)
        origins = {host: f"{corpus.scheme}://{host}:{corpus.port}" for host in corpus.hosts[1:]}
        sites.generate(corpus.root, origins, paragraphs, corpus.shape)
    portal = corpus.root / corpus.hosts[0]
    portal.mkdir()
    links = "\n".join(f'<li><a href="{html.escape(seed)}">{html.escape(seed)}</a></li>' for seed in corpus.seeds[1:])
    (portal / "index.html").write_text(
        f"<!DOCTYPE html>\n<html><head><meta charset=utf-8><title>Portal</title></head><body><ul>\n{links}\n</ul></body></html>\n"
    )
    done.touch()


def unpack(cache: Path, package: Package) -> Path:
    """The package's documentation root on this disk."""
    folder = cache / "unpacked" / package.name
    root = folder / package.root
    if not root.exists():
        archive = download(cache, package.name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["dpkg-deb", "-x", archive, folder], check=True)
    if not root.exists():
        raise Unavailable(f"package {package.name} has no {package.root}")
    return root


def download(cache: Path, name: str) -> Path:
    """A package of Debian, not installed."""
    folder = cache / "debs"
    folder.mkdir(parents=True, exist_ok=True)
    if not (found := sorted(folder.glob(f"{name}_*.deb"))):
        try:
            result = subprocess.run(["apt-get", "download", name], cwd=folder, capture_output=True, text=True)
        except FileNotFoundError:
            raise Unavailable("no apt-get") from None
        if result.returncode != 0:
            raise Unavailable(f"package {name}: {result.stderr.strip().splitlines()[-1]} (is `apt-get update` due?)")
        found = sorted(folder.glob(f"{name}_*.deb"))
    return found[-1]
