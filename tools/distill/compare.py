"""Compares two model files: python compare.py OLD NEW. Fails when they do not agree.

Matrix products differ in their last bits between processors, and training carries that
on. The tolerance: texts keep their vectors (least mean cosine 0.99) and nine of ten of their ten nearest.
"""

import json
import struct
import sys

import numpy as np

import corpus
import teacher
import train

MEAN_COSINE, NEAREST = 0.99, 0.9


def read(path):
    raw = open(path, "rb").read()
    (length,) = struct.unpack("<I", raw[8:12])
    header = json.loads(raw[12 : 12 + length])
    def section(name):
        start, size = header["sections"][name]
        return raw[12 + length + start : 12 + length + start + size]
    scales = np.frombuffer(section("scales"), "<f4")
    return np.frombuffer(section("codes"), np.int8).reshape(len(scales), -1) * scales[:, None]


def main(old, new):
    if open(old, "rb").read() == open(new, "rb").read():
        print("the files are equal, byte for byte")
        return 0
    a, b = read(old), read(new)
    texts, _ = corpus.everyday("", families=800, single=2_000, seed=99)
    counts = train.counts([e.ids for e in teacher.tokenizer().encode_batch(texts, add_special_tokens=False)], len(a))
    va, vb = (counts @ m for m in (a, b))
    va, vb = (v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-9) for v in (va, vb))
    cosine = float((va * vb).sum(1).mean()) if va.shape == vb.shape else 0.0
    nearest = []
    for v in (va, vb):
        s = v @ v.T
        np.fill_diagonal(s, -2)
        nearest.append(np.argsort(-s, axis=1)[:, :10])
    share = float(np.mean([len(set(x) & set(y)) / 10 for x, y in zip(*nearest)]))
    print(f"mean cosine {cosine:.4f} (at least {MEAN_COSINE}), share of the ten nearest {share:.4f} (at least {NEAREST})")
    return int(cosine < MEAN_COSINE or share < NEAREST)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
