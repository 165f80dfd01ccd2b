"""What the server replies: dictionaries with the fields of the REST interface. A later server may add fields."""

from __future__ import annotations

from typing import Any, Literal, Optional, TypedDict

from loci_memory.calls.form import Listed

JSON = dict[str, Any]


class _Info(TypedDict):
    name: str
    version: str
    api: int
    families: list[str]
    tools: list[str]


class Info(_Info, total=False):
    embedder: str  # absent: search is by keyword only


# Conversations.


class StoredMessage(TypedDict):
    """A message in LangChain's stored form."""

    type: str  # human, ai, system, tool, function, chat, generic, remove
    data: JSON  # content, id, name, tool_calls, …; unknown fields survive


class Message(StoredMessage):
    """A message as it was read."""

    seq: int  # consecutive from 1
    created_at: str


class _Session(TypedDict):
    id: str
    status: Literal["active", "expired"]
    created_at: str
    updated_at: str  # of the last activity
    message_count: int
    last_seq: int


class Session(_Session, total=False):
    metadata: JSON
    max_messages: int
    timeout_seconds: int
    summary: JSON


class _SessionPage(TypedDict):
    sessions: list[Session]


class SessionPage(_SessionPage, total=False):
    next_cursor: str  # goes on; absent at the end


class Appended(TypedDict):
    session_id: str
    created: bool  # the session, by this append
    first_seq: int
    last_seq: int
    count: int  # how many were appended
    created_at: str  # of the messages
    message_count: int  # how many the session holds now
    trimmed: int  # messages erased, since the session keeps no more


class _History(TypedDict):
    session_id: str
    messages: list[Message]


class _OpenAIHistory(TypedDict):
    session_id: str
    messages: list[JSON]  # OpenAI chat messages


class OpenAIHistory(_OpenAIHistory, total=False):
    next: int


class History(_History, total=False):
    next: int  # goes on as after, or as before in descending order; absent at the end, and with last


class Cleared(TypedDict):
    sessions: int
    messages: int


class Trimmed(TypedDict):
    erased: int
    message_count: int  # that are left


class Popped(TypedDict):
    session_id: str
    message: Optional[Message]  # that was taken; None: there was none
    message_count: int  # that are left


class Imported(TypedDict):
    session_id: str
    imported: int
    replaced: int  # messages that gave way
    trimmed: int


class SessionDocument(TypedDict):
    """An exported session."""

    format: str  # loci.session
    version: int
    session: JSON
    messages: list[Message]


class SessionHit(TypedDict):
    session_id: str
    seq: int
    type: str
    speaker: str
    created_at: str
    passage: str
    score: float  # 0 to 1: about the chance that it answers


class Correction(TypedDict):
    word: str  # of the query, that nobody has
    searched_for: list[str]


class _NamedTime(TypedDict):
    text: str  # as the query has it, such as "last week"


class NamedTime(_NamedTime, total=False):
    since: str  # its first moment; absent: it has no beginning
    until: str  # the moment after its last; absent: it has no end
    yearly: bool  # no year is named: these are those of the latest one


class _SessionHits(TypedDict):
    results: Listed[SessionHit]
    keyword_only: bool  # the embedder did not answer: this is what the words found


class SessionHits(_SessionHits, total=False):
    no_words: bool
    not_reranked: str  # why the re-ranker has not read the results though it was to
    corrections: list[Correction]
    times: list[NamedTime]


class _Summarised(TypedDict):
    session_id: str
    done: bool  # a new summary was stored
    tokens_before: int
    tokens_after: int


class Summarised(_Summarised, total=False):
    summary: JSON


class _Reminders(TypedDict):
    text: str  # for a model, beside the conversation
    tokens: int
    token_budget: int
    tokenizer: str
    shown: Listed[JSON]


class Reminders(_Reminders, total=False):
    keyword_only: bool


# Memories.


class _Item(TypedDict):
    namespace: list[str]
    key: str
    value: JSON
    created_at: str
    updated_at: str


class Item(_Item, total=False):
    expires_at: str  # absent: never
    score: float  # of a search with a query, 0 to 1


class _Memory(TypedDict):
    type: Literal["fact", "rule", "episode", "item", "message", "session", "file", "thread"]  # the field of this name is there
    id: str
    passage: str
    score: float  # of a search about the chance that it answers, 0 to 1
    explain: JSON  # how the score came about


class Items(TypedDict):
    items: list[Item]


class Namespaces(TypedDict):
    namespaces: list[list[str]]


class _Outcome(TypedDict):
    op: str


class Outcome(_Outcome, total=False):
    """What became of one operation of a batch."""

    item: Item
    items: list[Item]
    namespaces: list[list[str]]
    error: JSON


