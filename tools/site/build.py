"""Builds the site: docs/ beside the README, the clients' pages and a generated reference, in an order for readers.

The pages of docs/ stay where they are; this makes a copy whose links fit, gives it to the generator, and looks at the result."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import check
import record

SOURCE = "https://github.com/loci-memory/loci/blob/main/"

# The order of the pages. A test of docs compares it with what is there.
NAV = {
    "Start": ["start.md", "install.md", "setup.md"],
    "Recipes": [f"recipes/{name}.md" for name in ("coding-agent", "chat-bot", "langgraph", "team-server", "moving", "back-up", "gdpr")],
    "Concepts": ["concepts.md", "memories.md", "lifecycle.md", "search.md", "scoring.md", "context.md", "sessions.md", "files.md", "graph.md",
                 "consolidation.md", "checkpoints.md", "data.md"],
    "Clients": ["mcp.md", "claude.md", "rest.md", "library.md", "sdk/python/README.md", "sdk/js/README.md", "plugins/loci/README.md"],
    "Servers": ["server.md", "operations.md", "postgres.md", "mongodb.md", "embedders.md", "model.md"],
    "Reference": ["reference/commands.md", "reference/tools.md", "reference/rest.md", "configuration.md", "surfaces.md"],
    "Troubleshooting": ["troubleshooting.md"],
    "Compared": ["compared.md"],
    "Project": ["retrieval.md", "tried.md", "benchmarks.md", "requirements.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md"],
}
TITLES = {"sdk/python/README.md": "Python", "sdk/js/README.md": "JavaScript and TypeScript", "plugins/loci/README.md": "Plugin for coding agents"}
CONFIG = """[project]
site_name = "Loci"
site_description = "The memory of AI agents"
copyright = "Apache License 2.0"
docs_dir = "docs"
site_dir = "site"
use_directory_urls = false
nav = [{nav}]

