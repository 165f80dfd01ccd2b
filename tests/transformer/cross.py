"""Makes cross-encoders out of sentence transformers, with a random head, and the reference's numbers for pairs.

    cross.py FROM DIRECTORY [TEXTS.json]

FROM is a sentence transformer; DIRECTORY gets its network under the names that
BertForSequenceClassification of transformers writes, below a pooler and a classifier of random
weights, pairs.json and logits.f32. So the arithmetic is that of a cross-encoder, and what it
says means nothing. Each text of a list is paired with another one; without a list the pairs
are those of embedding/transformer/testdata/pair, which was written by it from testdata/tiny.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
from reference import Reference
from safetensors.numpy import load_file, save_file
from tiny import writer

LONG = "the dog, the cat, the dog, the cat, the dog, the cat, the dog, the cat, the dog"
PAIRS = [["the cat?", "The cat sat on a mat."], ["window seats", "Café, Zürich! 2026"], ["绿茶", "绿茶"], ["", "a cat"],
         ["the dog", LONG], [LONG, "the mat"], [LONG, LONG + " on a mat"], ["unknown xyz [SEP]", "[MASK] Ыы"], ["the mat", "the cat?"]]


def main():
    source, d = Path(sys.argv[1]), Path(sys.argv[2])
    texts = json.loads(Path(sys.argv[3]).read_text()) if len(sys.argv) > 3 else []
    pairs = [[t, texts[(i * 7 + 3) % len(texts)]] for i, t in enumerate(texts)] or PAIRS
    d.mkdir(parents=True, exist_ok=True)
    write = writer(d)
    config = json.loads((source / "config.json").read_text())
    limit = min(config["max_position_embeddings"], json.loads((source / "sentence_bert_config.json").read_text())["max_seq_length"])
    write("config.json", config | {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}})
    write("tokenizer_config.json", {"model_max_length": limit, "tokenizer_class": "BertTokenizer", "do_lower_case": True})
    shutil.copy(source / "tokenizer.json", d)

    random = np.random.default_rng(2)
    tensors = {k.removeprefix("bert."): v for k, v in load_file(source / "model.safetensors").items() if v.dtype.kind == "f"}
    w = {"bert." + k: v for k, v in tensors.items() if not k.startswith("pooler.")}
    size = config["hidden_size"]
    for name, rows in ("bert.pooler.dense", size), ("classifier", 1):
        w[name + ".weight"] = random.normal(0, size ** -0.5, (rows, size)).astype(np.float32)
        w[name + ".bias"] = random.normal(0, 0.1, rows).astype(np.float32)
    save_file(w, d / "model.safetensors", metadata={"format": "pt"})

    write("pairs.json", pairs)
    reference = Reference(d)
    np.array([reference.score(*p) for p in pairs], dtype="<f4").tofile(d / "logits.f32")


if __name__ == "__main__":
    main()
