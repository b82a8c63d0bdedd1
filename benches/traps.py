"""What budgets and turns cost and lose: `python3 benches/traps.py [CASE...] [--ours CRAWLER]`.

Each case is a web on loopback, made up here, that the command crawls with the settings of a user, but for the politeness of a second. A line says
how many of the pages were fetched that anybody wants, how many there are, how many requests it took (robots.txt apart), and whether that is
within the bar. The status is 1 where one is not. `--list` names the cases.

The manual is that of Python 3.11, Debian's package `python3.11-doc`: the 526 pages that its index leads to. Without it those cases are left out, and
a line says so. All other pages are words drawn by a number. The web with traps is `crawler --simulate`'s, which judges by itself.
"""

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

MANUAL = Path("/usr/share/doc/python3.11/html")
SETTINGS = {"CRAWLER_POLITENESS_HOST_DELAY": "0s", "CRAWLER_SITEMAPS_ENABLED": "false", "CRAWLER_POLITENESS_BACKOFF": "1s"}
WORDS = "alder birch cedar elm fir hazel larch maple oak pine rowan spruce walnut willow yew ash beech cherry ginkgo holly juniper laurel".split()
# Pages at which any crawl ends.
MOST = 1_000_000
Answer = Callable[[str, str], bytes | None]


@dataclass
class Case:
    """A web and its bar."""

    seeds: list[str]
    answer: Answer
    # Of these URLs each is to be fetched.
    wanted: Callable[[str, str], bool]
    count: int
    # Requests that may be for nothing, as a share of all, or their number.
    most_wasted: float | None = None
    most_requests: int | None = None
    # Pages after which the crawl ends.
    stop: int | None = None
    # The least share of what is wanted.
    share: float = 1.0
    scope: str = "any"


def text(number: int) -> bytes:
    """Words that the page of no other number has."""
    draw = random.Random(number)
    return " ".join(draw.choices(WORDS, k=40)).encode()


def links(to: Iterable[str]) -> bytes:
    return "".join(f"<a href='{url}'>x</a>" for url in to).encode()


def page(to: Iterable[str], number: int) -> bytes:
    return b"<!doctype html><title>" + WORDS[number % len(WORDS)].encode() + b"</title><p>" + links(to) + b"<p>" + text(number)


def manual() -> dict[str, bytes]:
    """The pages of the manual that its index leads to, by their paths."""
    found: dict[str, bytes] = {}
    ahead = ["index.html"]
    while ahead:
        path = ahead.pop()
        file = MANUAL / path
        if path in found or not file.is_file():
            continue
        found[path] = file.read_bytes()
        for href in re.findall(r'<a [^>]*href="([^"#?]+\.html)', found[path].decode(errors="replace")):
            if "://" not in href:
                ahead.append(os.path.normpath(os.path.join(os.path.dirname(path), href)))
    return found


def beside_each_other(pages: dict[str, bytes], places: list[str]) -> Case:
    """A front page, and the manual in each of these directories."""
    front = b"<!doctype html><title>front</title>" + links(f"/{place}index.html" for place in places)

    def at(path: str) -> bytes | None:
        if path == "/":
            return front
        place = next((place for place in sorted(places, key=len, reverse=True) if path[1:].startswith(place)), None)
        return None if place is None else pages.get(path[1 + len(place) :])

    wanted = len(pages) * len(places) + 1
    return Case(["http://docs.test/"], lambda _, path: at(path), lambda _, path: at(path) is not None, wanted, scope="host")


def seeds_with_a_manual(pages: dict[str, bytes]) -> Case:
    def at(path: str) -> bytes | None:
        return pages.get(path.removeprefix("/py/")) if path.startswith("/py/") else None

    seeds = [f"http://h{host}.docs.test/py/index.html" for host in range(16)]
    return Case(seeds, lambda _, path: at(path), lambda _, path: at(path) is not None, 16 * len(pages), scope="host")


def book(path: str, size: int) -> bytes | None:
    """A manual that is made up: its first page leads to all others, and each of these to the next."""
    number = path.removeprefix("page-").removesuffix(".html")
    if not number.isdigit() or int(number) >= size:
        return None
    to = range(size) if number == "0" else [(int(number) + 1) % size]
    return page((f"page-{other}.html" for other in to), int(number))


