#!/usr/bin/env python3
"""Writes short English texts such as a memory holds and as people ask for them.

A teacher model labels them when the static embedding is distilled, so what counts is
variety: many subjects, many words, many ways to say the same thing. Everything is made
from templates and word lists written for this purpose (families/, lexicon/), and the
output depends on the seed alone.

    text.py --sample 40        print some texts
    text.py --families 10      print some families
    text.py --stats            measure texts(300_000, 1)
    text.py --check            check the word lists and templates
"""

import argparse
import random
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from grammar import LISTENER, SPEAKER, Person, articles, inflect, plural, someone, tell  # noqa: E402
from source import FAMILIES, FRAMES, LEXICON, Family  # noqa: E402

_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_SMALL = "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty".split()
_STOP = set("""a an the of to in on at for with and or but is are am was were be been being do does did have has had will would can
could should may might must i you he she it we they me him her us them my your his its our their this that these those there what
which who whom whose when where why how if so as by from about into than then too very just not no any some ever really also up
out off over again please going go get got""".split())

_OPTION = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{(\w+?)(\d?)(?::(\w+))?\}( (?:is|was|has|does|gives|makes)\b)?")
# Lists in which an entry that ends in -s is a plural and takes "are".
_COUNTED = set("smallthing accessory clothing dish sweet furniture staple supply gift medicine carpart nut allergen spice".split())
_PLURAL_VERB = {" is": " are", " was": " were", " has": " have", " does": " do", " gives": " give", " makes": " make"}


