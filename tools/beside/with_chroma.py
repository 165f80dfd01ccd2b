"""Chroma with MiniLM, one collection for each conversation, in files."""

from importlib.metadata import version

import chromadb
from beside import MiniLM, serve


class Memory:
    durable = True

    def __init__(self, directory):
        self.system = f"Chroma {version('chromadb')} with all-MiniLM-L6-v2"
        settings = chromadb.Settings(anonymized_telemetry=False)
        self.client = chromadb.PersistentClient(directory + "/chroma", settings=settings)
        self.embed = MiniLM()
        self.collections = {}

    def save(self, memories):
        for m in memories:
            if m["conv"] not in self.collections:
                self.collections[m["conv"]] = self.client.create_collection(
                    f"conv-{len(self.collections)}", embedding_function=None, metadata={"hnsw:space": "cosine"}
                )
            self.collections[m["conv"]].add(ids=[m["id"]], documents=[m["text"]], embeddings=self.embed([m["text"]]))

    def search(self, conv, query, k):
        found = self.collections[conv].query(query_embeddings=self.embed([query]), n_results=k)
        return list(zip(found["ids"][0], found["documents"][0], strict=True))


if __name__ == "__main__":
    serve(Memory)
