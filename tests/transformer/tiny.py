"""Writes a model of a few kilobytes with random weights, and the reference's vectors for it.

    tiny.py DIRECTORY

It is what `go test` runs where no real model is; embedding/transformer/testdata/tiny
was written by it. Texts and vectors go to texts.json and vectors.f32 in it.
"""

import json
import sys
from pathlib import Path

import numpy as np
from reference import Reference
from safetensors.numpy import save_file

HIDDEN, LAYERS, HEADS, WIDE, POSITIONS = 16, 2, 4, 32, 24
TOKENS = """[PAD] [UNK] [CLS] [SEP] [MASK] . , ! the a cat dog sat on mat win ##dow ##s seat flight e n ##na
cafe zur ##ich 绿 茶 ы ##ы 2 ##0 ##2 ##6""".split()
TEXTS = ["The cat sat on a mat.", "Café, Zürich! 2026", "绿茶", "window seats", "unknown xyz [MASK] [SEP]", "a", "Ыы",
         "the dog, the cat, the dog, the cat, the dog, the cat, the dog, the cat, the dog"]


def writer(d):
    def write(name, value):
        (d / name).write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n")

    return write


def main():
    d = Path(sys.argv[1])
    (d / "1_Pooling").mkdir(parents=True, exist_ok=True)
    write = writer(d)
    write("config.json", {"model_type": "bert", "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
                          "intermediate_size": WIDE, "vocab_size": len(TOKENS), "max_position_embeddings": POSITIONS,
                          "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu", "position_embedding_type": "absolute"})
    write("modules.json", [{"idx": i, "name": str(i), "path": p, "type": "sentence_transformers.models." + t}
                           for i, (p, t) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")])])
    write("1_Pooling/config.json", {"word_embedding_dimension": HIDDEN, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True})
    write("sentence_bert_config.json", {"max_seq_length": 16, "do_lower_case": False})
    special = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
               for i, t in enumerate(TOKENS[:5])]
    write("tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                  "vocab": {t: i for i, t in enumerate(TOKENS)}}})

    random = np.random.default_rng(1)
    w = {}

    def put(name, *shape):
        w[name] = random.normal(0, 0.5, shape).astype(np.float32)

    put("embeddings.word_embeddings.weight", len(TOKENS), HIDDEN)
    put("embeddings.position_embeddings.weight", POSITIONS, HIDDEN)
    put("embeddings.token_type_embeddings.weight", 2, HIDDEN)
    norms = ["embeddings.LayerNorm"]
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            put(layer + name + ".weight", HIDDEN, HIDDEN)
            put(layer + name + ".bias", HIDDEN)
        put(layer + "intermediate.dense.weight", WIDE, HIDDEN)
        put(layer + "intermediate.dense.bias", WIDE)
        put(layer + "output.dense.weight", HIDDEN, WIDE)
        put(layer + "output.dense.bias", HIDDEN)
        norms += [layer + "attention.output.LayerNorm", layer + "output.LayerNorm"]
    for name in norms:
        put(name + ".weight", HIDDEN)
        put(name + ".bias", HIDDEN)
    save_file(w, d / "model.safetensors")

    write("texts.json", TEXTS)
    reference = Reference(d)
    np.array([reference.encode(t) for t in TEXTS], dtype="<f4").tofile(d / "vectors.f32")


if __name__ == "__main__":
    main()
