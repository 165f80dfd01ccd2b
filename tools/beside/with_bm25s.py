"""bm25s: words alone, English stop words left out, Snowball's stemmer, in memory."""

from importlib.metadata import version

import bm25s
import Stemmer
from beside import serve


class Memory:
    durable = False

    def __init__(self, _directory):
        self.system = "bm25s " + version("bm25s")
        self.stemmer = Stemmer.Stemmer("english")
        self.conversations = {}
        self.indexes = {}

    def save(self, memories):
        for m in memories:
            self.conversations.setdefault(m["conv"], []).append((m["id"], m["text"]))

    def words(self, texts):
        return bm25s.tokenize(texts, stopwords="en", stemmer=self.stemmer, show_progress=False)

    def ready(self):
        for conv, said in self.conversations.items():
            self.indexes[conv] = bm25s.BM25()
            self.indexes[conv].index(self.words([text for _, text in said]), show_progress=False)

    def search(self, conv, query, k):
        said = self.conversations[conv]
        found, scores = self.indexes[conv].retrieve(self.words([query]), k=min(k, len(said)), show_progress=False)
        return [said[i] for i, score in zip(found[0], scores[0], strict=True) if score > 0]


if __name__ == "__main__":
    serve(Memory)
