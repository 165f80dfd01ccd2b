"""English word forms and the change of person, as far as the text generator needs them.

A template is written in the first person. Verbs that follow the subject carry a
tilde: "I ~drive to my office" becomes "Ana drives to her office" or "you drive to
your office". Past forms and modals are the same for I, he and she and need no mark,
except "~was".
"""

import re
from typing import NamedTuple

# base: past, past participle. Verbs that are not here are regular.
_IRREGULAR = """
be was been|become became become|begin began begun|bend bent bent|bet bet bet|bind bound bound|bite bit bitten|bleed bled bled
blow blew blown|break broke broken|breed bred bred|bring brought brought|build built built|burst burst burst|buy bought bought
catch caught caught|choose chose chosen|come came come|cost cost cost|creep crept crept|cut cut cut|deal dealt dealt|dig dug dug
do did done|draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed fed|feel felt felt
fight fought fought|find found found|flee fled fled|fly flew flown|forbid forbade forbidden|forget forgot forgotten
forgive forgave forgiven|freeze froze frozen|get got got|give gave given|go went gone|grind ground ground|grow grew grown
hang hung hung|have had had|hear heard heard|hide hid hidden|hit hit hit|hold held held|hurt hurt hurt|keep kept kept
kneel knelt knelt|knit knitted knitted|know knew known|lay laid laid|lead led led|leave left left|lend lent lent|let let let
lie lay lain|light lit lit|lose lost lost|make made made|mean meant meant|meet met met|mistake mistook mistaken
overcome overcame overcome|oversleep overslept overslept|pay paid paid|put put put|quit quit quit|read read read
rebuild rebuilt rebuilt|redo redid redone|repay repaid repaid|reset reset reset|rewrite rewrote rewritten|ride rode ridden
ring rang rung|rise rose risen|run ran run|say said said|see saw seen|seek sought sought|sell sold sold|send sent sent
set set set|sew sewed sewn|shake shook shaken|shine shone shone|shoot shot shot|show showed shown|shrink shrank shrunk
shut shut shut|sing sang sung|sink sank sunk|sit sat sat|sleep slept slept|slide slid slid|speak spoke spoken|spend spent spent
spill spilled spilled|spin spun spun|split split split|spread spread spread|stand stood stood|steal stole stolen
stick stuck stuck|sting stung stung|strike struck struck|strive strove striven|swear swore sworn|sweep swept swept
swim swam swum|swing swung swung|take took taken|teach taught taught|tear tore torn|tell told told|think thought thought
throw threw thrown|understand understood understood|undergo underwent undergone|undo undid undone|wake woke woken
wear wore worn|weave wove woven|weep wept wept|win won won|wind wound wound|withdraw withdrew withdrawn|write wrote written
outgrow outgrew outgrown|foresee foresaw foreseen|upset upset upset|babysit babysat babysat|proofread proofread proofread
""".replace("\n", "|")
IRREGULAR = {base: (past, done) for base, past, done in (e.split() for e in _IRREGULAR.split("|") if e)}

# Verbs of several syllables that double their last letter.
_DOUBLING = set("begin enrol forget prefer refer admit regret commit permit submit transfer occur rebel control cancel travel model "
                "label refuel format unplug babysit equip upset reset quit quiz".split())
_PLURALS = {"child": "children", "person": "people", "man": "men", "woman": "women", "foot": "feet", "tooth": "teeth",
            "mouse": "mice", "goose": "geese", "knife": "knives", "shelf": "shelves", "leaf": "leaves", "wolf": "wolves",
            "loaf": "loaves", "scarf": "scarves", "calf": "calves", "half": "halves", "wife": "wives", "ox": "oxen",
            "potato": "potatoes", "tomato": "tomatoes", "mango": "mangoes", "hero": "heroes", "sheep": "sheep", "fish": "fish",
            "deer": "deer", "series": "series", "species": "species", "moose": "moose", "squid": "squid", "salmon": "salmon",
            "trout": "trout", "shrimp": "shrimp", "jeans": "jeans", "scissors": "scissors", "glasses": "glasses"}


def third(verb: str) -> str:
    """Third person singular of the present: go, goes."""
    if verb in ("be", "have", "do"):
        return {"be": "is", "have": "has", "do": "does"}[verb]
    return plural(verb) if verb not in _PLURALS else verb + "s"


def plural(noun: str) -> str:
    """Plural of a noun, of its last word if it has several."""
    head, _, last = noun.rpartition(" ")
    if last in _PLURALS:
        last = _PLURALS[last]
    elif re.search(r"(s|x|z|ch|sh)$|^(go|do|undergo|redo|undo|veto|echo)$", last):
        last += "es"
    elif re.search(r"[^aeiou]y$", last):
        last = last[:-1] + "ies"
    elif re.search(r"(wo)man$", last) or last.endswith("sman"):
        last = last[:-3] + "men"
    else:
        last += "s"
    return f"{head} {last}" if head else last


