// What every client does with two servers on one store. A session is
// {names(), call(name, args)}, where call returns the SDK's result.

import assert from "node:assert/strict";

const text = (result) => result.content.map((part) => part.text).join("");

async function check(name, run) {
  try {
    await run();
    console.log("ok " + name);
  } catch (error) {
    console.log("FAIL " + name + ": " + (error.stack ?? error));
    process.exitCode = 1;
  }
}

function refused(result, code, message) {
  assert.equal(result.isError, true);
  assert.equal(text(result), message);
  assert.equal(result.structuredContent.error, message);
  assert.equal(result.structuredContent.code, code);
  assert.ok(result.structuredContent.recovery);
}

export async function story(first, second) {
  let fact, note;
  await check("lists the tools in order", async () => {
    assert.deepEqual(await first.names(), ["manage_memory", "search_memory", "memory_search", "memory_save", "memory_update", "memory_delete"]);
  });
  await check("saves a fact", async () => {
    const result = await first.call("manage_memory", { content: "The zebra deployment is on Tuesday.", metadata: { category: "plan" } });
    fact = result.structuredContent.id;
    assert.equal(text(result), "created memory " + fact);
  });
  await check("another process finds the fact at once", async () => {
    const hits = JSON.parse(text(await second.call("search_memory", { query: "zebra", filter: { category: "plan" } })));
    assert.equal(hits.length, 1);
    assert.equal(hits[0].key, fact);
  });
  await check("another process updates the fact", async () => {
    assert.equal(text(await second.call("manage_memory", { action: "update", id: fact, content: "The zebra deployment is on Friday." })), "updated memory " + fact);
    const hits = JSON.parse(text(await first.call("search_memory", { query: "zebra" })));
    assert.equal(hits[0].value.content, "The zebra deployment is on Friday.");
  });
  await check("deletes the fact", async () => {
    assert.equal(text(await first.call("manage_memory", { action: "delete", id: fact })), "Deleted memory " + fact);
    assert.equal(text(await second.call("search_memory", { query: "zebra" })), "[]");
  });
  await check("a refused fact is an error result", async () => {
    refused(await first.call("manage_memory", { action: "update", content: "x" }), "invalid", "You must provide a MEMORY ID when deleting or updating a MEMORY.");
    refused(await first.call("manage_memory", { action: "delete", id: fact }), "not_found", `no memory with id "${fact}"`);
  });
  await check("saves a note", async () => {
    const result = await first.call("memory_save", { content: "User likes chocolates.", tags: ["food"] });
    note = result.structuredContent.note_id;
    assert.match(note, /^note-[0-9a-f-]{36}$/);
    assert.deepEqual(JSON.parse(text(result)), result.structuredContent);
  });
  await check("another process finds the note at once", async () => {
    const result = await second.call("memory_search", { query: "chocolates", top_k: 3, tags: ["food"] });
    const { created_at: created, ...found } = result.structuredContent.results[0];
    assert.deepEqual(JSON.parse(text(result)), [found]);
    assert.ok(Math.abs(Date.now() - Date.parse(created)) < 600_000, created);
    assert.equal(found.note_id, note);
    assert.equal(found.source, "user_memory");
  });
  await check("updates and deletes the note", async () => {
    await second.call("memory_update", { note_id: note, content: "User is allergic to chocolates." });
    const hits = JSON.parse(text(await first.call("memory_search", { query: "chocolates" })));
    assert.equal(hits[0].text, "User is allergic to chocolates.");
    await first.call("memory_delete", { note_id: note });
    assert.equal(text(await second.call("memory_search", { query: "chocolates" })), "[]");
  });
  await check("refused notes are error results that fit the output schema", async () => {
    refused(await first.call("memory_delete", { note_id: note }), "not_found", "note `" + note + "` not found");
    refused(await first.call("memory_save", { content: " " }), "invalid", "content must not be empty");
    const wrong = await first.call("memory_search", { query: "x", top_k: 99 });
    assert.equal(wrong.isError, true);
    assert.equal(wrong.structuredContent.code, "invalid");
  });
  await check("an unknown tool is a protocol error", async () => {
    await assert.rejects(first.call("nosuch", {}), (error) => error.code === -32602 && /unknown tool/.test(error.message));
  });
}

// A person is asked before a directory goes: answers has what they say, and is told what they
// were asked.
export async function storyOfQuestions(session, answers) {
  await check("a person is asked before a directory is deleted", async () => {
    for (const name of ["a", "b"]) await session.call("memory", { command: "append", path: "/d/" + name, content: "text" });
    const no = await session.call("memory", { command: "delete", path: "/d" });
    assert.equal(no.isError, true);
    assert.equal(no.structuredContent.error.message, "the user declined: nothing was deleted");
    answers.action = "accept";
    const yes = await session.call("memory", { command: "delete", path: "/d" });
    assert.deepEqual(yes.structuredContent.result, { files: 2, dirs: 1 });
    assert.equal(answers.asked.length, 2);
    assert.match(answers.asked[0], /the directory \/d with 2 files/);
  });
}

export const command = process.env.LOCI;
export const args = ["mcp", "--store", process.env.STORE, "--user", "alice", "--tools", "facts,notes"];
export const files = [...args.slice(0, -1), "files"];
