"""Looks through a built site: dead links, anchors that are not there, and whatever a page would load from another host."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself; a link that a reader clicks may lead anywhere.
LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("audio", "src"), ("embed", "src"), ("object", "data")}
RELS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload", "manifest"}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], re.findall(r"url\(\s*['\"]?([^'\")]+)", text)
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given.get("id"), given.get("name")}
        for name, value in given.items():
            if (tag, name) in LOADS or tag == "link" and name == "href" and RELS & set(given.get("rel", "").split()):
                self.loads.append(value)
            if name in ("href", "src"):
                self.links.append(value)


def elsewhere(url):
    return urlsplit(url).scheme in ("http", "https") or url.startswith("//")


def faults(site):
    """What is wrong with the site in a directory, one line each."""
    site = Path(site)
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        here = path.relative_to(site)
        for url in page.loads:
            if elsewhere(url):
                yield f"{here} loads {url} from another host"
        for url in page.links:
            parts = urlsplit(url)
            if elsewhere(url) or parts.scheme in ("mailto", "data", "vscode", "cursor"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if parts.path.startswith("/") or not target.is_file():
                yield f"{here} links to {url}, which is not there"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                yield f"{here} links to {url}, where there is no such heading"
    for path in sorted(site.rglob("*.css")) + sorted(site.rglob("*.svg")):
        for url in re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)|(?:xlink:href|[ \n]href)=\"([^\"]+)", path.read_text()):
            for one in filter(elsewhere, url):
                yield f"{path.relative_to(site)} loads {one} from another host"
