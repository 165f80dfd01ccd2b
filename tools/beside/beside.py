"""What the programs here have in common: a line of JSON in, a line of JSON out.

docs/retrieval.md describes the lines. A program gives serve() an object with

    system, durable         what it is, and whether a save is on disk when it ends
    save(memories)          dictionaries with conv, id, text, session, speaker, role, time
    search(conv, query, k)  pairs of id and text, the best first
    ready()                 optional: everything is saved
"""

import json
import os
import sys
from pathlib import Path


def serve(make):
    """Answer requests until there are no more. make(directory) returns the memory."""
    out, sys.stdout = sys.stdout, sys.stderr  # what libraries print is no answer
    memory = None
    for line in sys.stdin:
        request = json.loads(line)
        reply = {}
        try:
            match request["op"]:
                case "begin":
                    memory = make(request["dir"])
                    reply = {"system": memory.system, "durable": memory.durable}
                case "save":
                    memory.save(request["memories"])
                case "ready":
                    if hasattr(memory, "ready"):
                        memory.ready()
                case "search":
                    hits = memory.search(request["conv"], request["query"], request["limit"])
                    reply = {"hits": [{"id": i, "text": t} for i, t in hits]}
                case op:
                    reply = {"error": f"unknown op {op}"}
        except Exception as e:  # the measurement ends with this text
            reply = {"error": f"{type(e).__name__}: {e}"}
        out.write(json.dumps(reply) + "\n")
        out.flush()


class MiniLM:
    """all-MiniLM-L6-v2, of the directory that LOCI_BENCH_MODEL names, in numpy."""

    def __init__(self):
        directory = os.environ.get("LOCI_BENCH_MODEL", "")
        if not (Path(directory) / "model.safetensors").is_file():
            raise RuntimeError("LOCI_BENCH_MODEL must name a directory with the files of all-MiniLM-L6-v2")
        sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "transformer"))
        from reference import Reference

        self.model = Reference(directory)
        self.known = {}

    def __call__(self, texts):
        for text in texts:
            if text not in self.known:
                self.known[text] = self.model.encode(text).tolist()
        return [self.known[text] for text in texts]
