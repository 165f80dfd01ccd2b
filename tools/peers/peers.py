"""Asks programs for Python the questions of peers: sqlite-vec, hnswlib, tantivy and LanceDB."""

import json
import pathlib
import sys
import time

import numpy
import pysqlite3 as sqlite3  # loads extensions, which that of many Pythons does not

directory, best = pathlib.Path(sys.argv[1]), int(sys.argv[2])
notes = json.loads((directory / "notes.json").read_text())
queries = json.loads((directory / "queries.json").read_text())
exact = json.loads((directory / "exact.json").read_text())
vectors = numpy.fromfile(directory / "notes.f32", dtype="<f4").reshape(len(notes), -1)
asked = numpy.fromfile(directory / "queries.f32", dtype="<f4").reshape(len(queries), -1)
rows = []


def measure(name, does, build, answer):
    """build takes the notes in; answer returns the numbers of what it finds for a question."""
    begin = time.process_time()
    state = build()
    built = time.process_time() - begin
    for i in range(min(20, len(queries))):
        answer(state, i)
    cpu, begin, found = time.process_time(), time.perf_counter(), []
    for i in range(len(queries)):
        found.append(answer(state, i))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - begin
    if not any(found):
        sys.exit(f"{name} found nothing")
    hits = sum(len(set(have) & set(want)) for have, want in zip(found, exact, strict=True))
    rows.append({
        "name": name, "does": does, "build": built, "cpu": cpu / len(queries), "wall": wall / len(queries),
        "found": hits / len(queries) / best if does == "vectors" else -1,
    })


def sqlite_vec():
    import sqlite_vec as extension

    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    extension.load(db)
    db.execute(f"CREATE VIRTUAL TABLE note USING vec0(vector float[{vectors.shape[1]}] distance_metric=cosine)")
    with db:
        db.executemany("INSERT INTO note (rowid, vector) VALUES (?, ?)", ((i, v.tobytes()) for i, v in enumerate(vectors)))
    return db


def ask_sqlite_vec(db, i):
    return [n for (n,) in db.execute("SELECT rowid FROM note WHERE vector MATCH ? AND k = ?", (asked[i].tobytes(), best))]


def hnsw():
    import hnswlib

    index = hnswlib.Index(space="ip", dim=vectors.shape[1])
    index.init_index(max_elements=len(notes), ef_construction=200, M=16)
    index.add_items(vectors)
    index.set_ef(100)
    return index


def tantivy_index():
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_unsigned_field("n", stored=True)
    schema.add_text_field("text", stored=True, tokenizer_name="en_stem")
    index = tantivy.Index(schema.build())
    writer = index.writer()
    for i, note in enumerate(notes):
        writer.add_document(tantivy.Document(n=i, text=note))
    writer.commit()
    index.reload()
    return index, index.searcher()


def ask_tantivy(state, i):
    index, searcher = state
    hits = searcher.search(index.parse_query(queries[i], ["text"]), best).hits
    return [searcher.doc(address)["n"][0] for _, address in hits]


def lance():
    import lancedb
    from lancedb.index import FTS

    db = lancedb.connect(directory / "lance")
    table = db.create_table("note", [{"n": i, "text": t, "vector": vectors[i]} for i, t in enumerate(notes)])
    table.create_index("text", config=FTS()) if lance_has_config(table) else table.create_fts_index("text")
    return table


def lance_has_config(table):
    import inspect

    return "config" in inspect.signature(table.create_index).parameters


def ask_lance(table, i):
    search = table.search(query_type="hybrid").vector(asked[i]).text(queries[i]).limit(best)
    return [r["n"] for r in search.to_list()]


measure("sqlite-vec", "vectors", sqlite_vec, ask_sqlite_vec)
measure("hnswlib", "vectors", hnsw, lambda index, i: index.knn_query(asked[i], k=best)[0][0].tolist())
measure("tantivy", "words", tantivy_index, ask_tantivy)
measure("LanceDB", "vectors", lance, lambda table, i: [r["n"] for r in table.search(asked[i]).limit(best).to_list()])
measure("LanceDB", "both", lambda: __import__("lancedb").connect(directory / "lance").open_table("note"), ask_lance)
json.dump(rows, sys.stdout)