class Writer:
    """Makes texts from one source of chance."""

    def __init__(self, seed: int):
        self.r = random.Random(seed)
        r = self.r
        self._made = {
            "num": lambda: str(r.randint(2, 99)), "few": lambda: r.choice(_SMALL), "year": lambda: str(r.randint(1955, 2031)),
            "weekday": lambda: r.choice(_DAYS), "month": lambda: r.choice(_MONTHS), "time": self._time, "date": self._date,
            "price": self._price, "past": self._past, "future": self._future, "name": lambda: self._name()[0],
            "often": lambda: r.choice(LEXICON["often"]), "rel": lambda: r.choice(LEXICON["relation"] + LEXICON["friendrel"]),
            "ordinal": lambda: r.choice("first second third fourth fifth sixth seventh eighth ninth tenth".split()),
            "code": lambda: "".join(r.choices("ABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=r.randint(4, 7))),
            "port": lambda: str(r.choice((80, 443, 3000, 5432, 6379, 8080, 8443, 9090, 27017, r.randint(1024, 65535)))),
            "version": lambda: f"{r.randint(0, 24)}.{r.randint(0, 20)}" + r.choice(("", f".{r.randint(0, 12)}")),
            "fullname": lambda: f"{self._name()[0]} {r.choice(LEXICON['surname'])}",
        }

    # Words that are made rather than listed.

    def _name(self) -> tuple[str, str]:
        gender = self.r.choice("fm")
        return self.r.choice(LEXICON["female" if gender == "f" else "male"]), gender

    def _time(self) -> str:
        hour, minute = self.r.randint(1, 12), self.r.choice((0, 0, 0, 15, 30, 30, 45, 10, 20, 50))
        return self.r.choice((f"{hour}:{minute:02d}", f"{hour} {self.r.choice(('am', 'pm'))}", f"{hour + 11}:{minute:02d}",
                              f"half past {_SMALL[hour - 2] if hour > 1 else 'one'}", f"{hour} o'clock", "noon" if hour == 12 else f"{hour}:{minute:02d} pm"))

    def _date(self) -> str:
        day, month = self.r.randint(1, 28), self.r.choice(_MONTHS)
        ending = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd"}.get(day, "th")
        return self.r.choice((f"{month} {day}", f"{day} {month}", f"the {day}{ending} of {month}", f"{month} {day}{ending}",
                              f"{month} {day}, {self.r.randint(1985, 2030)}", f"{day} {month} {self.r.randint(1985, 2030)}"))

    def _price(self) -> str:
        amount = self.r.choice((self.r.randint(2, 99), self.r.randint(10, 99) * 10, self.r.randint(2, 60) * 100))
        return self.r.choice((f"${amount}", f"{amount} dollars", f"{amount} euros", f"€{amount}", f"£{amount}", f"{amount} bucks"))

    def _past(self) -> str:
        r = self.r
        return r.choice((f"last {r.choice(_DAYS)}", f"in {r.choice(_MONTHS)}", f"in {r.randint(1975, 2025)}", "yesterday", "last week",
                         "last month", "last year", "last summer", "last winter", "this morning", "a while ago", "the other day",
                         f"{r.choice(_SMALL)} days ago", f"{r.choice(_SMALL)} weeks ago", f"{r.choice(_SMALL)} years ago", f"on {self._date()}",
                         "over the weekend", "earlier today", "last night", f"in {r.choice(_MONTHS)} {r.randint(1999, 2025)}", "back in the spring"))

    def _future(self) -> str:
        r = self.r
        return r.choice((f"next {r.choice(_DAYS)}", f"in {r.choice(_MONTHS)}", "tomorrow", "next week", "next month", "next year",
                         "this summer", "this weekend", "tonight", f"on {r.choice(_DAYS)}", f"on {self._date()}", "soon", "later today",
                         f"in {r.choice(_SMALL)} days", f"in {r.choice(_SMALL)} weeks", f"on {r.choice(_DAYS)} at {self._time()}",
                         "next spring", "after the holidays", "before the end of the year", "the day after tomorrow"))

    def person(self) -> Person:
        """The speaker, the listener, somebody with a name, a relative, or the user."""
        x, r = self.r.random(), self.r
        if x < 0.34:
            return SPEAKER
        if x < 0.46:
            return LISTENER
        if x < 0.54:
            return someone(r.choice(("the user", "user", "the client", "the customer", "the patient")), r.choice("fm"))
        if x < 0.62:
            gender = r.choice("fm")
            word = r.choice(("sister", "mother", "daughter", "wife", "aunt", "grandmother", "girlfriend", "niece") if gender == "f" else
                            ("brother", "father", "son", "husband", "uncle", "grandfather", "boyfriend", "nephew"))
            return someone(f"{r.choice(('my', 'my', 'my', 'your'))} {word}", gender)
        if x < 0.68:
            name, gender = self._name()
            return someone({"f": "she", "m": "he"}[gender], gender)._replace(name="she" if gender == "f" else "he")
        name, gender = self._name()
        if x > 0.96:
            name = f"{name} {r.choice(LEXICON['surname'])}"
        return someone(name, gender)

    # Templates.

    def fill(self, template: str, bound: dict[str, str] | None = None) -> str:
        """Chooses among [a/b] and fills {slots}; the same slot keeps its word within `bound`."""
        bound = {} if bound is None else bound
        while "[" in template:
            template = _OPTION.sub(lambda m: self.r.choice(m[1].split("/")), template)

        def word(m: re.Match) -> str:
            key, form = m[1] + m[2], m[3]
            if key not in bound:
                made = self._made.get(m[1])
                bound[key] = self.fill(made() if made else self.r.choice(LEXICON[m[1]]), bound)
            value, verb = bound[key], m[4] or ""
            many = form == "pl" or m[1] in _COUNTED and re.search(r"[^su]s$", value)
            if form:
                value = plural(value) if form == "pl" else inflect(value, form)
            return value + (_PLURAL_VERB.get(verb, verb) if many else verb)

        return re.sub(r"\s+", " ", _SLOT.sub(word, template)).strip()

    def line(self, template: str, person: Person, bound: dict[str, str], named: bool = True) -> str:
        return articles(tell(self.fill(template, bound), person, named and person.name != person.subject))

    def wordings(self, family: Family) -> tuple[list[str], list[str]]:
        """Templates of one family: statements that say the same, and questions they answer."""
        if family.kind == "say":
            return list(family.statements), list(family.questions)
        r, phrases = self.r, family.statements
        frame = r.choice(FRAMES[family.kind])
        if family.kind in ("thing", "quality", "character", "mood"):
            return ([frame.statements[0].replace("{x}", p) for p in phrases], [frame.questions[0].replace("{x}", p) for p in phrases])

        def put(template: str, phrase: str) -> str:
            return re.sub(r"<(\w*)>", lambda m: self._verb(phrase, m[1]), template)

        says = [put(r.choice(frame.statements), p) for p in phrases]
        asks = list(family.questions if frame.keeps else ()) + [put(r.choice(frame.questions), p) for p in phrases[:2]]
        return says, asks

    @staticmethod
    def _verb(phrase: str, form: str) -> str:
        if form == "pres":
            head, space, rest = phrase.partition(" ")
            return ("~am" if head == "be" else "~" + head) + space + rest
        return inflect(re.sub(r"~(?=\w)", "", phrase) if not form else phrase, form)

    def family(self) -> list[str]:
        """A filled family: 3 to 8 wordings of one fact and, last, a question it answers."""
        while True:
            chosen = self.r.choice(FAMILIES)
            person, bound = self.person(), {}
            statements, questions = self.wordings(chosen)
            self.r.shuffle(statements)
            asker = LISTENER if person is SPEAKER and self.r.random() < 0.5 else person
            out = [self.line(s, person, bound, named=i != 1) for i, s in enumerate(statements[:8])]
            ask = self.line(self.r.choice(questions), asker, bound)
            seen = dict.fromkeys(polish(t) for t in out)
            if len(seen) >= 3:
                return list(seen) + [polish(ask, "?")]

    def fact(self, person: Person | None = None, named: bool = True) -> str:
        """One statement, without a capital or a full stop."""
        statements, _ = self.wordings(self.r.choice(FAMILIES))
        return self.line(self.r.choice(statements), person or self.person(), {}, named)

    def question(self, person: Person | None = None) -> str:
        _, questions = self.wordings(self.r.choice(FAMILIES))
        return self.line(self.r.choice(questions), person or self.person(), {})

    def say(self, list_name: str) -> str:
        """A phrase from one of the lists of talk, filled."""
        return articles(self.fill(self.r.choice(LEXICON[list_name])))

    # Kinds of text.

    def statement(self) -> str:
        person = self.person()
        text, x = self.fact(person), self.r.random()
        if x < 0.42:
            text += tell(self.say("tail"), person, named=False)
        elif x < 0.66:
            text += f"{self.say('joint')} {self.fact(person, named=False)}"
        if self.r.random() < 0.25:
            return polish(f"{self.say('tellopen')} {text}")
        return polish(text, self.r.choice("....!"))

    def asked(self) -> str:
        text = self.question()
        if self.r.random() < 0.12:
            return f"{polish(self.fact())} {polish(text, '?')}"
        if self.r.random() < 0.25:
            return polish(f"{self.say('askopen')} {text}", "?")
        return polish(text, self.r.choice(("?", "?", "?", "?", "")))

    def keywords(self) -> str:
        source = self.question() if self.r.random() < 0.5 else self.fact()
        words = [w for w in re.findall(r"[\w'&#+.-]*\w[+#]*", source) if w.lower() not in _STOP]
        if len(words) > 4:
            start = self.r.randint(0, len(words) - 4)
            words = words[start:start + self.r.randint(2, 4)]
        if self.r.random() < 0.2:
            self.r.shuffle(words)
        tail = self.r.choice(("", "", "", "", "when", "where", "who", "date", "notes", "how much", "list", "details", "address", "name"))
        text = " ".join(words + [tail]).strip()
        return text.lower() if self.r.random() < 0.7 else text

    def command(self) -> str:
        return polish(articles(self.fill(self.r.choice(LEXICON["command"]))), self.r.choice(("", ".", "?")) if self.r.random() < 0.5 else ".")

    def turn(self) -> str:
        """What one says in a conversation."""
        r, parts = self.r, []
        if r.random() < 0.35:
            parts.append(self.say("greet"))
        if r.random() < 0.55:
            parts.append(self.say("react"))
        teller = SPEAKER if r.random() < 0.75 else self.person()
        for i in range(r.choice((1, 1, 1, 2, 2, 3))):
            parts.append(polish(self.fact(teller, named=i == 0), r.choice("...!")))
        if r.random() < 0.35:
            parts.append(self.say("askback") if r.random() < 0.5 else polish(self.question(LISTENER), "?"))
        if r.random() < 0.12:
            parts.append(self.say("close"))
        return " ".join(parts)

    def story(self) -> str:
        person = self.person()
        count = self.r.choice((2, 2, 3, 3, 4))
        joints = ("", "", "", "Also, ", "Besides, ", "And ", "Meanwhile, ", "On top of that, ", "Apart from that, ")
        return " ".join(polish((self.r.choice(joints) if i else "") + self.fact(person, named=i == 0)) for i in range(count))

    def answer(self) -> str:
        who = LISTENER if self.r.random() < 0.7 else self.person()
        body = self.fact(who)
        if self.r.random() < 0.3:
            body = polish(body) + " " + polish(self.fact(who, named=False))
        opening = self.say("assistopen")
        text = polish(f"{opening} {body if opening[-1] not in '.!' else polish(body)}")
        return f"{text} {self.say('assistclose')}" if self.r.random() < 0.4 else text

    def note(self) -> str:
        text = articles(self.fill(self.r.choice(LEXICON["note"])))
        return text if self.r.random() < 0.4 else polish(text, self.r.choice(("", ".")))

    def listing(self) -> str:
        r = self.r
        kind = r.choice(LEXICON["listed"])
        head, slot = (s.strip() for s in kind.split("="))
        items = r.sample(LEXICON[slot], r.randint(2, 6))
        joined = ", ".join(items[:-1]) + r.choice((", ", " and ")) + items[-1]
        return articles(self.fill(f"{head} {joined}"))

    def scene(self) -> str:
        """A sentence about the world rather than about somebody's life."""
        return polish(articles(tell(self.fill(self.r.choice(LEXICON["scene"])), self.person())))

    KINDS = (("statement", 27), ("asked", 13), ("keywords", 5), ("command", 4), ("turn", 15), ("story", 8), ("answer", 7),
             ("note", 4), ("listing", 2), ("scene", 15))

    def text(self) -> str:
        kind, = self.r.choices([k for k, _ in self.KINDS], [w for _, w in self.KINDS])
        text = getattr(self, kind)()
        if kind in ("statement", "asked", "turn") and self.r.random() < 0.05:
            text = text.lower().rstrip(".")
        return text


_LEAD = re.compile(r"^([\"'(]?)([a-z])")


def polish(text: str, end: str = ".") -> str:
    """Gives a sentence its capital and its mark, unless it has one."""
    text = _LEAD.sub(lambda m: m[1] + m[2].upper(), text.strip().rstrip(","))
    return text if text[-1:] in ".?!:" else text + end


def texts(n: int, seed: int) -> Iterator[str]:
    """Yields n different texts of 2 to 60 words, of all kinds mixed; the same for the same seed."""
    writer, seen = Writer(seed), set()
    while len(seen) < n:
        text = writer.text()
        key = text.lower().rstrip(".?!")
        if key not in seen and 2 <= len(text.split()) <= 60:
            seen.add(key)
            yield text


def families(n: int, seed: int) -> Iterator[list[str]]:
    """Yields n families: 3 to 8 texts that say the same in different words and, last, a question they answer."""
    writer = Writer(seed)
    for _ in range(n):
        yield writer.family()


def check() -> list[str]:
    """Looks for templates with unknown slots and families that are too small or ask nothing."""
    faults, writer = [], Writer(0)
    for family in FAMILIES:
        if not 3 <= len(family.statements) <= 9 or family.kind == "say" and not family.questions:
            faults.append(f"size: {family.statements[0]}")
    known = set(LEXICON) | set(writer._made) | {"x"}
    lines = [t for f in FAMILIES for t in f.statements + f.questions]
    for line in lines + [t for items in LEXICON.values() for t in items]:
        faults += [f"slot {m[1]}: {line}" for m in _SLOT.finditer(line) if m[1] not in known]
        if line.count("[") != line.count("]") or line.count("{") != line.count("}"):
            faults.append(f"brackets: {line}")
    return faults


def stats(n: int = 300_000) -> None:
    made = list(texts(n, 1))
    lengths = sorted(len(t.split()) for t in made)
    words = {w for t in made for w in re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", t.lower())}
    print(f"texts {len(made)}, distinct {len(set(made))}, families of templates {len(FAMILIES)}")
    print(f"words per text: median {statistics.median(lengths)}, 95% {lengths[int(0.95 * n)]}, most {lengths[-1]}")
    print(f"different words (letters only) {len(words)}, in the word lists {sum(map(len, LEXICON.values()))} entries")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sample", type=int, metavar="N", help="print N texts")
    options.add_argument("--families", type=int, metavar="N", help="print N families")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--stats", action="store_true")
    options.add_argument("--check", action="store_true")
    o = options.parse_args()
    for text in texts(o.sample or 0, o.seed):
        print(text)
    for family in families(o.families or 0, o.seed):
        print("\n".join(family), end="\n\n")
    if o.stats:
        stats()
    faults = check() if o.check else []
    print(*faults, sep="\n", end="\n" if faults else "")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
