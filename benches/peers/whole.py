"""A crawl that keeps everything, killed again and again, on 55,000 real pages: `python3 benches/peers/whole.py [--ours CRAWLER] [--kills 8]`.

nginx serves the corpus `real` on loopback. The command crawls it with `--warc --links --resources`, is killed so many times (SIGKILL, at random
moments) and resumed. Links that say nofollow are followed, and a page may have any number. Then others judge: what links and resources lead to is
found in the files by another parser (lexbor) and another way to join URLs, and must be what has a record with status 200; each record's response
must be in the archive once, and warcio must find each digest right; each page's links must be in links.jsonl once. What budgets refuse is told:
folders of which nothing is there. At last stands the CPU of a page with everything on, and with records alone, each without a kill.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from pathlib import Path
from urllib.parse import unquote, urlsplit

import address
import peers
from corpus import Corpus, assemble, corpora
from measure import run as measured
from run import enter_namespace
from serve import Server

EVERYTHING = ["--warc", "--links", "--resources"]
SETTINGS = {"CRAWLER_PARSE_NOFOLLOW": "false", "CRAWLER_PARSE_MAX_LINKS": "1_000_000"}
_CHOICE = (
    "a[href], area[href], frame[src], iframe[src], base[href], meta[http-equiv], link[rel], img, input, video, audio, source, track, embed, script, "
    "object[data], body[background], table[background], td[background], th[background], tr[background], svg a, svg image, svg use"
)
_FOLLOWED = {"alternate", "canonical", "next", "prev"}
_PARTS = {"stylesheet", "icon", "apple-touch-icon", "mask-icon", "preload", "modulepreload", "manifest"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument("--cache", type=Path, default=home / "crawler-peers", help="as of run.py")
    parser.add_argument("--ours", type=Path, help="the command, instead of a build of this tree")
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1, help="of the moments of the kills")
    parser.add_argument("--turns", type=int, default=2, help="of the crawls whose CPU is measured")
    arguments = parser.parse_args()
    cache: Path = arguments.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    python = peers.environment_of_python(cache, "whole", ["selectolax", "warcio==1.8.1"])
    if Path(sys.executable).resolve() != Path(python).resolve() or sys.prefix == sys.base_prefix:
        os.execv(python, [str(python), *sys.argv])
    corpus = corpora(cache)["real"]
    enter_namespace(cache, sorted(corpus.hosts))
    assemble(cache, corpus)
    ours = peers.Ours(cache, arguments.ours.resolve() if arguments.ours else None, [])
    ours.prepare()
    work = cache / "whole"
    os.environ.update(SETTINGS)
    wanted = expected(cache, corpus)
    print(f"{len(wanted)} URLs are led to, and there", flush=True)

    subprocess.run(["rm", "-rf", work], check=True)
    (work / "killed").mkdir(parents=True)
    with Server(corpus, work / "nginx", work):
        killed(ours, corpus, work / "killed", arguments.kills, random.Random(arguments.seed))
        is_right = judge(work / "killed" / "job", wanted)
        for name, more in arguments.turns * [("records alone", []), ("everything", EVERYTHING)]:
            place = work / name
            subprocess.run(["rm", "-rf", place], check=True)
            place.mkdir()
            ran = measured([*ours.command(corpus, place), *more], place / "log", 1800)
            records = (place / "job" / "pages.jsonl").read_bytes().count(b"\n")
            size = sum(file.stat().st_size for file in (place / "job").rglob("*") if file.is_file())
            print(
                f"{name}: {ran.cpu:.1f} CPU s, {records} records, {1e6 * ran.cpu / records:.0f} us each, {ran.peak:.0f} MB, "
                f"{size / 1e6:.0f} MB on disk, ended with {ran.status}",
                flush=True,
            )
    sys.exit(not is_right)


def killed(ours: peers.Ours, corpus: Corpus, work: Path, kills: int, chance: random.Random) -> None:
    """Crawls to the end, over so many kills."""
    first = [*ours.command(corpus, work), *EVERYTHING]
    done = 0
    with open(work / "log", "ab") as log:
        while True:
            resumed = [first[0], "resume", str(work / "job"), "--no-progress", "-q"]
            begun = (work / "job" / "manifest").exists()
            process = subprocess.Popen(resumed if begun else first, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            try:
                status = process.wait(chance.uniform(0.3, 6.0) if done < kills else 1800)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                done += 1
                continue
            if status != 0:
                sys.exit(f"the crawl ended with {status}: see {work}/log")
            print(f"crawled over {done} kills", flush=True)
            return


def judge(job: Path, wanted: set[str]) -> bool:
    """Compares what the crawl has kept with what there is."""
    from warcio.archiveiterator import ArchiveIterator

    begun = time.monotonic()
    records = [json.loads(line) for line in (job / "pages.jsonl").open(encoding="utf-8")]
    urls = Counter(record["url"] for record in records)
    fetched = {address.key_of(record["url"]) for record in records if record["status"] == 200 and not record["error"]}
    archived: Counter[str] = Counter()
    digests: Counter[str] = Counter()
    types: Counter[str] = Counter()
    for file in sorted(job.glob("*.warc.gz")):
        with open(file, "rb") as stream:
            for record in ArchiveIterator(stream, check_digests=True):
                types[record.rec_type] += 1
                record.content_stream().read()
                digests["right" if record.digest_checker.passed else "WRONG" if record.digest_checker.passed is False else "none"] += 1
                if record.rec_type in ("response", "revisit"):
                    archived[record.rec_headers.get_header("WARC-Target-URI")] += 1
    edges, last, linking = 0, None, Counter()
    for line in (job / "links.jsonl").open(encoding="utf-8"):
        page = json.loads(line)["from"]
        edges += 1
        linking[page] += page != last
        last = page
    report = json.loads((job / "report.json").read_text())
    answered = {record["url"] for record in records if record["status"] is not None}
    statuses = Counter(record["status"] for record in records)
    duplicates = Counter(record.get("duplicate") for record in records)
    rows = {
        "missed": len(wanted - fetched),
        "not led to": len(fetched - wanted),
        "records twice": sum(urls.values()) - len(urls),
        "not in the archive": sum(archived[url] == 0 for url in answered),
        "in the archive twice": sum(archived[url] > 1 for url in answered),
        "digests wrong": digests["WRONG"],
        "pages whose links are there twice": sum(times > 1 for times in linking.values()),
        "links of no page": len(linking.keys() - urls.keys()),
        "requests too early": report["politeness"]["violations"],
    }
    print(f"{len(records)} records, by status {dict(statuses)}; duplicates {duplicates['same']} same, {duplicates['near']} near", flush=True)
    print(f"archive: {dict(types)}; digests {dict(digests)}; {edges} links of {len(linking)} pages; judged in {time.monotonic() - begun:.0f} s")
    barren = {name: count for name, count in report["urls"]["refused"].items() if name.startswith(("barren", "known_"))}
    print(f"refused by budgets: {barren}")
    for name, count in rows.items():
        print(f"  {name}: {count}")
    for name, some in (("missed", wanted - fetched), ("not led to", fetched - wanted)):
        for url in sorted(some)[:10]:
            print(f"    {name}: {url}")
    return not any(rows.values())


def expected(cache: Path, corpus: Corpus) -> set[str]:
    """The keys of all that is to be fetched: found once, then kept beside the corpus until that or this file is another."""
    kept = cache / "everything-real.txt"
    newest = max((corpus.root / ".done").stat().st_mtime, Path(__file__).stat().st_mtime)
    if not kept.exists() or kept.stat().st_mtime < newest:
        kept.write_text("".join(f"{key}\n" for key in sorted(closure(corpus))))
    return set(kept.read_text().splitlines())


def closure(corpus: Corpus) -> set[str]:
    """The keys of all that links and resources lead to and that is there, from the files."""
    known: dict[str, tuple[str | None, list[str]]] = {}
    seen = {address.key_of(seed) for seed in corpus.seeds}
    waiting = deque(corpus.seeds)
    found = set()
    while waiting:
        url = waiting.popleft()
        parts = urlsplit(url)
        path = f"{corpus.root}/{parts.hostname}{unquote(parts.path, errors='surrogateescape')}"
        onward: list[str] = []
        if address.is_malformed(parts.path):
            continue
        if os.path.isdir(path) and not path.endswith("/"):
            onward = [f"{parts.scheme}://{parts.netloc}{parts.path}/" + (f"?{parts.query}" if parts.query else "")]
        else:
            path += "index.html" if path.endswith("/") else ""
            if not os.path.isfile(path):
                continue
            found.add(address.key_of(url))
            if path.endswith((".html", ".htm", ".shtml")):
                file = os.path.realpath(path)
                if file not in known:
                    known[file] = hrefs(Path(file).read_bytes())
                base, written = known[file]
                base = (address.join(url, base) if base is not None else None) or url
                onward = [link for href in written if (link := address.join(base, href))]
        for link in onward:
            key = address.key_of(link)
            if key not in seen and urlsplit(link).hostname in corpus.hosts and link.startswith(f"{corpus.scheme}:"):
                seen.add(key)
                waiting.append(link)
    return found


def hrefs(page: bytes) -> tuple[str | None, list[str]]:
    """The first `<base href>`, and each link and resource once."""
    from selectolax.lexbor import LexborHTMLParser

    base = None
    found: dict[str, None] = {}
    for node in LexborHTMLParser(page).css(_CHOICE):
        attributes = node.attributes
        if node.tag == "base":
            base = base if base is not None else attributes.get("href")
        elif node.tag == "meta":
            content = attributes.get("content") or ""
            if (attributes.get("http-equiv") or "").lower() == "refresh" and "url=" in content.lower():
                found[content[content.lower().index("url=") + 4 :].strip().strip("'\"")] = None
        elif node.tag == "link":
            relations = set((attributes.get("rel") or "").lower().replace(",", " ").split())
            if relations & (_FOLLOWED | _PARTS) and (attributes.get("href") or "").strip():
                found[attributes["href"]] = None
            if "preload" in relations:
                found.update(images(attributes.get("imagesrcset")))
        elif node.tag in ("a", "area", "image", "use"):
            href = attributes.get("href", attributes.get("xlink:href"))
            # A part of the page itself is no file.
            if href is not None and (node.tag in ("a", "area") or href.split("#")[0].strip()):
                found[href] = None
        elif node.tag != "input" or (attributes.get("type") or "").lower() == "image":
            # Without letters it is no address.
            sources = [attributes.get(name) for name in ("src", "poster", "data", "background", "xlink:href")]
            found.update((source, None) for source in sources if (source or "").split("#")[0].strip())
            if node.tag in ("img", "source"):
                found.update(images(attributes.get("srcset")))
    return base, list(found)


def images(srcset: str | None) -> list[tuple[str, None]]:
    """The addresses of a `srcset`."""
    return [(part.split()[0], None) for part in (srcset or "").split(", ") if part.strip()]


if __name__ == "__main__":
    main()
