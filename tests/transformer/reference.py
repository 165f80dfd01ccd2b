"""The vectors of a sentence transformer of the BERT family, written out in numpy.

    reference.py DIRECTORY TEXTS.json OUT.f32

TEXTS.json is a list of texts; OUT.f32 gets their vectors as little-endian float32,
row by row. It uses the tokenizer of the original, and shares no code with Loci.

PyTorch is a download of gigabytes, so it is not used here. reference.py was
compared once with sentence-transformers 6.2.0 on PyTorch 2.15.0: over all texts
of texts.py no number differed by more than 2e-7. `--torch` repeats that, where
sentence-transformers is installed.
"""

import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf
from tokenizers import Tokenizer


def norm(x, w, b, epsilon):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * w + b


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Reference:
    def __init__(self, directory):
        d = Path(directory)
        self.config = json.loads((d / "config.json").read_text())
        self.limit = json.loads((d / "sentence_bert_config.json").read_text())["max_seq_length"]
        self.w = {k: v.astype(np.float32) for k, v in load_file(d / "model.safetensors").items() if v.dtype.kind == "f"}
        self.tokenizer = Tokenizer.from_file(str(d / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(self.limit)

    def encode(self, text):
        w, c = self.w, self.config
        ids = self.tokenizer.encode(text).ids
        e = "embeddings."
        x = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][: len(ids)] + w[e + "token_type_embeddings.weight"][0]
        x = norm(x, w[e + "LayerNorm.weight"], w[e + "LayerNorm.bias"], c["layer_norm_eps"])
        heads, size = c["num_attention_heads"], c["hidden_size"] // c["num_attention_heads"]
        for i in range(c["num_hidden_layers"]):
            layer = f"encoder.layer.{i}."

            def dense(name, y):
                return y @ w[layer + name + ".weight"].T + w[layer + name + ".bias"]

            def normed(name, y):
                return norm(y, w[layer + name + ".weight"], w[layer + name + ".bias"], c["layer_norm_eps"])

            q, k, v = (dense("attention.self." + n, x).reshape(len(ids), heads, size).transpose(1, 0, 2) for n in ("query", "key", "value"))
            mixed = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(size)) @ v
            mixed = mixed.transpose(1, 0, 2).reshape(len(ids), heads * size)
            x = normed("attention.output.LayerNorm", x + dense("attention.output.dense", mixed))
            wide = dense("intermediate.dense", x)
            wide = wide / 2 * (1 + erf(wide / np.sqrt(2)))
            x = normed("output.LayerNorm", x + dense("output.dense", wide))
        pooled = x.mean(0)
        return pooled / np.linalg.norm(pooled)


def main():
    directory, texts, out = sys.argv[1:4]
    texts = json.loads(Path(texts).read_text())
    reference = Reference(directory)
    rows = np.array([reference.encode(t) for t in texts], dtype="<f4")
    rows.tofile(out)
    if "--torch" in sys.argv:
        from sentence_transformers import SentenceTransformer

        original = SentenceTransformer(directory, device="cpu").encode(texts)
        print(f"sentence-transformers differs by {np.abs(original - rows).max():.2e} at most, over {len(texts)} texts")


if __name__ == "__main__":
    main()
