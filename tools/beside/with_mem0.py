"""mem0 without a language model (infer=False), MiniLM, Qdrant in files."""

import os
from importlib.metadata import version

os.environ.setdefault("MEM0_TELEMETRY", "False")
os.environ.setdefault("MEM0_DIR", os.environ.get("TMPDIR", "/tmp") + "/mem0")
os.environ.setdefault("OPENAI_API_KEY", "none: no model is asked")

import mem0
from beside import MiniLM, serve
from mem0.embeddings.base import EmbeddingBase


class Memory:
    durable = True

    def __init__(self, directory):
        self.system = f"mem0 {version('mem0ai')} with all-MiniLM-L6-v2 and Qdrant, without a language model"
        model = MiniLM()

        class Embedder(EmbeddingBase):
            def embed(self, text, memory_action=None):
                return model([text])[0]

            def embed_batch(self, texts, memory_action=None):
                return model(texts)

        store = {"collection_name": "bench", "path": directory + "/qdrant", "embedding_model_dims": 384, "on_disk": True}
        self.memory = mem0.Memory.from_config(
            {"vector_store": {"provider": "qdrant", "config": store}, "history_db_path": directory + "/history.db"}
        )
        self.memory.embedding_model = Embedder()

    def save(self, memories):
        for m in memories:
            self.memory.add(m["text"], user_id=m["conv"], infer=False, metadata={"turn": m["id"]})

    def search(self, conv, query, k):
        found = self.memory.search(query, filters={"user_id": conv}, top_k=k, threshold=0.0)
        return [(hit["metadata"]["turn"], hit["memory"]) for hit in found["results"]]


if __name__ == "__main__":
    serve(Memory)
