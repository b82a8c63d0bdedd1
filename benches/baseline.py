"""Counts the instructions of one fixed crawl (valgrind's callgrind) and holds them against `BASELINE.md`.

`baseline.py [--profile dev|bench]` prints the ratio and fails above 1.03; `--write` makes today's count the baseline. Where the
compiler is another than the baseline's, the ratio is printed and nothing fails.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASELINE = HERE / "BASELINE.md"
MOST = 1.03
_ROW = re.compile(r"^\| (?P<profile>\w+) \| (?P<count>[\d,]+) \| (?P<compiler>[^|]+?) \|$", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=["dev", "bench"], default="bench", help="as cargo builds it; CI has dev built already")
    parser.add_argument("--write", action="store_true", help="make this the baseline")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("no valgrind (Debian: valgrind)")

    compiler = output(["rustc", "--version"]).strip()
    counted = count(build(arguments.profile))
    text = BASELINE.read_text()
    row = next((row for row in _ROW.finditer(text) if row["profile"] == arguments.profile), None)
    if row is None:
        sys.exit(f"{BASELINE.name} has no row for {arguments.profile}")
    baseline = int(row["count"].replace(",", ""))
    ratio = counted / baseline
    print(f"{arguments.profile}: {counted:,} instructions; baseline {baseline:,} ({row['compiler']}); ratio {ratio:.4f}")
    if arguments.write:
        new = f"| {arguments.profile} | {counted:,} | {compiler} |"
        BASELINE.write_text(text[: row.start()] + new + text[row.end() :])
    elif compiler != row["compiler"]:
        print(f"not judged: this is {compiler}")
    elif ratio > MOST:
        sys.exit(f"more than {MOST} times the baseline: find out why, or say why in a commit that runs this with --write")


def build(profile: str) -> str:
    """The benchmark's program."""
    command = ["cargo", "build", "--locked", "--quiet", "--profile", profile, "--bench", "crawl", "--message-format=json"]
    for line in output(command).splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "crawl":
            return message["executable"]
    sys.exit("cargo names no program")


def count(program: str) -> int:
    """Instructions of the crawl's process; the web is served by another, which is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, "fixed"]
        result = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or found is None:
        sys.exit(result.stdout + result.stderr)
    return int(found[1])


def output(command: list[str]) -> str:
    return subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, check=True, text=True).stdout


if __name__ == "__main__":
    main()
