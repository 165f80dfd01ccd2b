"""Tests of the text generator: python3 -m unittest discover -s tools/distill."""

import itertools
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import grammar  # noqa: E402
import text  # noqa: E402
from source import FAMILIES  # noqa: E402


class Grammar(unittest.TestCase):
    def test_forms(self):
        for word, change, want in (
            ("run", grammar.gerund, "running"), ("lie", grammar.gerund, "lying"), ("see", grammar.gerund, "seeing"),
            ("fix", grammar.gerund, "fixing"), ("visit", grammar.past, "visited"), ("plan", grammar.past, "planned"),
            ("study", grammar.past, "studied"), ("go", grammar.third, "goes"), ("try", grammar.third, "tries"),
            ("city", grammar.plural, "cities"), ("policewoman", grammar.plural, "policewomen"), ("happy", grammar.adverb, "happily"),
            ("simple", grammar.adverb, "simply"), ("basic", grammar.adverb, "basically"),
        ):
            self.assertEqual(change(word), want)

    def test_person(self):
        ana = grammar.someone("Ana", "f")
        for template, person, want in (
            ("I ~drive to my office", ana, "Ana drives to her office"),
            ("my dog makes me happy, I ~am lucky", ana, "Ana's dog makes her happy, she is lucky"),
            ("~do I like my job", ana, "does Ana like her job"),
            ("I'm sure I ~was right", grammar.LISTENER, "you're sure you were right"),
            ("I ~don't eat meat", grammar.SPEAKER, "I don't eat meat"),
        ):
            self.assertEqual(grammar.tell(template, person), want)

    def test_articles(self):
        self.assertEqual(grammar.articles("a apple, a user, a hour, a one-off"), "an apple, a user, an hour, a one-off")


class Texts(unittest.TestCase):
    def test_sources_are_sound(self):
        self.assertEqual(text.check(), [])
        self.assertGreaterEqual(len(FAMILIES), 600)

    def test_same_seed_same_texts(self):
        self.assertEqual(list(text.texts(300, 7)), list(text.texts(300, 7)))
        self.assertNotEqual(list(text.texts(300, 7)), list(text.texts(300, 8)))

    def test_texts_are_distinct_short_and_filled(self):
        made = list(text.texts(20_000, 1))
        self.assertEqual(len(set(made)), len(made))
        for t in made:
            self.assertTrue(2 <= len(t.split()) <= 60, t)
            self.assertNotRegex(t, r"[{}~<>\[\]|]")

    def test_families_say_one_thing_and_ask_for_it(self):
        for family in itertools.islice(text.families(2000, 3), 2000):
            self.assertTrue(4 <= len(family) <= 9, family)
            self.assertEqual(len(set(family[:-1])), len(family) - 1)
            self.assertTrue(family[-1].endswith("?"), family)


if __name__ == "__main__":
    unittest.main()
