"""LangGraph's InMemoryStore with an index of MiniLM."""

from importlib.metadata import version

from beside import MiniLM, serve
from langgraph.store.memory import InMemoryStore


class Memory:
    durable = False

    def __init__(self, _directory):
        self.system = f"InMemoryStore of LangGraph {version('langgraph')} with all-MiniLM-L6-v2"
        self.store = InMemoryStore(index={"dims": 384, "embed": MiniLM(), "fields": ["text"]})

    def save(self, memories):
        for m in memories:
            self.store.put(("conversations", m["conv"].replace(".", "_")), m["id"], {"text": m["text"], "speaker": m["speaker"]})

    def search(self, conv, query, k):
        found = self.store.search(("conversations", conv.replace(".", "_")), query=query, limit=k)
        return [(item.key, item.value["text"]) for item in found]


if __name__ == "__main__":
    serve(Memory)
