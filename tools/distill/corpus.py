"""The texts the model is distilled on, in three parts, each the same every time."""

import random
import re

import glosses
import text

NAMES = (
    "Anna Ben Carla David Emma Felix Grace Henry Irene Jack Karen Leo Maria Nathan Olivia Paul Quinn Rosa Sam Tina Victor Wendy Xavier Yara Zoe "
    "Alice Bob Chloe Daniel Elena Frank Gina Hugo Isabel James Kate Liam Mia Noah Peter Rachel Steve Tom Laura Mark Nina Oscar Priya Ravi Sara "
    "Tariq Uma Will Ahmed Bella Chris Diana Ethan Fiona George Hannah"
).split()

QUESTIONS = ["When did", "Where did", "Why did", "What did", "How did", "Who did", "Does", "Has", "What does", "How many times did", "What kind of", "What is", "Which"]

STOP_WORDS = set(
    "a an the and or but if of at by for with about to from in on is am are was were be been i me my we us our you your he him his she her hers it its "
    "they them their this that these those as so than then there can could will would not no have has had do did does very all one who whom which what".split()
)


def dictionary(wordnet: str):
    """Words, definitions and usage examples: (texts, None)."""
    every = list(glosses.texts(wordnet))
    words = [t for t in every if len(t.split()) <= 2]
    longer = [t for t in every if len(t.split()) > 2]
    chosen = words[:30_000] + longer[:110_000]
    random.Random(2).shuffle(chosen)
    return chosen, None


def named(wordnet: str):
    """Sentences with a speaker's name in front, and queries about them: (texts, None)."""
    r = random.Random(3)
    sentences = [t for t in glosses.texts(wordnet) if len(t.split()) >= 4 and ":" not in t][:60_000]
    out = []
    for t in sentences[:40_000]:
        out.append(f"{r.choice(NAMES)}: {t[0].upper() + t[1:]}")
    for t in sentences[:55_000]:
        words = [w for w in re.findall(r"[A-Za-z'-]+", t) if w.lower() not in STOP_WORDS]
        if not words:
            continue
        r.shuffle(words)
        words = " ".join(words[: r.choice((1, 2, 2, 3, 3, 4))])
        name, form = r.choice(NAMES), r.random()
        if form < 0.45:
            out.append(f"{r.choice(QUESTIONS)} {name} {words}?")
        elif form < 0.6:
            out.append(f"What does {name} think about {words}?")
        elif form < 0.8:
            out.append(words)
        else:
            out.append(f"{r.choice(QUESTIONS)} {name}'s {words}?")
    r.shuffle(out)
    return out, None


def everyday(_wordnet: str, families=26_000, single=50_000, seed=12):
    """What people tell an agent and ask it: (texts, family of each or −1). Texts of a family mean the same."""
    out, family, seen = [], [], set()
    for number, members in enumerate(text.families(families, seed)):
        for t in members:
            if t not in seen:
                seen.add(t)
                out.append(t)
                family.append(number)
    for t in text.texts(single, seed + 1):
        if t not in seen:
            seen.add(t)
            out.append(t)
            family.append(-1)
    return out, family


PARTS = {"dictionary": dictionary, "named": named, "everyday": everyday}
