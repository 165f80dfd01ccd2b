"""Trains the token vectors of the static model to agree with the teacher.

The vector of a text is the normalised sum of its tokens' vectors, so a token's
weight is the length of its vector and is learned with it. Two losses, both
against the teacher's vector of the same text:

- cosine: 1 − s·t, with t in the reduced space;
- relation: the cross entropy between softmax(t·t'/τ) and softmax(s·s'/τ) over the
  texts of a batch: who is near whom matters more to a search than how near.

Gradients are written out, since the model is one sparse matrix product.
"""

import numpy as np
from scipy.sparse import csr_matrix


def counts(token_ids, vocabulary: int) -> csr_matrix:
    """The sparse matrix (texts, vocabulary) of how often each token occurs."""
    indptr = np.zeros(len(token_ids) + 1, np.int64)
    np.cumsum([len(t) for t in token_ids], out=indptr[1:])
    indices = np.concatenate([np.asarray(t, np.int32) for t in token_ids]) if len(token_ids) else np.zeros(0, np.int32)
    m = csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=(len(token_ids), vocabulary))
    m.sum_duplicates()
    return m


def _softmax(logits):
    logits -= logits.max(1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(1, keepdims=True)
    return logits


class Trainer:
    def __init__(self, vectors, rate=2e-3, temperature=0.05, relation=0.5, seed=1):
        self.e = vectors.astype(np.float32).copy()
        self.m = np.zeros_like(self.e)
        self.v = np.zeros_like(self.e)
        self.last = np.zeros(len(self.e), np.int64)
        self.step_number = 0
        self.rate, self.temperature, self.relation = rate, temperature, relation
        self.random = np.random.default_rng(seed)

    def step(self, a: csr_matrix, t: np.ndarray, rate: float, dropout=0.0, family=None, blend=0.0):
        """One step on a batch: counts (n, V) and the teacher's unit vectors (n, D). Returns both losses."""
        n = a.shape[0]
        if dropout:
            a = a.copy()
            a.data = a.data * (self.random.random(len(a.data)) >= dropout).astype(np.float32)
        z = a @ self.e
        length = np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-6)
        s = z / length
        cosine = float(1 - np.einsum("ij,ij->", s, t) / n)
        ds = t * np.float32(-1 / n)
        relation = 0.0
        if self.relation:
            p = t @ t.T
            p /= self.temperature
            np.fill_diagonal(p, -1e9)
            p = _softmax(p)
            if family is not None:
                same = (family[:, None] == family[None, :]) & (family >= 0)[:, None]
                np.fill_diagonal(same, False)
                n_same = same.sum(1, keepdims=True)
                share = np.where(n_same > 0, np.float32(blend), np.float32(0)).astype(np.float32)
                p *= 1 - share
                p += share * (same / np.maximum(n_same, 1)).astype(np.float32)
            q = s @ s.T
            q /= self.temperature
            np.fill_diagonal(q, -1e9)
            q = _softmax(q)
            relation = float(np.einsum("ij,ij->", p, np.log(p + 1e-12) - np.log(q + 1e-12)) / n) if self.step_number % 20 == 0 else np.nan
            q -= p
            q *= np.float32(self.relation / (n * self.temperature))
            ds += (q + q.T) @ s
        dz = (ds - np.einsum("ij,ij->i", ds, s)[:, None] * s) / length
        rows = np.unique(a.indices)
        g = a[:, rows].T.tocsr() @ dz
        self._adam(rows, g, rate)
        return cosine, relation

    def _adam(self, rows, g, rate, b1=0.9, b2=0.99):
        # Moments decay only when a row is used, so that rare tokens keep their estimates.
        self.step_number += 1
        self.last[rows] += 1
        k = self.last[rows][:, None]
        m = self.m[rows] * b1 + g * (1 - b1)
        v = self.v[rows] * b2 + g * g * (1 - b2)
        self.m[rows], self.v[rows] = m, v
        self.e[rows] -= (rate * (m / (1 - b1**k)) / (np.sqrt(v / (1 - b2**k)) + 1e-8)).astype(np.float32)