def _stem(verb: str) -> str:
    """The verb as it stands before -ing and -ed, its last letter doubled if need be."""
    short = re.fullmatch(r"[^aeiou]*(qu)?[aeiou][^aeiouwxy]", verb)
    return verb + verb[-1] if short or verb in _DOUBLING else verb


def gerund(verb: str) -> str:
    """The -ing form."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not re.search(r"(ee|oe|ye|^be|nge)$", verb) or re.search(r"(ar|a|u|e)nge$", verb):
        return verb[:-1] + "ing"
    return _stem(verb) + "ing"


def past(verb: str, participle: bool = False) -> str:
    """Past tense, or the past participle."""
    if verb in IRREGULAR:
        return IRREGULAR[verb][participle]
    if verb.endswith("e"):
        return verb + "d"
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    return _stem(verb) + "ed"


def adverb(adjective: str) -> str:
    """The adverb of an adjective: happy, happily."""
    if adjective.endswith("ic"):
        return adjective + ("ly" if adjective == "public" else "ally")
    if adjective.endswith("le") and adjective[-3] not in "aeiou":
        return adjective[:-1] + "y"
    if adjective.endswith("y") and adjective[-2] not in "aeiou":
        return adjective[:-1] + "ily"
    if adjective.endswith("ly"):
        return adjective
    return adjective + ("y" if adjective.endswith("ll") else "ly")


FORMS = {"ly": adverb, "ing": gerund, "ed": past, "en": lambda v: past(v, True), "s": third}


def inflect(phrase: str, form: str) -> str:
    """Puts the first verb of a verb phrase, and each verb with a tilde, into a form."""
    change = FORMS.get(form, lambda v: v)
    head, space, rest = phrase.partition(" ")
    rest = re.sub(r"~(\w+)", lambda m: change(m[1]), rest)
    return change(head) + space + rest


class Person(NamedTuple):
    """Somebody a text is about. `kind` is i, you or he (any third person)."""
    kind: str
    name: str
    subject: str
    object: str
    possessive: str
    own: str
    reflexive: str


SPEAKER = Person("i", "I", "I", "me", "my", "mine", "myself")
LISTENER = Person("you", "you", "you", "you", "your", "yours", "yourself")


def someone(name: str, gender: str) -> Person:
    """A third person: gender is f or m."""
    if gender == "f":
        return Person("he", name, "she", "her", "her", "hers", "herself")
    return Person("he", name, "he", "him", "his", "his", "himself")


def conjugate(verb: str, person: Person) -> str:
    """The present tense (or was, were) of a verb for a person."""
    if verb in ("am", "be"):
        return {"i": "am", "you": "are"}.get(person.kind, "is")
    if verb in ("was", "wasn't"):
        return verb.replace("was", "were") if person.kind == "you" else verb
    if person.kind != "he":
        return verb
    if verb in ("don't", "haven't"):
        return {"don't": "doesn't", "haven't": "hasn't"}[verb]
    return third(verb)


_PERSONAL = re.compile(r"~([\w']+)|\bI('m|'ve|'ll|'d)?(?![\w'])|\b(my|me|mine|myself|we|us|our|ours|ourselves)\b")
_PLURAL = {"we": "they", "us": "them", "our": "their", "ours": "theirs", "ourselves": "themselves"}
_SHORT = {"'m": "is", "'ve": "has", "'ll": "will", "'d": "would"}


def tell(template: str, person: Person, named: bool = True) -> str:
    """Turns a first-person template into a text about a person; the first mention is by name if `named`."""
    if person.kind == "i":
        return re.sub(r"~([\w']+)", lambda m: conjugate(m[1], person), template)
    fresh = named and person.kind == "he"

    def change(m: re.Match) -> str:
        nonlocal fresh
        verb, short, other = m[1], m[2], m[3]
        if verb:
            return conjugate(verb, person)
        first, fresh = fresh, False
        if other is None:
            if person.kind == "you":
                return "you" + ("'re" if short == "'m" else short or "")
            subject = person.name if first else person.subject
            return f"{subject} {_SHORT[short]}" if short else subject
        if other in _PLURAL:
            fresh = first
            return other if person.kind == "you" else _PLURAL[other]
        if first:
            return person.name + {"my": "'s", "mine": "'s"}.get(other, "")
        return {"my": person.possessive, "me": person.object, "mine": person.own, "myself": person.reflexive}[other]

    return _PERSONAL.sub(change, template)


_ARTICLE = re.compile(r"\b([Aa]) (?=([A-Za-z]\w*))")
_LIKE_CONSONANT = re.compile(r"(uni([^nm]|$)|use|usu|u[rt][aei]|eu|ewe|one\b|once)", re.I)


def articles(text: str) -> str:
    """Makes "a" an "an" where the next word sounds like a vowel."""
    def change(m: re.Match) -> str:
        word = m[2]
        vowel = word[0] in "aeiouAEIOU" or word.startswith(("hour", "honest", "heir", "honor", "honour"))
        return m[1] + ("n " if vowel and not _LIKE_CONSONANT.match(word) else " ")
    return _ARTICLE.sub(change, text)
