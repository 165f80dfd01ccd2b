import type { Correction, NamedTime } from "./memories.js";
import { LociError } from "./errors.js";
import { on, type CallOptions, type Transport } from "./transport.js";
import { file, fileContent, shapes } from "./reply.js";

/** A file or a directory. */
export interface File {
  path: string;
  /** The last part of the path; empty for the root. */
  name: string;
  kind: "file" | "dir";
  /** Grows with each change. */
  version: number;
  bytes: number;
  lines: number;
  created_at: string;
  updated_at: string;
  /** Of what a write returns: the file said that already. */
  unchanged?: boolean;
}

export interface FileContent extends File {
  content: string;
}

export interface FileVersion {
  version: number;
  current: boolean;
  bytes: number;
  lines: number;
  written_at: string;
  /** Absent: it is the current one. */
  replaced_at?: string;
}

export interface FileMatch {
  file: File;
  /** From 1. */
  first_line: number;
  last_line: number;
  passage: string;
  score: number;
}

/** Which tree of files: one with a name, such as that of a memory node, and with perThread that of the client's thread. */
export interface Tree {
  memory?: string;
  scope?: "global" | "perThread";
}

/** The files of a tree, such as a model keeps with the tool `memory`. Another tree is {@link Files.tree}. */
export class Files {
  readonly #t: Transport;
  readonly #tree: Tree;
  constructor(t: Transport, tree: Tree = {}) {
    this.#t = t;
    this.#tree = { ...tree };
  }

  tree(tree: Tree): Files {
    return new Files(this.#t, tree);
  }

  /** A page of a directory, or with `recursive` of all files of the tree. What is missing has no entries. */
  list(
    query: { path?: string; recursive?: boolean; limit?: number; cursor?: string } = {},
    o?: CallOptions,
  ): Promise<{ files: File[]; next_cursor?: string }> {
    return this.#t.send({ method: "GET", path: "/v1/files", reply: shapes.files, query: { ...this.#tree, ...query } }, o);
  }

  /** Goes through a directory, or with `recursive` through all files of the tree. */
  async *all(query: { path?: string; recursive?: boolean } = {}, o?: CallOptions): AsyncGenerator<File, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.list({ ...query, limit: 500, ...(cursor === undefined ? {} : { cursor }) }, o);
      yield* page.files;
      if (!page.next_cursor) return;
      cursor = on(cursor, page.next_cursor, "files");
    }
  }

  /** Reads a file, some lines of it, or one of its versions; undefined: there is none. */
  async read(
    path: string,
    part: { version?: number; first_line?: number; last_line?: number } = {},
    o?: CallOptions,
  ): Promise<FileContent | undefined> {
    try {
      const query = { ...this.#tree, path, ...part };
      return await this.#t.send<FileContent>({ method: "GET", path: "/v1/files/content", reply: fileContent, query }, o);
    } catch (error) {
      if (LociError.is(error) && error.code === "not_found") return undefined;
      throw error;
    }
  }

  /** Makes a file or replaces all of it. `create` refuses one that is there, `if_version` one of another version. */
  write(path: string, content: string, only: { create?: boolean; if_version?: number } = {}, o?: CallOptions): Promise<File> {
    return this.#t.send({ method: "PUT", path: "/v1/files/content", reply: file, body: { ...this.#tree, path, content, ...only }, writes: true }, o);
  }

  /** Adds a line of its own to a file, which is made if it is missing. */
  append(path: string, content: string, o?: CallOptions): Promise<File> {
    return this.#t.send({ method: "POST", path: "/v1/files/append", reply: file, body: { ...this.#tree, path, content }, writes: true }, o);
  }

  /** Replaces a text wherever it occurs in a file, and returns how often. */
  async update(path: string, oldContent: string, content: string, o?: CallOptions): Promise<number> {
    const body = { ...this.#tree, path, old_content: oldContent, content };
    const request = { method: "POST", path: "/v1/files/update", reply: shapes.replaced, body, writes: true } as const;
    return (await this.#t.send<{ replaced: number }>(request, o)).replaced;
  }

  /** Moves a file or a directory to where there is nothing. */
  move(path: string, targetPath: string, o?: CallOptions): Promise<void> {
    const body = { ...this.#tree, path, target_path: targetPath };
    return this.#t.send({ method: "POST", path: "/v1/files/move", reply: "nothing", body, writes: true }, o);
  }

  /** Erases a file, or a directory with all that is in it, earlier versions too. */
  delete(path: string, o?: CallOptions): Promise<{ files: number; dirs: number }> {
    return this.#t.send({ method: "DELETE", path: "/v1/files", reply: shapes.fileCounts, query: { ...this.#tree, path }, writes: true }, o);
  }

  /** The versions of a file that are kept: the current one first, then the newest first. */
  async versions(path: string, o?: CallOptions): Promise<FileVersion[]> {
    const request = { method: "GET", path: "/v1/files/versions", reply: shapes.fileVersions, query: { ...this.#tree, path } } as const;
    return (await this.#t.send<{ versions: FileVersion[] }>(request, o)).versions;
  }

  /** Gives a file the content of an earlier version again. */
  restore(path: string, version: number, o?: CallOptions): Promise<File> {
    return this.#t.send({ method: "POST", path: "/v1/files/restore", reply: file, body: { ...this.#tree, path, version }, writes: true }, o);
  }

  /** Finds passages by meaning and by words; with `path` only in that file or below that directory. */
  search(
    query: { query: string; path?: string; mode?: "hybrid" | "keyword" | "semantic"; limit?: number; rerank?: boolean; since?: string; until?: string },
    o?: CallOptions,
  ): Promise<{ matches: FileMatch[]; keyword_only: boolean; not_reranked?: string; corrections?: Correction[]; times?: NamedTime[] }> {
    return this.#t.send({ method: "POST", path: "/v1/files/search", reply: shapes.fileMatches, body: { ...this.#tree, ...query } }, o);
  }
}