class BatchResults(TypedDict):
    results: list[Outcome]


class FoundMemory(_Memory, total=False):
    fact: JSON
    rule: JSON
    episode: JSON
    item: Item
    message: Entry
    session: Entry  # the passage is of the message that fits best
    file: Entry  # the passage is of it
    thread: Entry  # of a graph, found by its name
    confidence: float  # of a recalled one
    fit: float  # of a recalled one: about the chance that it answers


class _Found(TypedDict):
    matches: list[FoundMemory]  # best first
    keyword_only: bool


class Found(_Found, total=False):
    no_words: bool  # the query has no word, such as ?!: nothing fits it
    not_reranked: str  # as of SessionHits
    corrections: list[Correction]
    times: list[NamedTime]  # that the query names


class _Recalled(TypedDict):
    memories: list[FoundMemory]  # best first
    weights: JSON
    keyword_only: bool
    at: str


class Recalled(_Recalled, total=False):
    times: list[NamedTime]  # that the topic names
    unfit: int  # candidates that were left out for min_score


class _Context(TypedDict):
    text: str  # for the system prompt; empty if there is nothing to remember
    tokens: int
    token_budget: int
    tokenizer: str
    shown: Listed[JSON]
    omitted: Listed[JSON]
    at: str


class Context(_Context, total=False):
    weights: JSON
    unfit: int  # candidates that were left out for min_score
    keyword_only: bool


class _Note(TypedDict):
    id: str  # note-<uuid>, or the id of a fact
    content: str
    tags: list[str]
    validity: str
    version: int
    created_at: str
    updated_at: str
    confirmed_at: str


class Note(_Note, total=False):
    value: Any
    subject: str
    predicate: str
    metadata: JSON
    superseded_by: str


class _SavedNote(TypedDict):
    id: str
    outcome: Literal["created", "duplicate_of"]  # duplicate_of: nothing was stored, it was there already


class SavedNote(_SavedNote, total=False):
    related_to: str  # an older memory that says it in mostly the same words
    possible_update_of: str  # an older memory of the same subject that says something else


class _NotePage(TypedDict):
    notes: list[Note]  # newest first


class NotePage(_NotePage, total=False):
    next_cursor: str


class _Entry(TypedDict):
    id: str
    kind: str  # note, fact, rule, episode, item, session, message, file, thread
    state: Literal["live", "fading", "waiting", "superseded", "forgotten", "expired"]
    namespace: Listed[str]  # relative to the caller's own
    tags: list[str]
    version: int
    created_at: str
    updated_at: str


class Entry(_Entry, total=False):
    """A memory of any kind."""

    subject: str  # the key of a fact that has one
    predicate: str
    scope: str
    key: str  # of an item; the id of a session or a thread, the path of a file
    content: str
    value: Any
    metadata: JSON
    details: JSON  # what is only of its kind
    confidence: float
    supersedes: str
    superseded_by: str
    confirmed_at: str
    expires_at: str
    source: JSON


class _EntryPage(TypedDict):
    memories: list[Entry]  # newest first


class EntryPage(_EntryPage, total=False):
    next_cursor: str


class Due(Entry, total=False):
    reason: str  # why somebody should look at it


class _DuePage(TypedDict):
    memories: list[Due]


class DuePage(_DuePage, total=False):
    next_cursor: str


class Links(TypedDict):
    links: list[JSON]  # from, type, to, created_at


class Past(TypedDict):
    revisions: list[JSON]  # what it said under its id, newest first
    chain: list[Entry]  # the facts that gave way one to the next, oldest first


_Origin = TypedDict("_Origin", {"source": JSON, "from": list[Entry], "missing": int, "events": list[JSON]})


class Origin(_Origin):
    """Where a memory comes from."""


class Place(TypedDict):
    namespace: Listed[str]
    counts: dict[str, int]  # by kind, in every state
    total: int


class _Places(TypedDict):
    namespaces: list[Place]
    outside: list[Place]  # where tools keep memories that no list here shows


class Places(_Places, total=False):
    next_cursor: str


class Export(TypedDict):
    lines: list[str]  # as lines of a file they are what `loci export` writes
    left_out: int  # memories that lie where tools keep them and the export does not look


class ExportPart(Export, total=False):
    next_cursor: str


class _ImportReport(TypedDict):
    format: str
    created: int
    existing: int  # what they say is there already
    conflicts: int  # left out: something else is there under their id or key


class ImportReport(_ImportReport, total=False):
    skipped: list[str]  # the first 20 of these
    moved: int  # ids of the lines that stand for others here


