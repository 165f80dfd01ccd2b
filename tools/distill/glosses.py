"""Texts from WordNet 3.0: definitions, usage examples and the words themselves.

WordNet may be used for any purpose (its licence: docs/model.md). Debian's package
wordnet-base 1:3.0-37 has the files in /usr/share/wordnet.
"""

import hashlib
import random
import re
from pathlib import Path

FILES = {
    "data.noun": "fea17d2f9656611334eac790e5d69e47645fa180c4aa481fb4cd9b3520754ca2",
    "data.verb": "adcf43e35b581e8036d8b5a52d63d9cd3d3b4870b2720d3c03c799df44777bc2",
    "data.adj": "c89120dfc1f046ddff4a631bf9b7e9fa1a36b5e86565a23bf82dbe14f30b88a7",
    "data.adv": "444a63bf3955080ab7524f5079cfc07ff9bc682cb98bdb1db73b0fb9829f1139",
}


def _synsets(directory: Path):
    for name, digest in FILES.items():
        raw = (directory / name).read_bytes()
        if hashlib.sha256(raw).hexdigest() != digest:
            raise SystemExit(f"{directory / name} is not WordNet 3.0: install wordnet-base 1:3.0-37")
        for line in raw.decode("ascii").splitlines():
            if line.startswith("  "):
                continue
            head, gloss = line.split("|", 1)
            fields = head.split()
            count = int(fields[3], 16)
            words = [re.sub(r"\((a|p|ip)\)$", "", w).replace("_", " ") for w in fields[4 : 4 + 2 * count : 2]]
            yield words, gloss.strip()


def texts(directory="/usr/share/wordnet", seed=1):
    """Yields every text once, shuffled."""
    found = {}
    for words, gloss in _synsets(Path(directory)):
        examples = re.findall(r'"([^"]+)"', gloss)
        definition = re.sub(r'[;:]?\s*"[^"]*"[^;]*', "", gloss).strip(" ;")
        definition = re.sub(r"^\([^)]*\)\s*", "", definition)
        for text in words + examples + [definition, f"{words[0]}: {definition}"]:
            if len(text) > 2:
                found[text] = None
    all_texts = list(found)
    random.Random(seed).shuffle(all_texts)
    yield from all_texts
