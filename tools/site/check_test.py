"""The check of the built site finds what it is for."""

import tempfile
import unittest
from pathlib import Path

from check import faults

FINE = """<a href="b.html#two">b</a><a href="https://example.com/">a link</a><img src="p.svg"><h2 id="one">One</h2><a href="#one">up</a>"""
BAD = {
    '<script src="https://cdn.example.com/a.js"></script>': "from another host",
    '<img src="//example.com/pixel.gif">': "from another host",
    '<link rel="stylesheet" href="https://fonts.example.com/css">': "from another host",
    '<link rel="preconnect" href="https://fonts.example.com">': "from another host",
    '<p style="background: url(https://example.com/a.png)">': "from another host",
    '<a href="c.html">c</a>': "is not there",
    '<a href="/b.html">from the root, which a file has not</a>': "is not there",
    '<a href="b.html#three">three</a>': "no such heading",
    '<a href="#three">three</a>': "no such heading",
}


class Faults(unittest.TestCase):
    def look(self, a, css=""):
        with tempfile.TemporaryDirectory() as name:
            site = Path(name)
            (site / "a.html").write_text(a)
            (site / "b.html").write_text('<h2 id="two">Two</h2>')
            (site / "p.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
            (site / "s.css").write_text(css)
            return list(faults(site))

    def test_nothing_is_wrong(self):
        self.assertEqual(self.look(FINE, "a { background: url(p.svg) }"), [])

    def test_each_fault_is_found(self):
        for text, what in BAD.items():
            with self.subTest(text):
                found = self.look(FINE + text)
                self.assertEqual(len(found) > 0 and all(what in one or "links to" in one for one in found), True, found)
                self.assertTrue(any(what in one for one in found), found)

    def test_a_sheet_that_loads_from_elsewhere(self):
        self.assertEqual(len(self.look(FINE, "@font-face { src: url(https://fonts.example.com/f.woff2) }")), 1)
        self.assertEqual(len(self.look(FINE, "@import 'https://fonts.example.com/css';")), 1)


if __name__ == "__main__":
    unittest.main()
