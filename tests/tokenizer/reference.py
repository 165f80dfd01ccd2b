"""The reference tokenizer, and texts of many scripts to compare with."""

import json
import random
import struct

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SURROGATES = range(0xD800, 0xE000)


def vocabulary(path):
    """The tokens of a model file (its format: embedding/static.go), in order of id."""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"LOCIEMB1", path
    (length,) = struct.unpack("<I", data[8:12])
    offset, size = json.loads(data[12 : 12 + length])["sections"]["vocabulary"]
    start = 12 + length + offset
    return data[start : start + size].decode().split("\n")


def reference(tokens):
    """The tokenizer of bert-base-uncased over these tokens."""
    t = Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in SPECIAL if s in tokens])
    return t


def ids(tokenizer, texts):
    return [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)]


# What texts are made of: ranges of code points, and pieces that are awkward.
RANGES = {
    "ascii": [(0x20, 0x7E)],
    "latin": [(0x41, 0x7A), (0xC0, 0x24F), (0x1E00, 0x1EFF), (0x250, 0x2AF)],
    "accents": [(0x61, 0x7A), (0x300, 0x36F), (0x1AB0, 0x1ACE), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0)],
    "greek": [(0x370, 0x3FF), (0x1F00, 0x1FFF)],
    "cyrillic": [(0x400, 0x52F), (0x1C80, 0x1C8F), (0xA640, 0xA69F)],
    "hebrew": [(0x591, 0x5F4), (0xFB1D, 0xFB4F)],
    "arabic": [(0x600, 0x6FF), (0x750, 0x77F), (0x8A0, 0x8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFF)],
    "indic": [(0x900, 0x97F), (0x980, 0x9FF), (0xA00, 0xA7F), (0xB80, 0xBFF), (0xC00, 0xD7F)],
    "thai": [(0xE00, 0xE7F), (0xE80, 0xEFF)],
    "tibetan": [(0xF00, 0xFFF), (0x1000, 0x109F)],
    "asia": [(0x1700, 0x17FF), (0x1800, 0x18AF), (0x1B00, 0x1BFF), (0xA800, 0xA9FF)],
    "kana": [(0x3040, 0x30FF), (0xFF61, 0xFF9F), (0x4E00, 0x4FFF)],
    "han": [(0x4E00, 0x9FFF)],
    "rare han": [(0x3400, 0x4DBF), (0xF900, 0xFAFF), (0x20000, 0x323AF), (0x2F800, 0x2FA1F)],
    "hangul": [(0xAC00, 0xD7A3)],
    "jamo": [(0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xD7B0, 0xD7FF)],
    "emoji": [(0x1F300, 0x1FAFF), (0x2600, 0x27BF), (0x1F3FB, 0x1F3FF), (0x200D, 0x200D), (0xFE0E, 0xFE0F), (0xE0020, 0xE007F)],
    "controls": [(0x0, 0x1F), (0x7F, 0x9F), (0x61, 0x7A), (0xAD, 0xAD), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xFFF0, 0xFFFF)],
    "spaces": [(0x9, 0xD), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x180E, 0x180E), (0x2000, 0x200A), (0x2028, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0x61, 0x67)],
    "private": [(0xE000, 0xE0FF), (0xF0000, 0xF00FF), (0x10FF00, 0x10FFFF), (0x61, 0x67)],
    "unassigned": [(0x378, 0x379), (0x530, 0x530), (0x2FE0, 0x2FEF), (0xE0080, 0xE00FF), (0x61, 0x67)],
    "symbols": [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E), (0xA1, 0xBF), (0x2010, 0x2052), (0x20A0, 0x20C0), (0x2100, 0x22FF), (0x3001, 0x3030), (0xFE10, 0xFE6F), (0xFF01, 0xFF65), (0x31, 0x39)],
    "music": [(0x1D100, 0x1D1FF), (0x1D400, 0x1D4FF)],
    "marks in any order": [(0x1D165, 0x1D172), (0x302A, 0x302F), (0x1B44, 0x1B44), (0x8D4, 0x902), (0x1E000, 0x1E02A), (0x62, 0x63)],
    "anything": [(0x0, 0xD7FF), (0xE000, 0x10FFFF)],
}
PIECES = [
    "İstanbul", "ıI", "straße", "STRASSE", "ẞ", "ΣΊΣΥΦΟΣ", "ΌΣΟΣ", "naïve", "café", "cafe\u0301", "Zürich", "Ångström", "K", "ﬁne", "ﷺ",
    "שָׁלוֹם", "مُحَمَّد", "हिन्दी", "ภาษาไทย", "日本語", "東京タワー", "한국어", "한", "𠀀𪜀𫝀𫠠𬺰", "豈更", "👩‍👩‍👧", "👍🏽", "🇫🇷", "1️⃣",
    "[CLS]", "[MASK]", "[UNK]", "[PAD]", "[SEP]", "[cls]", "[[SEP]]", "[CLS", "[unused1]", "##ing", "#", "don't", "e-mail", "3.14", "C++", "x\u00ady", "a\u200bb", "\ufffd", "≠", "≮", "\u037e",
    "unbelievably", "electroencephalography", "antidisestablishmentarianism", "a" * 99, "a" * 100, "a" * 101, "é" * 100, "é" * 101, "ab" * 300, "\u0301" * 5,
    "\n", "\t", "\r\n", "  ", "\u2028", "\u3000", "\u00a0", "\x00", "\u0301", "the", "of", "running", "memory", "Anna", "prefers", "window", "seats",
]


def texts(seed, count):
    """Random texts, as bytes: nearly all are UTF-8, some are damaged."""
    rng = random.Random(seed)
    names = list(RANGES)

    def char(ranges):
        while True:
            c = rng.randint(*rng.choice(ranges))
            if c not in SURROGATES:
                return chr(c)

    for n in range(count):
        name = names[n % len(names)]
        parts = []
        for _ in range(rng.randint(1, 12)):
            kind = rng.random()
            if kind < 0.2:
                parts.append(rng.choice(PIECES))
            elif kind < 0.3:
                parts.append("".join(char(RANGES[rng.choice(names)]) for _ in range(rng.randint(1, 4))))
            else:
                parts.append("".join(char(RANGES[name]) for _ in range(rng.randint(1, 8))))
            parts.append(rng.choice([" ", " ", " ", "", ", ", "-"]))
        data = "".join(parts).encode()
        if n % 10 == 0:
            data = bytearray(data)
            for _ in range(rng.randint(1, 4)):
                data[rng.randrange(len(data))] = rng.randrange(256)
        yield bytes(data)