def seeds_with_equal_pages() -> Case:
    seeds = [f"http://h{host}.docs.test/page-0.html" for host in range(120)]
    return Case(seeds, lambda _, path: book(path[1:], 500), lambda _, path: book(path[1:], 500) is not None, 60_000)


def calendar() -> Case:
    """Forty good pages, and a month on each page that leads to the next and the last one."""

    def at(path: str) -> bytes | None:
        if match := re.fullmatch(r"/month/(\d+)/(\d+)/", path):
            month = int(match[1]) * 12 + int(match[2]) - 1
            to = (f"/month/{other // 12}/{other % 12 + 1}/" for other in (month - 1, month + 1))
            days = " ".join(map(str, range(1, 29)))
            return b"<!doctype html><title>Events</title>" + links(to) + f"<p>No events. {days}".encode()
        body = book(path[1:], 40)
        return body and body + links(["/month/2026/11/"])

    is_wanted = lambda _, path: book(path[1:], 40) is not None  # noqa: E731
    return Case(["http://site.test/page-0.html"], lambda _, path: at(path), is_wanted, 40, most_requests=40 + 2 * 110)


class Sessions:
    """Good pages, each of whose links has a session in its path that is drawn anew with each answer. With `titles` each answer has a title that
    is drawn too, so no two say the same."""

    def __init__(self, size: int, titles: bool, stop: int | None, most_requests: int | None, most_wasted: float | None) -> None:
        self.size, self.titles = size, titles
        self.draw = random.Random(7)
        self.case = Case(["http://site.test/"], lambda _, path: self.at(path), lambda *_: False, size)
        self.case.stop, self.case.most_requests, self.case.most_wasted = stop, most_requests, most_wasted
        self.case.wanted = lambda _, path: self.number(path) is not None
        self.known: set[int] = set()

    def number(self, path: str) -> int | None:
        """A page is wanted once, in whichever session."""
        match = re.fullmatch(r"/(?:s/[0-9a-f]+/page-(\d+))?", path)
        number = match and int(match[1] or 0)
        return number if number is not None and number < self.size else None

    def at(self, path: str) -> bytes | None:
        number = self.number(path)
        if number is None:
            return None
        draw = self.draw
        session = f"{draw.getrandbits(128):032x}"
        to = [number * 3 + nth for nth in range(1, 4)] + [draw.randrange(self.size) for _ in range(4)]
        body = page((f"/s/{session}/page-{other}" for other in to if other < self.size), number)
        title = " ".join(draw.choices(WORDS, k=6)) if self.titles else "site"
        return body.replace(b"<title>", f"<title>{title} ".encode())


NAV = [f"/{name}" for name in "home explore upload groups people prints help jobs press terms privacy contact about blog store mobile cameras licences".split()]


