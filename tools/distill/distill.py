"""Makes embedding/builtin.model: a static embedding model distilled from all-MiniLM-L6-v2.

    ./run.sh            installs what it needs and makes the file; docs/model.md says more

The teacher's vectors are kept in --work, so that a second run trains at once.
"""

import argparse
import hashlib
import json
import struct
from pathlib import Path

import numpy as np

import corpus
import teacher
import train

MODEL = "builtin-1"
TOKENS = 64  # of a text in training; longer ones are rare
FIRST_TOKEN = 999  # ids below are special or unused


def teacher_vectors(work: Path, name: str, texts) -> np.ndarray:
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    path = work / f"{name}-{digest}.npy"
    if not path.exists():
        def progress(done, n):
            print(f"\r{name}: {done} of {n}", end="", flush=True)
        vectors = teacher.encode(texts, progress=progress)
        print()
        np.save(path.with_suffix(".tmp.npy"), vectors)
        path.with_suffix(".tmp.npy").rename(path)
    return np.load(path).astype(np.float32)


def unit(x):
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)


def token_vectors(vocabulary: int) -> np.ndarray:
    """The teacher's vector of each token by itself."""
    t = teacher.Teacher()
    ids = np.array([[101, i, 102] for i in range(vocabulary)], np.int32)  # [CLS] token [SEP]
    return np.concatenate([t.forward(ids[i : i + 512]) for i in range(0, vocabulary, 512)])


def load(work: Path, wordnet: str):
    """Token ids of all texts, the teacher's vectors, the family of each text or −1."""
    texts, vectors, family = [], [], []
    for name, part in corpus.PARTS.items():
        t, f = part(wordnet)
        base = max(family, default=-1) + 1
        texts += t
        vectors.append(teacher_vectors(work, name, t))
        family += [x + base if x >= 0 else -1 for x in f] if f else [-1] * len(t)
    tokenizer = teacher.tokenizer()
    ids = [[i for i in e.ids if i >= FIRST_TOKEN][:TOKENS] for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
    keep = [k for k, i in enumerate(ids) if i]
    return [ids[k] for k in keep], unit(np.concatenate(vectors)[keep]), np.array(family)[keep], tokenizer


def order(rng, vectors, family, groups, size):
    """A shuffled order in which texts that are near one another, or of one family, stand together."""
    centres = vectors[rng.choice(len(vectors), groups, replace=False)]
    near = np.concatenate([(vectors[i : i + 20_000] @ centres.T).argmax(1) for i in range(0, len(vectors), 20_000)])
    label = np.where(family >= 0, rng.permutation(family.max() + 2)[family] + groups, near)
    o = np.lexsort((rng.random(len(label)), label))
    o = o[: len(o) // size * size].reshape(-1, size)
    return o[rng.permutation(len(o))].reshape(-1)


def fit(a, counts, vectors, family, start):
    rng = np.random.default_rng(5)
    t = train.Trainer(start, temperature=a.temperature, relation=a.relation)
    steps, n = a.epochs * (counts.shape[0] // a.batch), 0
    for epoch in range(a.epochs):
        losses = []
        o = order(rng, vectors, family, 400, 64)
        for b in range(0, len(o) - a.batch + 1, a.batch):
            rows = o[b : b + a.batch]
            rate = a.rate * min(1, (n + 1) / 50) * (1 - 0.95 * n / steps)
            losses.append(t.step(counts[rows], vectors[rows], rate, family=family[rows], blend=a.blend))
            n += 1
        print(f"epoch {epoch + 1}: cosine loss {np.mean([x[0] for x in losses]):.4f}, relation loss {np.nanmean([x[1] for x in losses]):.4f}", flush=True)
    return t.e


def write(path: Path, e: np.ndarray, tokens, source):
    """Writes the model file; its format is described at NewStatic in package embedding."""
    greatest = np.abs(e).max(1)
    scales = (greatest / 127).astype("<f4")
    scales[:FIRST_TOKEN] = 0
    codes = np.rint(e / np.maximum(scales, 1e-30)[:, None]).clip(-127, 127).astype(np.int8)
    codes[scales == 0] = 0
    vocabulary = "\n".join(tokens).encode()
    vocabulary_length = len(vocabulary)
    vocabulary += b"\n" * (-len(vocabulary) % 64)
    parts = [vocabulary, scales.tobytes(), codes.tobytes()]
    offsets = np.cumsum([0] + [len(p) for p in parts]).tolist()
    payload = b"".join(parts)
    header = {
        "model": MODEL, "dims": e.shape[1], "vocabulary": len(tokens),
        "sections": {"vocabulary": [0, vocabulary_length], "scales": [offsets[1], len(parts[1])], "codes": [offsets[2], len(parts[2])]},
        "sha256": hashlib.sha256(payload).hexdigest(), "source": source,
    }
    text = json.dumps(header).encode()
    text += b" " * (-(12 + len(text)) % 64)
    path.write_bytes(b"LOCIEMB1" + struct.pack("<I", len(text)) + text + payload)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", type=Path, default=Path(__file__).parents[2] / "embedding" / "builtin.model")
    p.add_argument("--work", type=Path, default=Path.home() / ".cache" / "loci-distill")
    p.add_argument("--wordnet", default="/usr/share/wordnet")
    p.add_argument("--dims", type=int, default=256)
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--batch", type=int, default=1024)
    p.add_argument("--rate", type=float, default=2e-3)
    p.add_argument("--temperature", type=float, default=0.1)
    p.add_argument("--relation", type=float, default=2.0)
    p.add_argument("--blend", type=float, default=0.3, help="share of the relation target that goes to texts of the same family")
    a = p.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    ids, vectors, family, tokenizer = load(a.work, a.wordnet)
    if a.dims < teacher.WIDTH:  # the main directions of the teacher's vectors, which are not centred: angles stay
        _, directions = np.linalg.eigh(vectors.T @ vectors / len(vectors))
        projection = directions[:, ::-1][:, : a.dims]
    else:
        projection = np.eye(teacher.WIDTH, dtype=np.float32)
    vectors = unit(vectors @ projection)
    vocabulary = tokenizer.get_vocab_size()
    counts = train.counts(ids, vocabulary)
    # Smooth inverse frequency (Arora et al. 2017), a = 0.001: what every text has says little.
    frequency = np.asarray(counts.sum(0)).ravel() / counts.sum()
    start = unit(token_vectors(vocabulary) @ projection) * (1e-3 / (1e-3 + frequency))[:, None]
    e = fit(a, counts, vectors, family, start)
    tokens = [tokenizer.id_to_token(i) for i in range(vocabulary)]
    write(a.out, e, tokens, {"teacher": "sentence-transformers/all-MiniLM-L6-v2", "licence": "Apache-2.0",
                             "made": f"tools/distill: {len(ids)} texts, {a.epochs} epochs"})
    print(f"{a.out}: {a.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
