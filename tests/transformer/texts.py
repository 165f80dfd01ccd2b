"""Varied texts for comparing tokenizers and networks: texts.py OUT.json [N]

Many scripts, unusual characters, long texts, tokens that stand for themselves,
and random mixtures from a fixed seed, each Nth of them. A text is never blank.
"""

import json
import random
import sys

SENTENCES = """Anna prefers window seats on long flights.
The quick brown fox jumps over the lazy dog!
Où est la bibliothèque ? L'élève a oublié son cœur à Noël.
Die Straße zum Flughafen Zürich ist gesperrt; ÄÖÜ äöü ß ẞ.
¿Dónde está mi mañana? ¡Qué niño tan simpático!
Любит зелёный чай и живёт в Москве с 1998 года.
Ο Σίσυφος αγαπά τους Έλληνες και τον ήλιο.
İstanbul'da ILIK bir akşam, ığdır ve Iğdır.
我喜欢喝绿茶，他住在北京。𠀀𠮷
東京タワーに行きたい。ｶﾀｶﾅ ガギグ
서울에서 살고 있어요. 한글
أحب القهوة مع الهيل في الصباح ١٢٣
שָׁלוֹם עֲלֵיכֶם, מה שלומך היום?
मुझे सुबह की चाय पसंद है। नमस्ते
ฉันชอบกินข้าวผัดกะเพราไก่ไข่ดาว
Tôi thích phở bò Hà Nội vào buổi sáng.
👩‍👩‍👧‍👦 🎉🎂 👍🏽 ❤️ → ∑ √2 ≠ π © ™ ½ ²
set MAX_RETRY_COUNT=5; x := map[string]int{"a": 1} // see https://example.com/a?b=c#d
e\u0301 cafe\u0301 n\u0303 a\u0300\u0316b \u1e69 ﬁ ﬂ Ǆ
soft\u00adhyphen zero\u200bwidth \u200djoiner \ufeffmark no\u00a0break ideographic\u3000space
tab\there, form\x0cfeed, nul\x00nul, bell\x07bell, next\u0085line, sep\u2028arator
private \ue000 use, replacement \ufffd, unassigned \u0378, tag \U000e0041, plane \U0001f9ff
[MASK] stands for itself, [CLS] and [SEP] too, [mask] does not, nor [ MASK ]
a
.
!!!???...---___
Ünïcödé ÀÉÎÕÜ ŠŽ ŁØÐÞ łøðþ Ꞌ Ⅷ ① ⒈
Հայերեն ქართული ᚠᚢᚦ ᏣᎳᎩ አማርኛ ភាសាខ្មែរ བོད་ཡིག""".split("\n")


def texts(nth):
    chance = random.Random(1)
    yield from SENTENCES
    yield "a line\nbreak, and\r\nanother \u2028one"
    yield "x" * 100
    yield "x" * 101
    yield "word " * 600
    yield "绿茶" * 400
    yield " ".join(SENTENCES)
    yield ("Long paragraphs are cut where the model's window ends. " * 60)[:2500]
    words = " ".join(SENTENCES).split()
    for i in range(50):
        text = " ".join(chance.choice(words) for _ in range(chance.choice([1, 2, 3, 5, 8, 13, 30, 60])))
        if i % nth == 0:
            yield text
    ranges = [(0x20, 0x7E), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x52F), (0x590, 0x6FF), (0x900, 0xDFF), (0xE00, 0xEFF),
              (0x1100, 0x11FF), (0x1E00, 0x1FFF), (0x2000, 0x2BFF), (0x3000, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7A3),
              (0xF900, 0xFAFF), (0xFE00, 0xFFFD), (0x1F300, 0x1FAFF), (0x20000, 0x2A6DF)]
    for i in range(70):
        low, high = chance.choice(ranges)
        text = "".join(chr(chance.randint(low, high)) if chance.random() < 0.8 else chance.choice(" .,aZ9") for _ in range(chance.randint(1, 40)))
        if i % nth == 0:
            yield text + "!"


if __name__ == "__main__":
    with open(sys.argv[1], "w") as f:
        json.dump(list(texts(int(sys.argv[2]) if len(sys.argv) > 2 else 1)), f)
