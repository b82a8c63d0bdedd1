"""Ours beside its peers, on webs served by nginx on this machine: `python3 benches/peers/run.py`. See README.md."""

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

import peers
from address import key_of
from corpus import PLAIN, Corpus, Unavailable, assemble, corpora
from measure import Run, run
from serve import Server, View, authority

LIMIT = 1800
"""Seconds after which a crawl is killed."""


def main() -> None:
    arguments = parse_arguments()
    cache: Path = arguments.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    webs = corpora(cache)
    wanted = arguments.corpus or list(PLAIN)
    alone = (cache / "lock").open("w")
    fcntl.flock(alone, fcntl.LOCK_EX)
    enter_namespace(cache, sorted({host for web in webs.values() if web.is_named for host in web.hosts}))

    ready: list[peers.Peer] = []
    for peer in all_peers(cache, arguments):
        if arguments.only and peer.name not in arguments.only:
            continue
        try:
            peer.prepare()
        except Unavailable as reason:
            print(f"{peer.name}: left out: {reason}", flush=True)
            continue
        print(f"{peer.name}: {peer.settings}", flush=True)
        ready.append(peer)
    for name in wanted:
        if name not in webs:
            sys.exit(f"there are the corpora {', '.join(webs)}")
        try:
            compare(cache, webs[name], ready, arguments.turns)
        except Unavailable as reason:
            print(f"corpus {name}: left out: {reason}", flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument("--cache", type=Path, default=home / "crawler-peers", help="folder of downloads, builds and corpora")
    parser.add_argument("--corpus", action="append", metavar="NAME", help="only this; more than once; see README.md")
    parser.add_argument("--only", action="append", metavar="PEER", help="only this program; more than once")
    parser.add_argument("--ours", type=Path, help="the command to measure, instead of a build of this tree")
    parser.add_argument("--ours-with", action="append", default=[], metavar="ARGUMENT", help="an argument more for ours")
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    arguments.ours = arguments.ours.resolve() if arguments.ours else None
    return arguments


def all_peers(cache: Path, arguments: argparse.Namespace) -> list[peers.Peer]:
    kinds = (peers.Bare, peers.Spider, peers.Scrapy, peers.Crawlee, peers.Wget2)
    return [peers.Ours(cache, arguments.ours, arguments.ours_with), *(kind(cache) for kind in kinds)]


def enter_namespace(cache: Path, names: list[str]) -> None:
    """Starts this program again where the hosts file knows the corpora's names: in a mount namespace of its own."""
    if os.environ.get("PEERS_NAMESPACE") == "entered":
        hosts = cache / "hosts"
        hosts.write_text(Path("/etc/hosts").read_text() + "".join(f"127.0.0.1 {name}\n" for name in names))
        subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
        return
    if shutil.which("unshare") is None:
        sys.exit("no unshare (Debian: util-linux): the corpora's names would have to stand in the hosts file")
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    os.environ["PEERS_NAMESPACE"] = "entered"
    os.execvp("unshare", ["unshare", "--mount", *as_root, sys.executable, *sys.argv])


def expected(cache: Path, corpus: Corpus) -> set[str]:
    """The keys of all pages that links lead to: found once, then kept beside the corpus."""
    kept = corpus.closure(cache)
    if not kept.exists() or kept.stat().st_mtime < (corpus.root / ".done").stat().st_mtime:
        python = peers.environment_of_python(cache, "closure", ["selectolax"])
        program = peers.HERE / "closure.py"
        subprocess.run([python, program, corpus.root, corpus.start, kept, *corpus.hosts], check=True)
    return set(map(key_of, kept.read_text().splitlines()))


def compare(cache: Path, corpus: Corpus, ready: list[peers.Peer], turns: int) -> None:
    """All programs in turns, each turn in another order."""
    assemble(cache, corpus)
    pages = expected(cache, corpus)
    print(f"\n{corpus.name}: {len(pages)} pages on {len(corpus.hosts)} hosts", flush=True)
    results: dict[str, list[Result]] = {peer.name: [] for peer in ready}
    for turn in range(turns):
        for place in range(len(ready)):
            peer = ready[(turn + place) % len(ready)]
            if corpus.scheme == "https" and not peer.speaks_tls:
                continue
            result = crawl(cache, corpus, peer, pages)
            results[peer.name].append(result)
            print(f"  turn {turn + 1} {peer.name:>10}: {result}", flush=True)
    print(HEADER)
    for name, of_peer in results.items():
        if of_peer:
            print(row(name, of_peer, results.get("ours") or of_peer), flush=True)


class Result:
    """One crawl."""

    def __init__(self, ran: Run, view: View, expected: set[str]) -> None:
        fetched = view.keys()
        self.pages = len(fetched)
        self.rate = self.pages / ran.wall
        self.cpu = 1000 * ran.cpu / max(self.pages, 1)
        self.peak = ran.peak
        self.status = ran.status
        self.connections = view.connections
        self.resumed = view.resumed
        self.missing = expected - fetched
        self.extra = fetched - expected
        self.twice = view.twice()
        self.other = view.other

    def __str__(self) -> str:
        ended = "" if self.status == 0 else f", ended with {self.status}"
        return (
            f"{self.rate:.0f} pages/s, {self.cpu:.3f} CPU s/1,000, {self.peak:.0f} MB, {self.connections} connections ({self.resumed} resumed), "
            f"missed {len(self.missing)}, extra {len(self.extra)}, twice {self.twice}, other {self.other}{ended}"
        )


HEADER = (
    f"{'':>10} {'pages/s':>8} {'CPU s/1,000':>11} {'peak MB':>8} {'connections':>11} {'missed':>7} {'extra':>6} {'twice':>6} "
    f"{'other':>6}  ours against it: pages/s, CPU"
)


def row(name: str, results: list[Result], ours: list[Result]) -> str:
    """Medians of the turns; ratios are of the same turn, and their median."""
    rates = median(mine.rate / its.rate for mine, its in zip(ours, results))
    cpus = median(mine.cpu / its.cpu for mine, its in zip(ours, results))
    return (
        f"{name:>10} {median(r.rate for r in results):8.0f} {median(r.cpu for r in results):11.3f} "
        f"{median(r.peak for r in results):8.0f} {median(r.connections for r in results):11.0f} "
        f"{median(len(r.missing) for r in results):7.0f} {median(len(r.extra) for r in results):6.0f} "
        f"{median(r.twice for r in results):6.0f} {median(r.other for r in results):6.0f}  {rates:8.2f} {cpus:9.3f}"
    )


def crawl(cache: Path, corpus: Corpus, peer: peers.Peer, pages: set[str]) -> Result:
    """One crawl by one program, against a server of its own."""
    work = cache / "work" / corpus.name / peer.name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    environment = peer.environment()
    if corpus.scheme == "https":
        environment["SSL_CERT_FILE"] = str(authority(cache / "keys"))
    with Server(corpus, cache / "nginx", cache / "keys") as server:
        ran = run(peer.command(corpus, work), work / "log", LIMIT, environment)
    result = Result(ran, server.view(), pages)
    for kind, keys in (("missing", result.missing), ("extra", result.extra)):
        (work / kind).write_text("".join(f"{key}\n" for key in sorted(keys)))
    return result


if __name__ == "__main__":
    main()
