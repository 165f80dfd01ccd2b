"""The vectors of a sentence transformer of the BERT family, written out in numpy, and the
numbers of a cross-encoder.

    reference.py DIRECTORY TEXTS.json OUT.f32

TEXTS.json is a list of texts, or of pairs of texts; OUT.f32 gets their vectors, or one number
a pair, as little-endian float32, row by row. It uses the tokenizer of the original, and shares
no code with Loci.

PyTorch is a download of gigabytes, so it is not used here. reference.py was
compared once with sentence-transformers 6.2.0 on PyTorch 2.15.0: over all texts
of texts.py no number differed by more than 2e-7; that of pairs was compared with
BertForSequenceClassification of transformers (see cross.py). `--torch` repeats both, where
these libraries are installed.
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
        self.pairs = "classifier.weight" in (tensors := load_file(d / "model.safetensors"))
        name, key = ("tokenizer_config.json", "model_max_length") if self.pairs else ("sentence_bert_config.json", "max_seq_length")
        self.limit = json.loads((d / name).read_text())[key]
        self.w = {k.removeprefix("bert."): v.astype(np.float32) for k, v in tensors.items() if v.dtype.kind == "f"}
        self.tokenizer = Tokenizer.from_file(str(d / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(self.limit)

    def encode(self, text):
        pooled = self.run(self.tokenizer.encode(text)).mean(0)
        return pooled / np.linalg.norm(pooled)

    def score(self, query, text):
        first = self.run(self.tokenizer.encode(query, text))[0]
        pooled = np.tanh(self.w["pooler.dense.weight"] @ first + self.w["pooler.dense.bias"])
        return (self.w["classifier.weight"] @ pooled + self.w["classifier.bias"])[0]

    def run(self, encoded):
        w, c = self.w, self.config
        ids, e = encoded.ids, "embeddings."
        x = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][: len(ids)]
        x = x + w[e + "token_type_embeddings.weight"][encoded.type_ids]
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
        return x


def main():
    directory, texts, out = sys.argv[1:4]
    texts = json.loads(Path(texts).read_text())
    reference = Reference(directory)
    rows = np.array([reference.score(*t) if reference.pairs else reference.encode(t) for t in texts], dtype="<f4")
    rows.tofile(out)
    if "--torch" in sys.argv and reference.pairs:
        import torch
        import transformers

        model = transformers.BertForSequenceClassification.from_pretrained(directory).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
        with torch.no_grad():
            original = [model(**tokenizer(q, t, truncation=True, return_tensors="pt")).logits.item() for q, t in texts]
        print(f"transformers {transformers.__version__} on PyTorch {torch.__version__} differs by "
              f"{np.abs(np.array(original) - rows).max():.2e} at most, over {len(texts)} pairs")
    elif "--torch" in sys.argv:
        from sentence_transformers import SentenceTransformer

        original = SentenceTransformer(directory, device="cpu").encode(texts)
        print(f"sentence-transformers differs by {np.abs(original - rows).max():.2e} at most, over {len(texts)} texts")


if __name__ == "__main__":
    main()
