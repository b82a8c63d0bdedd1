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

    @property
    def start(self) -> str:
        return self.seeds[0]

    @property
    def is_named(self) -> bool:
        return not self.hosts[0][0].isdigit()


def corpora(cache: Path) -> dict[str, Corpus]:
    """All of them, assembled or not."""
    real = [(f"{package.host}.docs.test", package.fronts) for package in PACKAGES]
    manual = [(f"manual{number:02}.docs.test", ("index.html",)) for number in range(MANUAL_NAMES)]
    many = [(sites.address(number), ("",)) for number in range(SITES)]
    return {
        "real": _corpus(cache, "real", 8481, "portal.docs.test", real),
        "manual": _corpus(cache, "manual", 8482, "portal-manual.docs.test", manual),
        "many": _corpus(cache, "many", 8483, "127.1.0.250", many),
    }


def _corpus(cache: Path, name: str, port: int, portal: str, fronts: list[tuple[str, tuple[str, ...]]]) -> Corpus:
    seeds = [f"http://{portal}:{port}/"]
    seeds += [f"http://{host}:{port}/{page}" for host, pages in fronts for page in pages]
    hosts = (portal, *(host for host, _ in fronts))
    return Corpus(name, cache / "sites" / name, port, "http", hosts, tuple(seeds))


def assemble(cache: Path, corpus: Corpus) -> None:
    """Downloads, unpacks and generates what is missing."""
    done = corpus.root / ".done"
    if done.exists():
        return
    shutil.rmtree(corpus.root, ignore_errors=True)
    corpus.root.mkdir(parents=True)
    if corpus.name == "real":
        for package in PACKAGES:
            (corpus.root / f"{package.host}.docs.test").symlink_to(unpack(cache, package))
    elif corpus.name == "manual":
        manual = unpack(cache, PACKAGES[0])
        for host in corpus.hosts[1:]:
            (corpus.root / host).symlink_to(manual)
    else:
        paragraphs = sites.paragraphs(unpack(cache, package) for package in PACKAGES)
        sites.generate(corpus.root, corpus.hosts[1:], corpus.port, paragraphs)
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
