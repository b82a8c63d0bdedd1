"""A crawl by three nodes over three real NATS servers, whose processes are killed, stopped and cut off: `python3 benches/cluster/run.py chaos`.

The web is `crawler simulate`, whose own clock and truth judge. Beside the verdict are printed what was left out by `crawler merge`, how long it
took from each kill to the first fetch by a new owner, and CPU seconds a page. Needs a crawler with the feature `cluster` (built here unless
`--crawler` names one) and nats-server. Filling a disk needs root.

  calm     nothing happens, and a node joins
  chaos    100 nodes and 20 servers killed, 10 nodes stopped for 0.5 to 3 leases, one joins, one leaves
  servers  all servers killed at once three times, a disk filled twice
  alone    one node, and the same crawl without a cluster beside it, in turns
  scale    one, two and three nodes
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from chaos import Chaos
from nodes import Nodes
from records import lines, takeovers
from servers import Servers, waited

REPOSITORY = Path(__file__).resolve().parents[2]
STEP = 0.05
"""Seconds between two looks at what has ended and what is due."""
SEED = "http://www.simulated.test/"
SMALL_DISK = 512
"""MiB of the file system that is filled."""


@dataclass
class Outcome:
    judgment: dict[str, int]
    merged: int
    left_out: int
    pages: int
    wall: float
    cpu: float
    servers_cpu: float


def main() -> None:
    arguments = parse_arguments()
    crawler = arguments.crawler.resolve() if arguments.crawler else build()
    folder = Path(tempfile.mkdtemp(prefix="cluster-", dir=arguments.folder))
    print(f"{arguments.what}: {arguments.pages:,} addresses on {arguments.hosts:,} hosts, seed {arguments.seed}; in {folder}", flush=True)
    bad = False
    match arguments.what:
        case "alone":
            bad = compare_alone(arguments, crawler, folder)
        case "scale":
            for count in (1, 2, 3):
                outcome, _ = crawl(arguments, crawler, folder / str(count), count, [])
                bad |= show(f"{count} nodes", outcome)
        case what:
            outcome, chaos = crawl(arguments, crawler, folder / what, 3, plan(arguments))
            bad = show(what, outcome)
            show_chaos(chaos, folder / what)
    if not bad and not arguments.keep:
        shutil.rmtree(folder)
    sys.exit(int(bad))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["calm", "chaos", "servers", "alone", "scale"])
    parser.add_argument("--crawler", type=Path, help="the command to try, instead of a build of this tree")
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--hosts", type=int, default=2_000)
    parser.add_argument("--partitions", type=int, default=24)
    parser.add_argument("--lease", type=float, default=5.0, help="seconds")
    parser.add_argument("--delay", default="20ms", help="between two requests to a host")
    parser.add_argument("--node-kills", type=int, default=100)
    parser.add_argument("--server-kills", type=int, default=20)
    parser.add_argument("--stops", type=int, default=10)
    parser.add_argument("--every", type=float, default=3.0, help="mean seconds between two events")
    parser.add_argument("--turns", type=int, default=2, help="pairs of `alone`")
    parser.add_argument("--limit", type=float, default=3600, help="seconds after which a crawl is given up")
    parser.add_argument("--seed", type=int, default=1, help="the chaos follows from it")
    parser.add_argument("--folder", type=Path, help="where the jobs and the servers' files are")
    parser.add_argument("--keep", action="store_true", help="keep them even if all is well")
    return parser.parse_args()


def build() -> Path:
    subprocess.run(["cargo", "build", "--release", "--features", "cluster"], cwd=REPOSITORY, check=True)
    return REPOSITORY / "target/release/crawler"


def plan(arguments: argparse.Namespace) -> list[str]:
    """What is to happen, in its order. Nodes join and leave while there is work."""
    match arguments.what:
        case "calm":
            return ["join"]
        case "servers":
            return ["all servers", "full disk", "all servers", "full disk", "all servers"]
    events = ["node"] * arguments.node_kills + ["server"] * arguments.server_kills + ["stopped node"] * arguments.stops
    random.Random(arguments.seed).shuffle(events)
    events.insert(len(events) // 4, "join")
    events.insert(len(events) // 2, "leave")
    return events


def settings(arguments: argparse.Namespace) -> dict[str, str]:
    return {
        "CRAWLER_SIMULATE_PAGES": str(arguments.pages),
        "CRAWLER_SIMULATE_HOSTS": str(arguments.hosts),
        "CRAWLER_POLITENESS_HOST_DELAY": arguments.delay,
    }


class Web:
    """The web, and the judge of who crawls it."""

    def __init__(self, arguments: argparse.Namespace, crawler: Path, folder: Path) -> None:
        self.process = subprocess.Popen(
            [crawler, "simulate", "--json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=(folder / "web.log").open("wb"),
            env={**os.environ, **settings(arguments)},
            cwd=folder,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def judge(self) -> dict[str, int]:
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate()
        return json.loads(out)


def crawl(arguments: argparse.Namespace, crawler: Path, folder: Path, count: int, events: list[str]) -> tuple[Outcome, Chaos]:
    """A crawl by so many nodes, to its end."""
    folder.mkdir(parents=True)
    web = Web(arguments, crawler, folder)
    servers = Servers(folder, SMALL_DISK if "full disk" in events else None)
    command = [crawler, "--simulate", "--resolve-all-to", web.address, "--no-progress", SEED]
    command += ["--cluster", servers.urls, "--cluster-name", "bench"]
    environment = settings(arguments) | {
        "CRAWLER_CLUSTER_PARTITIONS": str(arguments.partitions),
        "CRAWLER_CLUSTER_LEASE": f"{round(arguments.lease * 1000)}ms",
    }
    nodes = Nodes(command, environment, folder)
    chaos = Chaos(nodes, servers, arguments.lease, arguments.every, events, random.Random(arguments.seed))
    begin = told = time.monotonic()
    try:
        servers.wait_ready()
        for _ in range(count):
            nodes.add()
        while not nodes.is_over:
            time.sleep(STEP)
            nodes.look()
            if any(node.ended == 0 and not node.is_leaving for node in nodes.all):
                chaos.stop()
            chaos.act()
            now = time.monotonic()
            if now - begin > arguments.limit:
                sys.exit(f"not at its end after {arguments.limit:.0f} s: see {folder}")
            if now - told > 30:
                told = now
                records = lines([node.job for node in nodes.all])
                print(f"  {now - begin:5.0f} s: {records:,} records, {chaos.done}", flush=True)
        wall = time.monotonic() - begin
        failed = [f"{node.name} ended with {node.ended}" for node in nodes.all if node.ended != 0 and not node.is_leaving]
        if failed:
            print(f"!! {', '.join(failed)}: see {folder}")
        jobs = [node.job for node in nodes.all if (node.job / "pages.jsonl").exists()]
        merged, left_out = merge(crawler, folder, jobs)
        stored = servers.stored()
        print(f"  the fullest server keeps {stored / 1e6:.1f} MB", flush=True)
        judgment = web.judge()
    finally:
        nodes.close()
        servers.close()
        web.process.kill()
    return Outcome(judgment, merged, left_out, lines(jobs), wall, nodes.cpu, servers.cpu), chaos


def merge(crawler: Path, folder: Path, jobs: list[Path]) -> tuple[int, int]:
    """Records that are kept, and those that are left out. Each page is once in what is kept, by a count that shares nothing with it."""
    out = folder / "merged.jsonl"
    subprocess.run([crawler, "merge", *jobs, "-o", out], check=True)
    pages = [(page["key"], page.get("kind")) for page in map(json.loads, out.open())]
    assert len(pages) == len(set(pages)), "a page is twice in what was merged"
    return len(pages), lines(jobs) - len(pages)


def show(name: str, outcome: Outcome) -> bool:
    """Prints it. Returns whether a bar was missed."""
    judgment = outcome.judgment
    twice = judgment["fetched_twice"] / max(judgment["reachable"], 1)
    print(f"{name}: {outcome.wall:.0f} s, {judgment['fetched'] / outcome.wall:.0f} pages/s")
    print(f"  reachable {judgment['reachable']:,}, missed {judgment['missed']:,}, fetched twice {judgment['fetched_twice']:,} ({twice:.2%})")
    polite = ["hosts_hurried", "hosts_concurrent", "before_retry_after", "fetched_against_robots", "hosts_before_robots"]
    print("  " + ", ".join(f"{what.replace('_', ' ')} {judgment[what]:,}" for what in polite))
    print(f"  records {outcome.pages:,}; after merge {outcome.merged:,}, none twice; left out {outcome.left_out:,}")
    nodes, servers = outcome.cpu / judgment["fetched"], outcome.servers_cpu / judgment["fetched"]
    print(f"  CPU a page: nodes {1000 * nodes:.3f} ms, servers {1000 * servers:.3f} ms", flush=True)
    return judgment["missed"] > 0 or twice >= 0.01 or any(judgment[what] for what in polite)


def show_chaos(chaos: Chaos, folder: Path) -> None:
    print(f"  happened: {chaos.done}")
    for free, grown in chaos.full:
        print(f"  at the end of a full disk: {free:,} bytes free on it, and {grown:,} more on the fullest of the others")
    jobs = {node.name: node.job for node in chaos.nodes.all}
    firsts, each = takeovers(jobs, chaos.deaths)
    for what, waits in [("its first partition", firsts), ("each partition", each)]:
        if waits:
            worst = sorted(waits)[-3:]
            print(
                f"  from a death to the first fetch by a new owner, {what}: median {median(waits):.1f} s, "
                f"worst {', '.join(f'{wait:.1f}' for wait in worst)} s of {len(waits)}"
            )


def compare_alone(arguments: argparse.Namespace, crawler: Path, folder: Path) -> bool:
    """One node against no cluster, in turns. Returns whether they have other records, or the bar of 1.5 was missed."""
    ratios, bad = [], False
    for turn in range(arguments.turns):
        there = folder / f"{turn}"
        outcome, _ = crawl(arguments, crawler, there, 1, [])
        bad |= show("one node", outcome)
        web = Web(arguments, crawler, there)
        job = there / "alone"
        process = subprocess.Popen(
            [crawler, "--simulate", "--resolve-all-to", web.address, "--no-progress", "--job", job, SEED],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(there / "alone.log").open("wb"),
            env={**os.environ, **settings(arguments)},
            cwd=there,
        )
        cpu, judgment = waited(process), web.judge()
        plain = cpu / judgment["fetched"]
        ratio = outcome.cpu / outcome.judgment["fetched"] / plain
        both = [{json.loads(line)["key"] for line in (at / "pages.jsonl").open()} for at in (job, there / "node0")]
        same = both[0] == both[1]
        print(f"  no cluster: CPU a page {1000 * plain:.3f} ms; ratio {ratio:.2f}; the same records: {same}", flush=True)
        ratios.append(ratio)
        bad |= not same
    print(f"one node to none, CPU a page: median {median(ratios):.2f} of {len(ratios)} pairs")
    return bad or median(ratios) > 1.5


if __name__ == "__main__":
    main()
