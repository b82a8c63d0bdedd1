"""What the default budgets lose of real documentation: `python3 benches/peers/defaults.py CRAWLER`.

nginx serves the corpus `real` on loopback, and the command crawls it with the budgets of a user. Links that say nofollow are followed, and a page may
have any number. Each page that links lead to, as another parser finds them, must be fetched. The status is 1 if one is missing.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import peers
from corpus import assemble, corpora
from measure import run as measured
from run import enter_namespace, expected, key_of
from serve import Server
from whole import SETTINGS


def main() -> None:
    cache = Path.home() / ".cache" / "crawler-peers"
    corpus = corpora(cache)["real"]
    enter_namespace(cache, sorted(corpus.hosts))
    assemble(cache, corpus)
    wanted = expected(cache, corpus)
    os.environ.update(SETTINGS)
    ours = peers.Ours(cache, Path(sys.argv[1]).resolve(), [])
    ours.prepare()
    work = cache / "defaults"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    with Server(corpus, work / "nginx", work):
        ran = measured(ours.command(corpus, work), work / "log", 1800)
    lines = (work / "job" / "pages.jsonl").open(encoding="utf-8")
    records = [json.loads(line) for line in lines]
    missing = sorted(wanted - {key_of(record["url"]) for record in records if record["status"] == 200})
    refused = json.loads((work / "job" / "report.json").read_text())["urls"]["refused"]
    budgets = {name: count for name, count in refused.items() if count and name.startswith(("barren", "known_"))}
    print(f"{len(wanted)} pages that links lead to, {len(missing)} missing; {len(records)} records, {ran.cpu:.1f} s of CPU, {ran.peak:.0f} MB")
    print(f"refused by budgets: {budgets}")
    print(*missing[:20], sep="\n")
    sys.exit(bool(missing) or ran.status)


if __name__ == "__main__":
    main()
