"""Times `crawler seen uniq` beside awk, `huniq` and `runiq`, which print the lines that are new too.

`uniq.py [--lines 10000000] [--turns 3] [--program target/dist/crawler]` makes lines of 68 bytes, of which 59 % are new, and gives them
to each program in turns: seconds by the clock, CPU seconds, peak memory, and the lines that it prints. The second table is of URLs, on
all cores and on one. Ratios are medians of those of a turn. A program that prints another number of lines than there are new ones has
lost some, and fails the run.

`huniq` and `runiq` are installed from the Cargo registry into target/uniq; `--only uniq,mawk` runs those alone that are named.
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "target" / "uniq"
NEW = 0.59
BYTES = 68
OURS, SIZED = "seen uniq --raw", "seen uniq --raw --expect-new"
ALL, ONE = "seen uniq, all cores", "seen uniq, one core"


@dataclass(frozen=True)
class Run:
    """Seconds, and MB of 10^6 bytes."""

    wall: float
    cpu: float
    peak: float
    printed: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--program", type=Path, default=ROOT / "target" / "dist" / "crawler", help="as it is shipped")
    parser.add_argument("--only", default="", help="parts of names, with commas between them")
    arguments = parser.parse_args()
    if not arguments.program.exists():
        sys.exit(f"{arguments.program} is not there: cargo build --profile dist --features jemalloc")

    FOLDER.mkdir(parents=True, exist_ok=True)
    program = str(arguments.program.resolve())
    lines, new = make(arguments.lines, "{:020x}" + "-" * (BYTES - 21))
    urls, new_urls = make(arguments.lines, "https://www.example.org/catalogue/books/fiction/{:015x}.html")
    raw = [program, "seen", "uniq", "--raw"]
    rows = {
        OURS: raw,
        SIZED: [*raw, "--expect-new", str(new)],
        "mawk": ["mawk", "!seen[$0]++"],
        "gawk": ["gawk", "!seen[$0]++"],
        "huniq": [str(FOLDER / "bin" / "huniq")],
        "runiq": [str(FOLDER / "bin" / "runiq"), "-"],
    }
    race(chosen(rows, arguments.only), lines, new, arguments.turns, SIZED)
    keyed = [program, "seen", "uniq"]
    race(chosen({ALL: keyed, ONE: ["taskset", "-c", "0", *keyed]}, arguments.only), urls, new_urls, arguments.turns, ALL)


def chosen(rows: dict[str, list[str]], only: str) -> dict[str, list[str]]:
    """Those that are wanted and there, or can be had."""
    there = {}
    for name, command in rows.items():
        if only and not any(part in name for part in only.split(",")):
            continue
        if name in ("huniq", "runiq") and not Path(command[0]).exists():
            subprocess.run(["cargo", "install", "--quiet", "--locked", "--root", FOLDER, name], check=True)
        if shutil.which(command[0]):
            there[name] = command
        else:
            print(f"no {command[0]}: {name} is left out")
    return there


def make(count: int, shape: str) -> tuple[Path, int]:
    """A file of so many lines, and how many are new: the others are any of those before, each with the same chance."""
    path = FOLDER / f"{'urls' if '://' in shape else 'lines'}-{count}"
    generator, new = random.Random(7), 0
    scratch = path.with_suffix(".new")
    with open(scratch, "w", buffering=1 << 20) as file:
        for _ in range(count):
            if new == 0 or generator.random() < NEW:
                new += 1
                place = new
            else:
                place = generator.randrange(new) + 1
            # Spread, so that neighbors have no beginning in common.
            file.write(shape.format(place * 0x9E3779B97F4A7C15 % (1 << 60)) + "\n")
    scratch.rename(path)
    return path, new


def race(rows: dict[str, list[str]], lines: Path, new: int, turns: int, against: str) -> None:
    """Runs each in turns, prints what they took, and what the others took beside `against`."""
    runs: dict[str, list[Run]] = {name: [] for name in rows}
    for turn in range(turns):
        names = list(rows)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            runs[name].append(run(rows[name], lines))
    print(f"\n{lines.name}, {new:,} of them new, {turns} turns, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{'':<30}{'s':>8}{'CPU s':>8}{'MB':>8}{'times s':>9}{'CPU':>7}{'memory':>8}")
    for name, these in runs.items():
        first = runs.get(against, these)
        line = f"{name:<30}{median(r.wall for r in these):>8.2f}{median(r.cpu for r in these):>8.2f}{median(r.peak for r in these):>8.0f}"
        pairs = list(zip(these, first))
        line += f"{median(a.wall / b.wall for a, b in pairs):>9.2f}{median(a.cpu / b.cpu for a, b in pairs):>7.2f}"
        print(line + f"{median(a.peak / b.peak for a, b in pairs):>8.1f}")
    wrong = [f"{name} printed {r.printed:,} of {new:,}" for name, these in runs.items() for r in these if r.printed != new]
    if wrong:
        sys.exit("\n".join(wrong))


def median(values) -> float:
    return statistics.median(values)


def run(command: list[str], lines: Path) -> Run:
    """Its lines are counted by another process, on whichever core is free, so each pays for writing them."""
    with open(lines, "rb") as source:
        begin = time.monotonic()
        process = subprocess.Popen(command, stdin=source, stdout=subprocess.PIPE)
        counter = subprocess.Popen(["wc", "-l"], stdin=process.stdout, stdout=subprocess.PIPE, text=True)
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        printed, _ = counter.communicate()
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {process.returncode}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6, int(printed))


if __name__ == "__main__":
    main()
