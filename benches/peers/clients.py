"""`direct` and `reqwest` in turns: `python3 benches/peers/clients.py CRAWLER [CORPUS] [TURNS]`, by default `real` and 5.

Each turn crawls 10,000 pages of the corpus with one client and then with the other, in changing order. Printed are the medians of pages a second,
microseconds of CPU a page, MB and connections, and the medians of the ratios in pairs. `real-tls` is the same corpus over TLS.
"""

import shutil
import sys
from pathlib import Path
from statistics import median

import peers
from corpus import assemble, corpora
from measure import run as measured
from run import enter_namespace
from serve import Server, authority

CLIENTS = ("direct", "reqwest")


def main() -> None:
    crawler, name, turns = [*sys.argv[1:], *["real", "5"][len(sys.argv) - 2 :]]
    cache = Path.home() / ".cache" / "crawler-peers"
    webs = corpora(cache)
    enter_namespace(cache, sorted({host for web in webs.values() if web.is_named for host in web.hosts}))
    web, work = webs[name], cache / "clients"
    assemble(cache, web)
    rows: dict[str, list[tuple[float, float, float, int]]] = {client: [] for client in CLIENTS}
    for turn in range(int(turns)):
        for client in CLIENTS if turn % 2 == 0 else reversed(CLIENTS):
            ours = peers.Ours(cache, Path(crawler).resolve(), ["--client", client, "--max-pages", "10000"])
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            trusted = {"SSL_CERT_FILE": str(authority(cache / "keys"))} if web.scheme == "https" else {}
            with Server(web, work / "nginx", cache / "keys") as server:
                ran = measured(ours.command(web, work), work / "log", 600, ours.environment() | trusted)
            seen = server.view()
            pages = len(seen.keys())
            rows[client].append((pages / ran.wall, ran.cpu / pages * 1e6, ran.peak, seen.connections))
    for client, row in rows.items():
        rate, cpu, memory, connections = map(median, zip(*row))
        print(f"{client}: {rate:.0f} pages/s, {cpu:.1f} us a page, {memory:.0f} MB, {connections:.0f} connections")
    rates, cpus = (median(reqwest[at] / direct[at] for direct, reqwest in zip(rows["direct"], rows["reqwest"])) for at in (0, 1))
    print(f"reqwest / direct: {cpus:.3f} times the CPU, {rates:.3f} times the pages/s")


if __name__ == "__main__":
    main()
