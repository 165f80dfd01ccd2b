"""Checks what came back to the model, and that what it wrote can be searched.

usage: check.py NAME RESULTS
"""

import json
import os
import sys
from urllib.request import Request, urlopen

name, results = sys.argv[1], json.load(open(sys.argv[2]))
listing = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n"
content = "Here's the content of {} with line numbers:\n"
want = [
    (False, listing + "0B\t/memories"),
    (False, "File created successfully at: /memories/trips/seats.md"),
    (True, "File /memories/trips/seats.md already exists"),
    (False, "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
     "     1\tAnn sits at the window.\n     2\tBob does not fly.\n     3\t"),
    (True, "No replacement was performed, old_str `zebra` did not appear verbatim in /memories/trips/seats.md."),
    (False, "The file /memories/trips/seats.md has been edited."),
    (False, content.format("/memories/trips/seats.md") + "     1\t# Seats\n     2\tAnn sits at the window."),
    (False, "Successfully renamed /memories/trips to /memories/travel"),
    (False, listing + "50B\t/memories\n50B\t/memories/travel/\n50B\t/memories/travel/seats.md"),
    (True, "Path /memories/../etc/passwd would escape /memories directory"),
    (False, "File created successfully at: /memories/gone.md"),
    (False, "Successfully deleted /memories/gone.md"),
    (False, content.format("/memories/travel/seats.md") + "     1\t# Seats\n     2\tAnn sits at the window.\n     3\tBob does not fly.\n     4\t"),
]
failed = len(results) != len(want)
if failed:
    print(f"FAIL {name}: {len(results)} results, not {len(want)}")
for got, (is_error, text) in zip(results, want):
    if (got["is_error"], got["text"]) == (is_error, text):
        print("ok", name, got["command"]["command"])
    else:
        failed = True
        print(f"FAIL {name} {got['command']}: {got['is_error']} {got['text']!r}\nwant {is_error} {text!r}")

request = Request(os.environ["LOCI_URL"] + "/v1/files/search", json.dumps({"query": "window seat"}).encode(), {"Content-Type": "application/json"})
matches = json.load(urlopen(request))["matches"]
if matches and matches[0]["file"]["path"] == "/travel/seats.md":
    print("ok", name, "search")
else:
    failed = True
    print(f"FAIL {name}: search found {matches}")
sys.exit(failed)
