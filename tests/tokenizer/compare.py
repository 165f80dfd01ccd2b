"""Compares the ids of internal/wordpiece with those of the reference: over the
built-in vocabulary, and over one of single characters, where no character is
unknown that could be a word; for random texts, and for every character.

    compare.py PROGRAM MODEL [SEED]
"""

import base64
import pathlib
import subprocess
import sys
import tempfile

from reference import SURROGATES, ids, reference, texts, vocabulary

COUNT = 30_000


def single_characters():
    """[UNK], and what the table of characters knows, alone and within a word."""
    table = pathlib.Path(__file__).resolve().parents[2] / "internal" / "wordpiece" / "unicode.txt"
    chars = set(map(chr, range(0x21, 0x250)))
    for line in table.read_text().splitlines():
        if line.startswith("#") or line.startswith(("drop", "space", "mark")):
            continue
        what, span, *rest = line.split()
        first, *last = (int(x, 16) for x in span.split("-"))
        chars.update(map(chr, range(first, min(first + 200, last[0] if last else first) + 1)))
        if what != "order":
            span = last[0] - first if last else 0
            chars.update(chr(int(x, 16) + i) for x in rest for i in range(span + 1))
    chars = sorted(chars)
    return ["[UNK]", *chars, *("##" + c for c in chars if c != "#")]


def every_character():
    """Texts that hold each character once, within words of a letter or a mark."""
    chars = [chr(c) for c in range(0x110000) if c not in SURROGATES]
    for i in range(0, len(chars), 50):
        yield " ".join("a" + c + ("e" if j % 2 else "\u0301b") for j, c in enumerate(chars[i : i + 50])).encode()


def compare(program, tokens, data):
    """Returns how many texts were compared; ends the program at a difference."""
    want = ids(reference(tokens), [d.decode("utf-8", "replace") for d in data])
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="") as f:
        f.write("\n".join(tokens))
        f.flush()
        stdin = b"".join(base64.b64encode(d) + b"\n" for d in data)
        out = subprocess.run([program, f.name], input=stdin, stdout=subprocess.PIPE, check=True).stdout
    got = [[int(x) for x in line.split()] for line in out.decode().removesuffix("\n").split("\n")]
    assert len(got) == len(want) == len(data), (len(got), len(want), len(data))
    for text, g, w in zip(data, got, want):
        if g != w:
            at = next((i for i, (a, b) in enumerate(zip(g, w)) if a != b), min(len(g), len(w)))
            show = lambda row: [tokens[i] for i in row[max(0, at - 2) : at + 3]]
            sys.exit(f"text      {text!r}\nwanted    {w}\ngot       {g}\nat {at}: wanted {show(w)!a}, got {show(g)!a}")
    return len(data)


def main():
    program, model = sys.argv[1:3]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    data = [*texts(seed, COUNT), *every_character()]
    for name, tokens in (("built-in vocabulary", vocabulary(model)), ("single characters", single_characters())):
        print(f"{name}: {compare(program, tokens, data)} texts equal", flush=True)


main()