def of_items(says: Callable[[int], bytes], titles: bool = True, size: int = 1_500) -> Case:
    """A list of items that have ids in their URLs, 50 to a page of it. What an item has beside its title is equal, or next to nothing."""
    ids = [f"{random.Random(number).getrandbits(128):032x}" for number in range(size)]
    numbers = {of: number for number, of in enumerate(ids)}

    def at(path: str) -> bytes | None:
        if match := re.fullmatch(r"/list/(\d+)", path):
            start = int(match[1]) * 50
            to = [f"/item/{of}" for of in ids[start : start + 50]] + ([f"/list/{int(match[1]) + 1}"] if start + 50 < size else [])
            return page(to, 10_000 + int(match[1])) if start < size else None
        match = re.fullmatch(r"/item/([0-9a-f]{32})", path)
        number = numbers.get(match[1]) if match else None
        title = "" if number is None or not titles else " ".join(random.Random(number).choices(WORDS, k=6)) + str(number)
        return None if number is None else f"<!doctype html><title>{title}</title>".encode() + says(number)

    wanted = lambda _, path: at(path) is not None  # noqa: E731
    return Case(["http://site.test/list/0"], lambda _, path: at(path), wanted, size + size // 50)


def shell(_: int) -> bytes:
    return b"<div id=root></div><script src=/app.js></script>"


def noscript(number: int) -> bytes:
    names = " ".join(f"<a href='{to}'>{to[1:]}</a>" for to in NAV)
    return shell(number) + f"<noscript>You need to enable JavaScript to run this app.</noscript><nav>{names}</nav>".encode()


def photo(number: int) -> bytes:
    """Links to its neighbours, its album and who made it, each of which is an id."""
    names = " ".join(f"<a href='{to}'>{to[1:]}</a>" for to in NAV)
    draw = random.Random(number)
    to = [f"/user/{random.Random(number // 7 + 50_000).getrandbits(128):032x}/{part}" for part in ("", "albums", "groups")]
    to += [f"/album/{draw.getrandbits(128):032x}"]
    links_of = " ".join(f"<a href='{url}'>more</a>" for url in to)
    return f"<nav>{names}</nav><img src=/jpg/{number}.jpg>{links_of}".encode()


def owned(number: int) -> bytes:
    """Each photo has an owner of its own, and leads to two of the owner's lists: all its links have one new id."""
    names = " ".join(f"<a href='{to}'>{to[1:]}</a>" for to in NAV)
    owner = f"{random.Random(number + 70_000).getrandbits(128):032x}"
    return f"<nav>{names}</nav><img src=/jpg/{number}.jpg><a href=/user/{owner}/albums>albums</a><a href=/user/{owner}/groups>groups</a>".encode()


def thread(number: int) -> bytes:
    names = " ".join(f"<a href='{to}'>{to[1:]}</a>" for to in NAV)
    posts = " ".join(random.Random(number).choices(["Thanks!", "Same here.", "Solved.", "Bump."], k=2))
    return f"<nav>{names}</nav><p>{posts}".encode()


def hashed_versions() -> Case:
    """Thirty builds of a manual, each below the hash of its commit, whose titles have the hash. Its links stay in the build."""
    builds = [f"{random.Random(900 + build).getrandbits(160):040x}" for build in range(30)]

    def at(path: str) -> bytes | None:
        if path == "/":
            return b"<!doctype html><title>front</title>" + links(f"/build/{build}/page-0.html" for build in builds)
        match = re.fullmatch(r"/build/([0-9a-f]{40})/(.*)", path)
        body = book(match[2], 100) if match and match[1] in builds else None
        return body and body.replace(b"<title>", b"<title>" + match[1].encode() + b" ")

    return Case(["http://docs.test/"], lambda _, path: at(path), lambda _, path: at(path) is not None, 3_001, scope="host")


def farm(says: Callable[[int], bytes], own: int, good: int, stop: int, most_wasted: float | None) -> Case:
    """Good pages, and a domain each of whose hosts leads to five more of them and to as many pages of its own."""

    def at(host: str, path: str) -> bytes | None:
        if host == "good.test":
            number = 0 if path == "/" else int(path[2:]) if re.fullmatch(r"/p\d+", path) else good
            to = [f"/p{other}" for other in range(1, good)] if number == 0 else []
            return page([*to, "http://h0.farm.test/"], number) if number < good else None
        match = re.fullmatch(r"h(\d+)\.farm\.test", host)
        nth = 0 if path == "/" else int(path[4:]) if re.fullmatch(r"/own\d+", path) else own + 1
        if not match or nth > own:
            return None
        number = int(match[1])
        to = [f"http://h{5 * number + other}.farm.test/" for other in range(1, 6)] + [f"/own{other}" for other in range(1, own + 1)]
        return b"<!doctype html>" + links(to if nth == 0 else []) + says(10_000 + number * (own + 1) + nth)

    return Case(["http://good.test/"], at, lambda host, path: host == "good.test" and at(host, path) is not None, good, most_wasted, stop=stop)


def blogs(posts: int, beside: int) -> Case:
    """400 blogs of one domain that a hub lists, which has pages of its own."""

    def at(host: str, path: str) -> bytes | None:
        if host == "hub.test":
            number = 0 if path == "/" else int(path[2:]) if re.fullmatch(r"/p\d+", path) else beside
            to = [f"http://b{blog}.blogs.test/" for blog in range(400)] if number == 0 else []
            return page([*to, f"/p{number + 1}"] if number + 1 < beside else to, number) if number < beside else None
        match = re.fullmatch(r"b(\d+)\.blogs\.test", host)
        nth = 0 if path == "/" else int(path[5:]) if re.fullmatch(r"/post\d+", path) else posts
        if not match or nth >= posts:
            return None
        to = [f"/post{other}" for other in range(1, posts)] if nth == 0 else []
        return page([*to, f"http://b{(int(match[1]) + 1) % 400}.blogs.test/"], 1000 + int(match[1]) * posts + nth)

    return Case(["http://hub.test/"], at, lambda host, path: at(host, path) is not None, beside + 400 * posts)


def cases() -> dict[str, Callable[[], Case | None]]:
    pages = manual()

    def of_manual(case: Callable[[], Case]) -> Callable[[], Case | None]:
        return case if pages else lambda: None

    def versions(count: int) -> list[str]:
        return [f"3.{version}/" for version in range(8, 8 + count)]

    languages = [f"{language}/{version}" for language in ("de", "en", "fr", "ja") for version in versions(4)]
    return {
        "six-versions": of_manual(lambda: beside_each_other(pages, versions(6))),
        "sixteen-seeds": of_manual(lambda: seeds_with_a_manual(pages)),
        "thirty-versions": of_manual(lambda: beside_each_other(pages, versions(30))),
        "root-and-six": of_manual(lambda: beside_each_other(pages, ["", *versions(6)])),
        "languages": of_manual(lambda: beside_each_other(pages, languages)),
        "equal-seeds": seeds_with_equal_pages,
        "calendar": calendar,
        "sessions": lambda: Sessions(500, titles=False, stop=10_000, most_requests=3_000, most_wasted=None).case,
        "titles": lambda: Sessions(1_000, titles=True, stop=10_000, most_requests=None, most_wasted=0.45).case,
        "shells": lambda: of_items(shell),
        "noscript": lambda: of_items(noscript),
        "photos": lambda: of_items(photo),
        "owners": lambda: of_items(owned),
        "threads": lambda: of_items(thread),
        "builds": hashed_versions,
        "farm-x": lambda: farm(lambda _: b"x", own=0, good=301, stop=2_000, most_wasted=0.45),
        "farm-drawn": lambda: farm(text, own=0, good=301, stop=2_000, most_wasted=0.45),
        "farm-thick": lambda: farm(text, own=5, good=1_001, stop=6_000, most_wasted=None),
        "blogs": lambda: blogs(6, 100),
        "ring": lambda: blogs(1, 1),
    }


class Server(asyncio.Protocol):
    """HTTP/1.1 with connections that stay open. What was asked for is counted in `asked`, and stands in its order in `order`."""

    answer: Answer
    asked: Counter[tuple[str, str]]
    order: list[tuple[str, str]]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
            lines = head.decode("latin-1").split("\r\n")
            path = lines[0].split(" ")[1]
            host = next(line[5:].strip() for line in lines if line.lower().startswith("host:")).split(":")[0]
            body = None
            if path != "/robots.txt":
                Server.asked[host, path] += 1
                Server.order.append((host, path))
                body = Server.answer(host, path)
            status, body = (b"404 Not Found", b"") if body is None else (b"200 OK", body)
            answer = b"HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
            self.transport.write(answer + body)


def serve() -> int:
    """Serves on a thread of its own until the process ends. Returns the port."""
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(Server, "127.0.0.1", 0, backlog=4096))
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return server.sockets[0].getsockname()[1]