class _ErasedMemories(TypedDict):
    selected: int  # how many memories the conditions select
    erased: int


class ErasedMemories(_ErasedMemories, total=False):
    left: int  # the client asks for these itself: no reply of its methods has it, nor next_cursor
    next_cursor: str


class Stats(TypedDict):
    counts: dict[str, int]  # by kind, in every state; notes count as facts
    total: int
    states: JSON


class _Event(TypedDict):
    id: str
    seq: int
    event_type: str
    entity_type: str
    entity_id: str
    namespace: Listed[str]
    occurred_at: str
    actor: str


class Event(_Event, total=False):
    request_id: str
    payload: Any


class _EventPage(TypedDict):
    events: list[Event]  # newest first


class EventPage(_EventPage, total=False):
    next_cursor: str


class _Tool(TypedDict):
    name: str
    title: str
    description: str  # for the model
    family: str
    input_schema: JSON
    annotations: JSON


class Tool(_Tool, total=False):
    output_schema: JSON


class Tools(TypedDict):
    tools: list[Tool]


class _ToolReply(TypedDict):
    text: str  # for the model
    is_error: bool  # the tool refused the call; the text says why


class ToolReply(_ToolReply, total=False):
    structured: JSON


# Files and agents of a graph.


class _File(TypedDict):
    path: str
    name: str  # the last part of the path; empty for the root
    kind: Literal["file", "dir"]
    version: int  # grows with each change
    bytes: int
    lines: int
    created_at: str
    updated_at: str


class File(_File, total=False):
    unchanged: bool  # of what a write returns: the file said that already


class FileContent(File):
    content: str


class _FilePage(TypedDict):
    files: list[File]


class FilePage(_FilePage, total=False):
    next_cursor: str


class FileCounts(TypedDict):
    files: int
    dirs: int


class Replaced(TypedDict):
    replaced: int


class _FileVersion(TypedDict):
    version: int
    current: bool
    bytes: int
    lines: int
    written_at: str


class FileVersion(_FileVersion, total=False):
    replaced_at: str  # absent: it is the current one


class FileVersions(TypedDict):
    versions: list[FileVersion]


class FileMatch(TypedDict):
    file: File
    first_line: int  # from 1
    last_line: int
    passage: str
    score: float


class _FileMatches(TypedDict):
    matches: list[FileMatch]  # best first
    keyword_only: bool


class FileMatches(_FileMatches, total=False):
    corrections: list[Correction]
    times: list[NamedTime]


class Injected(TypedDict):
    messages: list[JSON]


class Agent(TypedDict):
    id: str
    tools: list[str]  # the names of those that the caller may use
    connector: bool  # it has one


class Agents(TypedDict):
    agents: list[Agent]


class Typed(TypedDict):
    """A value as a serializer wrote it: bytes in base64."""

    type: str
    data: str


class _Write(TypedDict):
    task_id: str
    channel: str
    value: Typed


class Write(_Write, total=False):
    task_path: str
    idx: int


class _Checkpoint(TypedDict):
    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    checkpoint: Typed
    metadata: JSON
    channel_values: dict[str, Typed]
    pending_writes: list[Write]
    created_at: str


class Checkpoint(_Checkpoint, total=False):
    parent_checkpoint_id: str
    format: int
    metadata_typed: Typed
    channel_versions: dict[str, str]


class FetchedTyped(TypedDict, total=False):
    """A value as bytes, or in base64 from a server that sends no parts."""

    type: str
    data: Any
    id: str  # what has one never changes


class _FetchedWrite(TypedDict):
    task_id: str
    channel: str
    value: FetchedTyped


class FetchedWrite(_FetchedWrite, total=False):
    task_path: str
    idx: int


class _FetchedCheckpoint(TypedDict):
    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    checkpoint: FetchedTyped
    metadata: JSON
    channel_values: dict[str, FetchedTyped]
    pending_writes: list[FetchedWrite]
    created_at: str


class FetchedCheckpoint(_FetchedCheckpoint, total=False):
    parent_checkpoint_id: str
    format: int
    metadata_typed: FetchedTyped
    sends: list[FetchedWrite]  # of the parent, to its tasks; absent from a server that sends no parts


class _Copied(TypedDict):
    copied: int  # by now


class Copied(_Copied, total=False):
    next_cursor: str  # goes on; absent at the end


class _Erased(TypedDict):
    erased: int


class Erased(_Erased, total=False):
    next_cursor: str  # goes on; absent at the end


class _CheckpointPage(TypedDict):
    checkpoints: list[Checkpoint]


class CheckpointPage(_CheckpointPage, total=False):
    next_cursor: str