[project.theme]
font = false
features = ["navigation.sections", "navigation.top", "navigation.footer", "content.code.copy", "search.highlight", "toc.follow"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Switch to dark mode"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Switch to light mode"

[project.plugins.offline]
[project.plugins.search]

[project.markdown_extensions.tables]
[project.markdown_extensions.toc]
slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}
[project.markdown_extensions.pymdownx.highlight]
[project.markdown_extensions.pymdownx.superfences]
"""
LINK = re.compile(r"(!?\[[^\]\n]*(?:\n[^\]\n]+)?\]\()([^)\s]+)(\))")  # whose text may go on in the next line


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def commands(program):
    """The help of each command, as the program prints it."""
    out = ["# All commands\n\nMade from `loci --help-all` and the help of each command.\n"]
    overview = run(program, "--help-all")
    for title, block in re.findall(r"^([A-Z][^\n:]*):\n((?:  [^\n]*\n)+)", overview.split("Show help, these flags included.")[1], re.MULTILINE):
        out.append(f"\n## {title}\n")
        for name in re.findall(r"^  (\S+(?: [a-z-]+)?)(?: \([^)]*\))?  +\S", block, re.MULTILINE):
            text = run(program, *name.split(), "--help").split("\nFlags of every command")[0].rstrip()
            out.append(f"\n### loci {name}\n\n```text\n{text}\n```\n")
    out.append(f"\n## Flags of every command\n\n```text\n{overview.split('Flags of every command:')[1].split('  -h, --help')[0].strip(chr(10))}\n```\n")
    return "".join(out)


def cell(text):
    return re.sub(r"\s+", " ", text or "").replace("|", "\\|").replace("<", "&lt;").strip()


def tools(root):
    """The tools that agents get, by family, from what is registered."""
    out = ["# Tools over MCP\n\nMade from the descriptions that agents read. `--tools` chooses the families: [MCP](../mcp.md).\n"]
    for family in ("notes", "facts", "memory", "sessions", "files", "claude"):
        out.append(f"\n## Family `{family}`\n")
        for tool in json.loads((root / f"tool/testdata/{family}.json").read_text()):
            schema = tool.get("inputSchema") or tool.get("input_schema") or {}
            out.append(f"\n### {family}: {tool['name']}\n\n{cell(tool.get('description'))}\n")
            if fields := schema.get("properties", {}):
                out.append("\n| argument | must be given | what it is |\n|---|---|---|\n")
                for name, field in fields.items():
                    out.append(f"| `{name}` | {'yes' if name in schema.get('required', []) else ''} | {cell(field.get('description'))} |\n")
    return "".join(out)


def rest(root):
    """The routes of the HTTP interface, from its own description."""
    described = json.loads((root / "rest/testdata/openapi.json").read_text())
    by_tag = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            if isinstance(operation, dict) and "operationId" in operation:
                by_tag.setdefault((operation.get("tags") or ["other"])[0], []).append((path, method.upper(), operation))
    out = ["# Routes of the HTTP interface\n\nMade from `/v1/openapi.json`, which a running `loci serve` gives you in full. [REST](../rest.md) explains it.\n"]
    for tag, rows in by_tag.items():
        out.append(f"\n## {tag.capitalize()}\n\n| route | operation | what it does |\n|---|---|---|\n")
        out += [f"| `{method} {path}` | `{o['operationId']}` | {cell(o.get('summary'))} |\n" for path, method, o in rows]
    return "".join(out)


def stage(root, docs, program):
    """A copy of the pages, with links that fit it: to a page of the site, else to the source."""
    pages = {page for part in NAV.values() for page in part}
    for page in sorted(pages):
        target = docs / page
        target.parent.mkdir(parents=True, exist_ok=True)
        if page.startswith("reference/"):
            made = {"commands": lambda: commands(program), "tools": lambda: tools(root), "rest": lambda: rest(root)}[Path(page).stem]()
            target.write_text(made)
            continue
        source = root / "docs" / page if (root / "docs" / page).is_file() else root / page
        target.write_text(LINK.sub(lambda m: m[1] + link(root, pages, source, page, m[2]) + m[3], source.read_text()))
    shutil.copytree(root / "docs/pictures", docs / "pictures")
    (docs / "index.md").write_text((docs / "start.md").read_text())


def link(root, pages, source, page, url):
    """Where a link of a page leads in the site."""
    path, _, anchor = url.partition("#")
    if "://" in url or not path:
        return url
    target = Path(os.path.normpath(source.parent / path)).relative_to(root)
    for name in (str(target.relative_to("docs")) if target.parts[0] == "docs" else "", str(target)):
        if name in pages or name.startswith("pictures/"):
            return os.path.relpath(name, Path(page).parent) + ("#" + anchor if anchor else "")
    if str(target) == "README.md":
        return os.path.relpath("start.md", Path(page).parent)
    return SOURCE + str(target) + ("#" + anchor if anchor else "")


def entry(page):
    return f"{{{json.dumps(TITLES[page])} = {json.dumps(page)}}}" if page in TITLES else json.dumps(page)


def title(text):
    return re.search(r"^# (.+)$", text, re.MULTILINE)[1].replace("`", "")


def for_models(docs, out):
    """llms.txt is a list of the pages for models; llms-full.txt is all of them in one file."""
    short, full = ["# Loci\n\n> The memory of AI agents: one program and a Go library that remember, search, correct and forget. It needs no account, no key and no network.\n"], []
    for part, pages in NAV.items():
        short.append(f"\n## {part}\n\n")
        for page in pages:
            text = (docs / page).read_text()
            told = re.search(r"^# .+\n+((?:[^\n#|`<!-][^\n]*\n)+)", text, re.MULTILINE)
            about = re.split(r"(?<=\.)\s", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", told[1]).replace("\n", " "))[0].strip() if told else ""
            short.append(f"- [{title(text)}]({re.sub(r'README$', 'index', page.removesuffix('.md'))}.html){': ' + about if about else ''}\n")
            full.append(f"<!-- {page} -->\n\n{text.rstrip()}\n")
    (out / "llms.txt").write_text("".join(short))
    (out / "llms-full.txt").write_text("\n\n".join(full))


def at_home(site, here):
    """Puts the one script that the theme takes from another host, a shim for pages opened as files, into the site."""
    shutil.copy(here / "iframe-worker.js", site / "assets/javascripts/iframe-worker.js")
    for path in site.rglob("*.html"):
        up = "../" * (len(path.relative_to(site).parts) - 1)
        text = re.sub(r"https://unpkg\.com/iframe-worker/shim", f"{up}assets/javascripts/iframe-worker.js", path.read_text())
        path.write_text(text)


def main(root, out, program):
    root, out, here = Path(root), Path(out), Path(__file__).parent
    record.main(program, root / "docs/pictures", check=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "docs").mkdir()
        stage(root, work / "docs", program)
        nav = ", ".join(f"{{{json.dumps(part)} = [{', '.join(map(entry, pages))}]}}" for part, pages in NAV.items())
        (work / "zensical.toml").write_text(CONFIG.format(nav=nav))
        done = subprocess.run([Path(sys.executable).parent / "zensical", "build", "--clean", "--config-file", "zensical.toml"],
                              cwd=work, capture_output=True, text=True, timeout=300, env={**os.environ, "NO_COLOR": "1"})
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr)
        (work / "site/404.html").unlink()  # its links begin at the root of a server, which a folder has not
        at_home(work / "site", here)
        for_models(work / "docs", work / "site")
        shutil.rmtree(out, ignore_errors=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(work / "site", out)
    if wrong := list(check.faults(out)):
        raise SystemExit("\n".join(wrong))
    print(f"{len(list(out.rglob('*.html')))} pages in {out}: open {out}/index.html")


if __name__ == "__main__":
    main(*sys.argv[1:])
