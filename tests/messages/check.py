"""Reads what `loci session show --json` printed: LangChain must take each message, and give it back as it was."""

import json
import sys

from langchain_core.messages import message_to_dict, messages_from_dict

shown = json.load(sys.stdin)["messages"]
stored = [{"type": m["type"], "data": m["data"]} for m in shown]
for was, loaded in zip(stored, messages_from_dict(stored), strict=True):
    now = message_to_dict(loaded)
    lost = {k: v for k, v in was["data"].items() if now["data"].get(k) != v}
    if now["type"] != was["type"] or lost:
        sys.exit(f"{was} became {now}")
print(f"LangChain takes {len(stored)} messages")