def run(command: list[str | Path], variables: dict[str, str], directory: str) -> None:
    """Runs it where no settings file is. What it says goes to the terminal only where it fails."""
    ran = subprocess.run(command, env=os.environ | variables, cwd=directory, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if ran.returncode != 0:
        sys.stderr.buffer.write(ran.stderr[-4000:])


def crawl(ours: Path, case: Case, port: int) -> float:
    """Crawls it, and says for how many seconds."""
    Server.answer, Server.asked, Server.order = case.answer, Counter(), []
    variables = SETTINGS | {"CRAWLER_FETCH_RESOLVE_ALL_TO": f"127.0.0.1:{port}"}
    with tempfile.TemporaryDirectory() as directory:
        seeds = Path(directory) / "seeds.txt"
        seeds.write_text("\n".join(case.seeds) + "\n")
        command = [ours, "--seeds", seeds, "--scope", case.scope, "--job", Path(directory) / "job", "-q"]
        command += ["--max-pages", str(case.stop or MOST)]
        begin = time.monotonic()
        run(command, variables, directory)
        return time.monotonic() - begin


def judge(name: str, case: Case, seconds: float) -> bool:
    requests = max(1, Server.asked.total())
    there = [key for key in Server.asked if case.wanted(*key)]
    last = next((at for at, key in zip(range(len(Server.order), 0, -1), reversed(Server.order)) if case.wanted(*key)), 0)
    # A page in many sessions is one page.
    got = len({re.sub(r"^/s/[0-9a-f]+/", "/", path) + host for host, path in there} - {"/page-0site.test"})
    wasted = 1 - got / requests
    is_right = got >= case.share * case.count
    is_right &= case.most_requests is None or requests <= case.most_requests
    is_right &= case.most_wasted is None or wasted <= case.most_wasted
    bar = f"{case.count:,}"
    if case.most_requests is not None:
        bar += f", at most {case.most_requests:,} requests"
    if case.most_wasted is not None:
        bar += f", at most {case.most_wasted:.0%} wasted"
    if case.stop is not None:
        bar += f", within {case.stop:,} pages"
    print(f"{name}: {got:,} of {bar}; {requests:,} requests, {wasted:.0%} wasted, the last of use is number {last:,}, {seconds:.0f} s: {'good' if is_right else 'NOT GOOD'}", flush=True)
    return is_right


def simulated(ours: Path) -> bool:
    """The simulated web with traps, and the same without: all true pages, by at most 1.1 times the requests."""
    requests, pages = {}, {}
    for trap in ("false", "true"):
        variables = SETTINGS | {"CRAWLER_SIMULATE_TRAP": trap, "CRAWLER_SIMULATE_PAGES": "60000", "CRAWLER_SIMULATE_HOSTS": "40"}
        variables |= {"CRAWLER_SIMULATE_LATENCY": "0s", "CRAWLER_SIMULATE_CRAWL_DELAY": "0s", "CRAWLER_SIMULATE_RETRY_AFTER": "0"}
        with tempfile.TemporaryDirectory() as directory:
            job = Path(directory) / "job"
            command = [ours, "--simulate", "--scope", "any", "--job", job, "-q", "--max-pages", str(MOST)]
            run(command, variables, directory)
            judgment = json.loads((job / "report.json").read_bytes())["simulated"]
        requests[trap], pages[trap] = judgment["requests"], (judgment["fetched"], judgment["reachable"])
    ratio = requests["true"] / requests["false"]
    fetched, reachable = pages["true"]
    is_right = ratio <= 1.1 and fetched == reachable
    print(f"simulated: {fetched:,} of {reachable:,}; {requests['true']:,} requests, {ratio:.3f} times those without traps: {'good' if is_right else 'NOT GOOD'}")
    return is_right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help="all where none is named")
    parser.add_argument("--ours", type=Path, help="the command, instead of a build of this tree")
    parser.add_argument("--list", action="store_true", help="names the cases")
    arguments = parser.parse_args()
    known = cases()
    if arguments.list:
        print(*known, "simulated", sep="\n")
        return
    unknown = set(arguments.cases) - known.keys() - {"simulated"}
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}; --list names them")
    root = Path(__file__).resolve().parent.parent
    ours = (arguments.ours or root / "target/release/crawler").resolve()
    if arguments.ours is None:
        subprocess.run(["cargo", "build", "--release", "--locked"], cwd=root, check=True)
    port = serve()
    are_right = []
    for name in arguments.cases or [*known, "simulated"]:
        if name == "simulated":
            are_right.append(simulated(ours))
        elif case := known[name]():
            are_right.append(judge(name, case, crawl(ours, case, port)))
        else:
            print(f"{name}: left out, since {MANUAL} is not there: apt-get install python3.11-doc", flush=True)
    sys.exit(not all(are_right))


if __name__ == "__main__":
    main()
