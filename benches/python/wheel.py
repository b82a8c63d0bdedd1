#!/usr/bin/env python3
"""Builds the wheel that is published, and says what it is: `python3 benches/python/wheel.py [--wheel FILE] [--turns 15]`.

It is built against glibc 2.17 by zig (from PyPI, as `ziglang`), with the profile `dist`: some minutes. `--wheel` takes one that is there. Then it is
installed into a fresh environment and imported, in processes of their own, each of which says how much time of the processor that took.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import zipfile

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"
TOOLS = ["maturin==1.16.0", "ziglang==0.17.1"]
IMPORT = "import time; began = time.process_time(); import crawler_frontier; print(1e3 * (time.process_time() - began))"


def venv(at: pathlib.Path, *packages: str) -> pathlib.Path:
    """A fresh environment with these packages; its `bin`."""
    subprocess.run([sys.executable, "-m", "venv", at], check=True)
    subprocess.run([at / "bin/pip", "install", "--quiet", *packages], check=True)
    return at / "bin"


def build(directory: pathlib.Path) -> pathlib.Path:
    tools = venv(directory / "tools", *TOOLS)
    path = f"{tools}:{os.environ['PATH']}"
    command = ["maturin", "build", "--locked", "--zig", "--compatibility", "manylinux2014", "--profile", "dist"]
    command += ["--target", "x86_64-unknown-linux-gnu", "--out", str(directory)]
    subprocess.run(command, check=True, cwd=PYTHON, env={**os.environ, "PATH": path})
    return next(directory.glob("*.whl"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=15)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        wheel = given.wheel or build(directory)
        with zipfile.ZipFile(wheel) as files:
            library = files.read("crawler_frontier/_native.abi3.so")
        needed = {tuple(map(int, version.split(b"."))) for version in re.findall(rb"GLIBC_(2\.\d+)", library)}
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, its library {len(library):,}")
        print(f"it needs glibc {'.'.join(map(str, max(needed)))}")
        fresh = venv(directory / "fresh", str(wheel))
        times = [
            float(subprocess.run([fresh / "python", "-c", IMPORT], capture_output=True, check=True).stdout)
            for _ in range(given.turns)
        ]
        print(f"import: {statistics.median(times):.2f} ms of the processor (least {min(times):.2f}, {given.turns} turns)")


if __name__ == "__main__":
    main()
