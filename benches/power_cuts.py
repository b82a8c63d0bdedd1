"""What a power cut takes: `sudo python3 benches/power_cuts.py [--ours CRAWLER] [--cuts 30] [--sync interval]`.

A crawl that keeps everything (records, links, visits, a web archive, bodies, refused links) writes to an ext4 of its own, in a file that is mounted
by a loop device. At random moments that file system is shut down without a flush (EXT4_IOC_SHUTDOWN with NOLOGFLUSH), as if the power had gone: what
was not synced is lost, and what ext4 had committed stays. Then the crawler is killed, the file system mounted again, and the crawl resumed.

At once after each cut: the bodies that the records name are counted, those that are empty or not whole among them (a resume asks for their pages
again). At each crawl's end others judge: each page of the site has one record with status 200, its body, its links and its response once.
What a cut cost is told by the server: pages that it was asked for again, and how long before the cut the oldest of them had been sent.

Needs Linux, root, loop devices and mkfs.ext4; where they are missing it says so and ends with 77.
"""

import argparse
import fcntl
import gzip
import hashlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

EXT4_IOC_SHUTDOWN = 0x8004587D
NOLOGFLUSH = struct.pack("I", 2)
CANNOT = 77


class Site(ThreadingHTTPServer):
    """Pages that are a binary tree, each with a text of its own, and when each was sent."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, pages: int) -> None:
        self.pages, self.sent, self.lock = pages, [], threading.Lock()
        self.bodies = [self.body(number) for number in range(pages)]
        super().__init__(("127.0.0.1", 0), Answer)

    def body(self, number: int) -> bytes:
        links = "".join(f'<a href="/p/{child}">{child}</a>' for child in (2 * number, 2 * number + 1) if child < self.pages)
        words = random.Random(number)
        text = " ".join(f"{words.getrandbits(40):x}" for _ in range(words.randrange(50, 1000)))
        return f"<title>{number}</title>{links}<p>{text}</p>".encode()


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20

    def do_GET(self) -> None:
        number = self.path.removeprefix("/p/")
        if not number.isdigit():
            return self.answer(404, b"")
        with self.server.lock:
            self.server.sent.append((time.monotonic(), int(number)))
        self.answer(200, self.server.bodies[int(number)])

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


class Disk:
    """An ext4 in a file, that can lose its power."""

    def __init__(self, work: Path) -> None:
        self.image, self.place = work / "disk", work / "mounted"
        self.place.mkdir()
        with self.image.open("wb") as image:
            image.truncate(1 << 30)
        subprocess.run(["mkfs.ext4", "-q", "-F", self.image], check=True)

    def mount(self) -> None:
        # Names are committed each second, so that there is something to be without its bytes.
        subprocess.run(["mount", "-o", "loop,commit=1", self.image, self.place], check=True)

    def cut(self) -> None:
        handle = os.open(self.place, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, EXT4_IOC_SHUTDOWN, NOLOGFLUSH)
        finally:
            os.close(handle)

    def unmount(self) -> None:
        for _ in range(100):
            if subprocess.run(["umount", self.place], capture_output=True).returncode == 0:
                return
            time.sleep(0.1)
        raise SystemExit("the disk stays busy")


def start(ours: Path, place: Path, site: Site, arguments: argparse.Namespace) -> subprocess.Popen:
    settings = {
        "CRAWLER_JOB_SYNC": arguments.sync,
        "CRAWLER_JOB_MIN_FREE_DISK": "0",
        "CRAWLER_TRAPS_SHAPE_BUDGET": "0",
        "CRAWLER_SEEN_CAPACITY": "100000",
        "CRAWLER_OUTPUT_VISITS": "true",
        "CRAWLER_OUTPUT_SKIPPED": "true",
    }
    if (place / "job" / "manifest").exists():
        command = [ours, "resume", "job"]
    else:
        command = [ours, "--job", "job", "--bodies", "bodies", "--warc", "--links", "--no-sitemaps", "--no-robots"]
        command += ["--allow-private-addresses", "--host-delay", arguments.delay, f"http://127.0.0.1:{site.server_port}/p/1"]
    log = (place.parent / "log").open("ab")
    return subprocess.Popen(command, cwd=place, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def records(place: Path) -> list[dict]:
    path = place / "job" / "pages.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            pass
    return found


def bad_bodies(place: Path, found: list[dict]) -> int:
    """How many bodies that records name are not there as they were."""
    bad = 0
    for digest in {record["body_digest"].removeprefix("sha256:") for record in found if record.get("body_digest")}:
        path = place / "bodies" / digest[:2] / digest[2:]
        bad += not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != digest
    return bad


def judge(place: Path, site: Site) -> list[str]:
    """What is wrong with a crawl that has ended."""
    origin = f"http://127.0.0.1:{site.server_port}"
    expected = Counter(f"{origin}/p/{number}" for number in range(1, site.pages))
    found = records(place)
    wrong = []

    def compare(what: str, got: Counter, wanted: Counter) -> None:
        missing, further = wanted - got, got - wanted
        if missing or further:
            wrong.append(f"{what}: {sum(missing.values())} missing, {sum(further.values())} too many: {[*missing, *further][:3]}")

    compare("records", Counter(record["url"] for record in found if record["status"] == 200), expected)
    if bad := bad_bodies(place, found) or sum("body_digest" not in record for record in found if record["status"] == 200):
        wrong.append(f"bodies: {bad} are not there")
    links = Counter((link["from"], link["to"]) for link in map(json.loads, (place / "job" / "links.jsonl").open()))
    edges = ((number, child) for number in range(1, site.pages) for child in (2 * number, 2 * number + 1) if child < site.pages)
    compare("links", links, Counter((f"{origin}/p/{number}", f"{origin}/p/{child}") for number, child in edges))
    responses = Counter()
    for file in sorted((place / "job").glob("pages-*.warc.gz*")):
        for record in gzip.decompress(file.read_bytes()).split(b"WARC/1.1\r\n")[1:]:
            head = record.split(b"\r\n\r\n", 1)[0].decode()
            if "WARC-Type: response" in head:
                responses.update(line.split(": ", 1)[1] for line in head.split("\r\n") if line.startswith("WARC-Target-URI: "))
    compare("responses", Counter({url: count for url, count in responses.items() if "/p/" in url}), expected)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", type=Path, default=Path(__file__).resolve().parent.parent / "target/release/crawler")
    parser.add_argument("--cuts", type=int, default=30)
    parser.add_argument("--sync", default="interval", choices=["interval", "always", "never"])
    parser.add_argument("--pages", type=int, default=2500)
    parser.add_argument("--delay", default="2ms", help="between two pages")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--work", type=Path, help="where the disk's file is, on a disk of that speed")
    arguments = parser.parse_args()
    if sys.platform != "linux" or os.geteuid() != 0 or not os.path.exists("/dev/loop-control") or not shutil.which("mkfs.ext4"):
        print("not run: it needs Linux, root, loop devices and mkfs.ext4", file=sys.stderr)
        raise SystemExit(CANNOT)
    arguments.ours = arguments.ours.resolve()
    dice, is_right = random.Random(arguments.seed), True
    cuts, again, oldest, bad = 0, [], [], 0
    while cuts < arguments.cuts:
        with tempfile.TemporaryDirectory(dir=arguments.work) as work:
            site, disk = Site(arguments.pages), Disk(Path(work))
            threading.Thread(target=site.serve_forever, daemon=True).start()
            disk.mount()
            running = None
            try:
                running = start(arguments.ours, disk.place, site, arguments)
                while True:
                    try:
                        running.wait(dice.uniform(1.5, 4.0) if cuts < arguments.cuts else 600)
                        break
                    except subprocess.TimeoutExpired:
                        pass
                    disk.cut()
                    cut_at, before = time.monotonic(), len(site.sent)
                    running.send_signal(signal.SIGKILL)
                    running.wait()
                    disk.unmount()
                    disk.mount()
                    found = records(disk.place)
                    empty = bad_bodies(disk.place, found)
                    bad += empty
                    cuts += 1
                    running = start(arguments.ours, disk.place, site, arguments)
                    last = {number: at for at, number in site.sent[:before]}
                    # Pages that were asked for since the cut, and had been sent before it. The last moments of a resume are enough of them.
                    time.sleep(1.5)
                    twice = [cut_at - last[number] for _, number in site.sent[before:] if number in last]
                    again.append(len(twice))
                    oldest.append(max(twice, default=0.0))
                    print(
                        f"cut {cuts}: {before} sent so far, {len(found)} records, {empty} bodies not whole, "
                        f"{len(twice)} asked again, the oldest sent {oldest[-1]:.2f} s before the cut",
                        flush=True,
                    )
                if running.returncode:
                    print((Path(work) / "log").read_text()[-2000:])
                    is_right = False
                    print(f"ended with {running.returncode}")
                for wrong in judge(disk.place, site):
                    is_right = False
                    print(f"WRONG: {wrong}", flush=True)
            finally:
                if running:
                    running.kill()
                    running.wait()
                site.shutdown()
                disk.unmount()
    print(
        f"job.sync = {arguments.sync}: {cuts} cuts; asked again: {sum(again) / cuts:.0f} pages a cut, {max(again)} at most, "
        f"the oldest sent {max(oldest):.2f} s before; {bad} bodies not whole after cuts; {'all there at the end' if is_right else 'SOMETHING IS LOST'}"
    )
    sys.exit(not is_right)


if __name__ == "__main__":
    main()
