"""Draws the README's picture: what a command shows in a terminal, as SVG.

`python3 docs/picture.py COMMAND ARGUMENT... > docs/report.svg` runs the command in a pseudo-terminal of 100 columns. Colors, bold and dim text
are kept; what moves the cursor is not understood, so give it a command without a progress bar.
"""

import fcntl
import html
import os
import pty
import re
import struct
import sys
import termios

COLUMNS = 84
CELL, LINE, EDGE = 8.43, 19, 16
COLORS = {"30": "#6e7681", "31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea"}


def shown(command: list[str]) -> str:
    """What the command writes to a terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 60, COLUMNS, 0, 0))
    written = b""
    while True:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:  # Its last process has ended.
            piece = b""
        if not piece:
            break
        written += piece
    _, status = os.waitpid(child, 0)
    if status:
        sys.exit(f"{command[0]} failed: {written.decode(errors='replace')}")
    return written.decode().replace("\r\n", "\n")


def spans(line: str) -> str:
    """A line's text, styled as its escape sequences say."""
    drawn, style = [], {}
    for code, text in re.findall(r"(?:\x1b\[([0-9;]*)m)?([^\x1b]*)", line):
        for part in code.split(";"):
            if part in ("", "0"):
                style = {} if code or not text else style
            elif part == "1":
                style["font-weight"] = "bold"
            elif part == "2":
                style["opacity"] = "0.6"
            elif part in COLORS:
                style["fill"] = COLORS[part]
        if text:
            marks = "".join(f' {name}="{value}"' for name, value in style.items())
            drawn.append(f"<tspan{marks}>{html.escape(text)}</tspan>")
    return "".join(drawn)


def picture(command: str, text: str) -> str:
    lines = [f"\x1b[2m$\x1b[0m \x1b[1m{command}\x1b[0m", *text.rstrip("\n").split("\n")]
    width, height = round(COLUMNS * CELL + 2 * EDGE), len(lines) * LINE + 2 * EDGE
    rows = "\n".join(
        f'<text x="{EDGE}" y="{EDGE + (number + 1) * LINE - 5}">{spans(line)}</text>' for number, line in enumerate(lines) if line
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        "<style>text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #e6edf3; white-space: pre }</style>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n{rows}\n</svg>\n'
    )


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    command = sys.argv[1:]
    sys.stdout.write(picture(" ".join([os.path.basename(command[0]), *command[1:]]), shown(command)))
