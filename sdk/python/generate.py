"""Makes loci_memory/sync, the client that waits, from loci_memory/aio. With --check it says whether it is up to date."""

import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent / "src" / "loci_memory"
NOTE = "# Made by generate.py from loci_memory/aio: change that and run it again.\n"
RULES = [
    (r"\basync (def|for|with) ", r"\1 "),
    (r"\bawait ", ""),
    (r"\bAsync(Iterator|Loci|Transport|Sessions|Items|Memories|Notes|Tools|Checkpoints|Files|Agents|Connectors)\b", r"\1"),
    (r"\bAsyncBaseTransport\b", "BaseTransport"),
    (r"\b__a(enter|exit)__", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"loci_memory\.aio", "loci_memory.sync"),
    (r", for asyncio\.", ". Several threads may share one."),
]
PACKAGE_NOTE = '"""The client that waits for each reply."""\n'


def sync_of(text: str) -> str:
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return text


def main() -> int:
    stale = []
    for source in sorted((PACKAGE / "aio").glob("*.py")):
        made = PACKAGE_NOTE if source.name == "__init__.py" else NOTE + sync_of(source.read_text())
        target = PACKAGE / "sync" / source.name
        if not target.exists() or target.read_text() != made:
            stale.append(target.name)
            if "--check" not in sys.argv:
                target.parent.mkdir(exist_ok=True)
                target.write_text(made)
    if stale and "--check" in sys.argv:
        print("stale: " + ", ".join(stale) + ": run generate.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
