"""Pictures of the terminal, as SVG with text that can be selected and scales, made by running the program on a terminal of its own.

    python3 record.py bin/loci docs/pictures           # makes them
    python3 record.py bin/loci docs/pictures --check   # says which no longer show what the program prints
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from html import escape
from pathlib import Path

COLUMNS = 112
SAVE = [
    ["save", "Prefers window seats near the front.", "--tag", "travel"],
    ["save", "Is allergic to peanuts."],
    ["save", "Meets Ann every Tuesday at nine."],
]
SCENES = {
    "demo": ([], ["demo"]),
    "search": (SAVE, ["search", "where do I like to sit on a plane"]),
    "welcome": (SAVE, []),
}
# What is another one each time: ids, dates, times, and versions of a build.
VARYING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]+|\b[0-9a-f]{64}\b|\d{4}-\d\d-\d\d[T ]?[0-9:.]*Z?|\b\d\d:\d\d\b|\b\d+(?:\.\d+)? (?:second|minute|hour)s? ago|just now|Loci \S+,|[…a-f0-9]{6,}|\b[01]\.\d{3}\b")


def on_terminal(program, args, home):
    """What the program shows on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    env = {"HOME": home, "TERM": "xterm-256color", "PAGER": "cat", "PATH": os.environ["PATH"], "TZ": "UTC", "LANG": "C.UTF-8"}
    child = subprocess.Popen([program, *args], stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=home)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # a terminal that nobody holds any more
        pass
    os.close(ours)
    if child.wait(timeout=60) != 0:
        raise SystemExit(f"{args}: exit code {child.returncode}\n{shown.decode()}")
    return shown.decode().replace("\r\n", "\n").replace(home, "~")


def spans(line):
    """The parts of a line with the class of their style."""
    style, out = "", []
    for text in re.split(r"(\x1b\[[0-9;]*m)", line):
        if code := re.fullmatch(r"\x1b\[([0-9;]*)m", text):
            style = {"1": "b", "2": "d"}.get(code[1], "" if code[1] in ("", "0") else "c")
        elif text := re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text):
            out.append((style, text))
    return out


def svg(title, text):
    """The text as a picture in the colours of the reader's scheme."""
    lines = [part.expandtabs(4)[i : i + 240] for part in text.rstrip("\n").split("\n") for i in range(0, max(1, len(part)), 240)]
    rows = []
    for n, line in enumerate(lines):
        inner = "".join(f'<tspan class="{style}">{escape(part)}</tspan>' if style else escape(part) for style, part in spans(line))
        rows.append(f'<text x="16" y="{52 + 20 * n}" xml:space="preserve">{inner}</text>')
    width, height = 32 + round(8.45 * COLUMNS), 72 + 20 * len(lines)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">
<style>
text {{ font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24292f }}
rect {{ fill: #f6f8fa; stroke: #d0d7de }} .b {{ font-weight: bold }} .d {{ fill: #57606a }} .c {{ fill: #0550ae }} circle {{ fill: #d0d7de }}
@media (prefers-color-scheme: dark) {{ text {{ fill: #e6edf3 }} rect {{ fill: #161b22; stroke: #30363d }} .d {{ fill: #8b949e }} .c {{ fill: #79c0ff }} circle {{ fill: #30363d }} }}
</style>
<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>
<circle cx="20" cy="18" r="5"/><circle cx="38" cy="18" r="5"/><circle cx="56" cy="18" r="5"/>
{chr(10).join(rows)}
</svg>
"""


def wrapped(text):
    """The lines as a terminal breaks them."""
    out = []
    for line in text.rstrip("\n").split("\n"):
        line = line.expandtabs(8)
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line)
        while len(plain) > COLUMNS:
            out.append(plain[:COLUMNS])
            line = plain = plain[COLUMNS:]
        out.append(line)
    return "\n".join(out)


def scene(program, name):
    before, args = SCENES[name]
    with tempfile.TemporaryDirectory() as home:
        for words in before:
            on_terminal(program, words, home)
        command = " ".join(["loci", *(f'"{word}"' if " " in word else word for word in args)])
        return svg(f"The terminal after: {command}", f"$ {command}\n" + wrapped(on_terminal(program, args, home)))


def fixed(picture):
    """A picture without what is another one each time, and without where lines break because of it."""
    words = re.sub(r"<[^>]+>", " ", picture.split("</style>")[1])
    return re.sub(r"\s+", "", VARYING.sub("#", words))


def main(program, directory, check=False):
    stale = []
    for name in SCENES:
        picture, path = scene(str(Path(program).resolve()), name), Path(directory) / f"{name}.svg"
        if not check:
            path.write_text(picture)
        elif not path.is_file() or fixed(path.read_text()) != fixed(picture):
            stale.append(str(path))
    if stale:
        raise SystemExit(f"{', '.join(stale)}: the program prints something else now: run make docs-pictures and look at them")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "--check" in sys.argv)
