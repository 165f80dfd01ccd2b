package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// personConfig offers every family to one agent, and one tool that keeps its memories
// where the person's own lists do not look.
const personConfig = `user: alice
agent: planner
org: acme
scopes: [read, write, delete, delegate]
tools:
  - all
  - claude
  - tool: memory_save
    name: save_for_team
    namespace: [org, "{org_id}"]
`

// A household is an agent that has every family of tools, and the person whose memory it
// is, on the command line and over REST: three programs over one file.
type household struct {
	t     *testing.T
	flags []string // of each command
	url   string   // of the server
	agent *sdk.ClientSession
	ids   map[string]string // what the agent stored, by kind
	seen  int               // observations
}

func newHousehold(t *testing.T) *household {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "loci.yaml")
	if err := os.WriteFile(config, []byte(personConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	t.Setenv("LOCI_AUTH_MODE", "none")
	h := &household{t: t, ids: map[string]string{}}
	h.flags = []string{"--config=" + config, "--store=sqlite:" + filepath.Join(dir, "loci.db")}
	server := exec.Command("loci", append(h.flags, "--listen=127.0.0.1:0", "serve")...)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	h.url = strings.TrimSpace(line)
	client := sdk.NewClient(&sdk.Implementation{Name: "planner-program", Version: "1"}, nil)
	h.agent,
		err = client.Connect(t.Context(), &sdk.CommandTransport{Command: exec.Command("loci", append(h.flags, "mcp")...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.agent.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// tool is a call of the agent; its reply is text.
func (h *household) tool(name, arguments string) string {
	h.t.Helper()
	r, err := h.agent.CallTool(h.t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	var said strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			said.WriteString(text.Text)
		}
	}
	h.later()
	return said.String()
}

// later waits for the next millisecond: what was stored in one is listed by id, the older first.
func (h *household) later() {
	h.t.Helper()
	for now := time.Now().UnixMilli(); time.Now().UnixMilli() == now; {
		time.Sleep(100 * time.Microsecond)
	}
}

// loci is a command of the person's; it must end with this exit code.
func (h *household) loci(code int, args ...string) (stdout, stderr string) {
	h.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(h.t.Context(), "loci", append(h.flags, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	got := 0
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			h.t.Fatal(err)
		}
		got = exit.ExitCode()
	}
	if got != code {
		h.t.Errorf("loci %v: exit code %d, not %d: %s", args, got, code, &errs)
	}
	return out.String(), errs.String()
}

// prints is what a command prints.
func (h *household) prints(args ...string) string {
	h.t.Helper()
	out, _ := h.loci(0, args...)
	return out
}

// rest is a request of the person's; it must have this status.
func (h *household) rest(status int, method, path, body string) string {
	h.t.Helper()
	got, reply := request(h.t, method, h.url+path, body)
	if got != status {
		h.t.Errorf("%s %s: %d %s", method, path, got, reply)
	}
	h.later()
	return reply
}

// reads is what is in a file.
func (h *household) reads(path string) string {
	h.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

// at is the text at a place of JSON, such as memories.0.id; "" if nothing is there.
func (h *household) at(document, path string) string {
	h.t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(document))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		h.t.Errorf("%v: %s", err, document)
		return ""
	}
	text, _ := look(v, strings.Split(path, "."))
	return text
}

// each are the texts at a place of every member of a list.
func (h *household) each(document, list, path string) string {
	h.t.Helper()
	var all []json.RawMessage
	if list != "" {
		document = h.at(document, list)
	}
	if err := json.Unmarshal([]byte(document), &all); err != nil {
		h.t.Errorf("%v: %s", err, document)
	}
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = h.at(string(one), path)
	}
	return strings.Join(texts, " ")
}

// is an observation: something is as it must be.
func (h *household) is(what, got, want string) {
	h.t.Helper()
	h.seen++
	if got != want {
		h.t.Errorf("%s: %q, not %q", what, got, want)
	}
}

// says is an observation: each of some texts is in another.
func (h *household) says(what, got string, wanted ...string) {
	h.t.Helper()
	h.seen++
	for _, want := range wanted {
		if !strings.Contains(got, want) {
			h.t.Errorf("%s lacks %q: %s", what, want, got)
		}
	}
}

// silent is an observation: a text is not in another.
func (h *household) silent(what, got, not string) {
	h.t.Helper()
	h.seen++
	if strings.Contains(got, not) {
		h.t.Errorf("%s has %q: %s", what, not, got)
	}
}

// store lets the agent store with every family of tools. It lets the program around the agent
// store what programs keep: a conversation, an item, checkpoints.
func (h *household) store() {
	h.t.Helper()
	h.ids["note"] = h.at(h.tool("memory_save", `{"content":"Prefers window seats.","tags":["travel"]}`), "note_id")
	h.says("manage_memory", h.tool("manage_memory", `{"content":"Allergic to walnuts.","metadata":{"category":"health"}}`), "created memory")
	h.ids["blue"] = h.at(h.tool("memory_store_fact", `{"subject":"user","predicate":"favorite_color","content":"blue"}`), "id")
	green := h.tool("memory_store_fact", `{"subject":"user","predicate":"favorite_color","content":"green"}`)
	h.ids["fact"] = h.at(green, "id")
	h.is("what the new colour supersedes", h.at(green, "superseded_id"), h.ids["blue"])
	h.ids["rule"] = h.at(h.tool("memory_store_rule", `{"content":"Ask before booking.","scope":"planner"}`), "id")
	h.ids["episode"] = h.at(h.tool("memory_store_episode", `{"content":"Asked about walnut cake.","butler":"planner"}`), "id")
	h.tool("memory", `{"command":"append","path":"/trip.md","content":"Rome in May."}`)
	h.says("Claude's tool", h.tool("claude_memory", `{"command":"create","path":"/memories/plan.md","file_text":"Pack light.\n"}`), "plan.md")
	h.tool("save_for_team", `{"content":"The office closes at six."}`)
	h.rest(200, "POST", "/v1/sessions/chat/messages", `{"messages":[{"role":"user","content":"Where do I sit?"},{"role":"assistant","content":"At the window."}]}`)
	h.rest(204, "PUT", "/v1/items", `{"namespace":["trips"],"key":"rome","value":{"seat":"12A"}}`)
	h.rest(204, "PUT", "/v1/checkpoints", `{"thread_id":"graph","checkpoint_id":"1","checkpoint":{"type":"json","data":"e30="}}`)
}

// TestPersonSeesWhatTheAgentKeeps: one agent with every family, and beside it the person whose
// memory it is. The person sees each memory with its kind, state, namespace, key and source,
// narrows lists by them, makes changes and takes them back. Each of the two sees what the other
// did.
func TestPersonSeesWhatTheAgentKeeps(t *testing.T) {
	h := newHousehold(t)
	h.store()
	h.looks()
	h.narrows()
	h.leaves()
	h.changes()
	h.erases()
	if h.seen < 100 {
		t.Errorf("there are only %d observations", h.seen)
	}
}

// looks: lists, single memories and counts have all kinds.
func (h *household) looks() {
	const kinds = "thread item session file file episode rule fact note note"
	list := h.prints("list", "--json")
	h.is("kinds on the command line", h.each(list, "memories", "type"), kinds)
	over := h.rest(200, "GET", "/v1/memories", "")
	h.is("kinds over REST", h.each(over, "memories", "kind"), kinds)
	h.is("their order", h.each(over, "memories", "id"), strings.ReplaceAll(h.each(list, "memories", "id"), "note-", ""))
	h.is("states on the command line", h.each(list, "memories", "state"), "live live live live live waiting live live live live")
	h.is("states over REST", h.each(over, "memories", "state"), h.each(list, "memories", "state"))
	h.is("namespaces on the command line", h.each(list, "memories", "namespace"), strings.TrimSpace(
		`["user","alice"] ["user","alice","trips"] `+strings.Repeat(`["user","alice"] `, 8)))
	h.is("namespaces over REST", h.each(over, "memories", "namespace"), `[] ["trips"] [] [] [] [] [] [] [] []`)
	h.is("keys", h.each(list, "memories", "key"), "graph rome chat /plan.md /trip.md     ")
	h.is("keys over REST", h.each(over, "memories", "key"), h.each(list, "memories", "key"))
	h.is("tools", h.each(list, "memories", "source.tool"),
		"   claude_memory memory memory_store_episode memory_store_rule memory_store_fact manage_memory memory_save")
	h.is("sources over REST", h.each(over, "memories", "source"), h.each(list, "memories", "source"))
	h.is("who stored", h.each(list, "memories", "source.kind"), "user user user agent agent agent agent agent agent agent")
	h.is("programs", h.each(list, "memories", "source.client"),
		strings.Repeat("Go-http-client/1.1 ", 3)+strings.TrimSpace(strings.Repeat("planner-program/1 ", 7)))
	for i, kind := range strings.Fields(kinds) {
		id := strings.Fields(h.each(over, "memories", "id"))[i]
		h.ids[kind] = id
		h.is("get of a "+kind, h.at(h.prints("get", id, "--json"), "type"), kind)
		h.is("GET of a "+kind, h.at(h.rest(200, "GET", "/v1/memories/"+id, ""), "kind"), kind)
	}
	h.says("get of a file", h.prints("get", h.ids["file"]), "Rome in May.")
	h.says("get of a fact", h.prints("get", h.ids["fact"]), "subject: user\n", "predicate: favorite_color\n", "\ngreen\n")
	h.is("counts", h.at(h.prints("stats", "--json"), "counts"),
		`{"episode":1,"fact":4,"file":2,"item":1,"message":2,"rule":1,"session":1,"thread":1}`)
	h.is("counts over REST", h.at(h.rest(200, "GET", "/v1/stats", ""), "counts"), h.at(h.prints("stats", "--json"), "counts"))
	h.is("counts of the agent", h.at(h.tool("memory_stats", `{}`), "facts.superseded"), "1")
}

// narrows: by key, kind, state, namespace and tag, in lists and searches of each.
func (h *household) narrows() {
	key := url.QueryEscape(`{"subject":"user"}`)
	h.is("by key", h.each(h.prints("list", "--filter", `{"subject":"user"}`, "--json"), "memories", "content"), "green")
	h.is("by key over REST", h.each(h.rest(200, "GET", "/v1/memories?filter="+key, ""), "memories", "content"), "green")
	h.is("search by key", h.each(h.prints("search", "--filter", `{"subject":"user"}`, "colour", "--json"), "results", "content"), "green")
	h.is("search by key over REST", h.each(h.rest(200, "POST", "/v1/search", `{"filter":{"subject":"user"}}`), "matches", "fact.content"), "green")
	h.is("the agent's facts by key", h.each(h.tool("search_memory", `{"query":"","filter":{"subject":"user"}}`), "", "value.predicate"), "favorite_color")
	h.is("the agent's memories by key", h.each(h.tool("memory_memory_search", `{"query":"colour","filter":{"predicate":"favorite_color"}}`), "results", "content"), "green")
	h.is("the agent's recall by key", h.each(h.tool("memory_recall", `{"topic":"colour","filter":{"subject":"user"}}`), "results", "subject"), "user")
	h.is("the agent's notes by key", h.each(h.tool("memory_search", `{"query":"colour","filter":{"subject":"user"}}`), "", "text"), "[user] [favorite_color]: green")
	h.is("recall by key", h.each(h.prints("recall", "colour", "--filter", `{"subject":"user"}`, "--json"), "results", "content"), "green")
	h.is("recall by key over REST", h.each(h.rest(200, "POST", "/v1/recall", `{"topic":"colour","filter":{"subject":"user"}}`), "memories", "fact.content"), "green")
	h.is("by kind", h.each(h.prints("list", "--kind", "rule", "--kind", "episode", "--json"), "memories", "type"), "episode rule")
	h.is("by kind over REST", h.each(h.rest(200, "GET", "/v1/memories?kind=file&kind=thread", ""), "memories", "key"), "graph /plan.md /trip.md")
	h.is("a thread by its name", h.each(h.prints("search", "which graph", "--kind", "thread", "--json"), "results", "id"), h.ids["thread"])
	h.is("a thread by its name over REST", h.each(h.rest(200, "POST", "/v1/search", `{"query":"graph","types":["thread"]}`), "matches", "id"), h.ids["thread"])
	h.is("by state", h.each(h.prints("list", "--state", "superseded", "--json"), "memories", "content"), "blue")
	h.is("by state over REST", h.each(h.rest(200, "GET", "/v1/memories?state=waiting", ""), "memories", "kind"), "episode")
	h.is("by namespace", h.each(h.prints("list", "--namespace", "user/alice/trips", "--json"), "memories", "key"), "rome")
	h.is("by namespace over REST", h.each(h.rest(200, "GET", "/v1/memories?namespace=trips", ""), "memories", "key"), "rome")
	h.is("by tag", h.each(h.prints("list", "--tag", "travel", "--json"), "memories", "content"), "Prefers window seats.")
	h.is("search finds rules", h.each(h.prints("search", "booking", "--kind", "rule", "--json"), "results", "id"), h.ids["rule"])
	h.is("search finds episodes", h.each(h.rest(200, "POST", "/v1/search", `{"query":"walnut cake","types":["episode"]}`), "matches", "id"), h.ids["episode"])
	h.says("the agent reads its conversations", h.tool("memory_list_sessions", `{}`), `"session_id":"chat"`, "Where do I sit?")
	h.says("the person, too", h.prints("session", "show", "chat"), "At the window.")
}

// leaves: the list of namespaces says where other memories lie, and an export says how many it
// leaves out.
func (h *household) leaves() {
	h.says("namespaces", h.prints("namespaces"), "org/acme\t1\t1 note or fact\toutside\n")
	h.is("namespaces over REST", h.at(h.rest(200, "GET", "/v1/namespaces", ""), "outside.0.namespace"), `["org","acme"]`)
	h.says("the memory of the team", h.prints("list", "--namespace", "org/acme"), "The office closes at six.")
	file := filepath.Join(h.t.TempDir(), "all.jsonl")
	h.is("left out", h.at(h.prints("export", file, "--json"), "left_out"), "1")
	h.loci(0, "--user=carol", "import", file)
	over := h.rest(200, "GET", "/v1/export", "")
	h.is("left out over REST", h.at(over, "left_out"), "1")
	h.is("exported over REST", h.at(over, "lines.len"), fmt.Sprint(strings.Count(h.reads(file), "\n")))
	h.is("kinds of what was exported", h.each(h.prints("--user=carol", "list", "--json", "--history"), "memories", "type"),
		"thread item session file file episode rule fact fact note note")
	h.is("its states", h.each(h.prints("--user=carol", "list", "--json", "--history", "--kind=fact"), "memories", "state"), "live superseded")
	h.says("its files", h.prints("--user=carol", "file", "read", "/trip.md"), "Rome in May.")
	h.is("its source", h.each(h.prints("--user=carol", "list", "--json", "--kind=note"), "memories", "source.tool"), "manage_memory memory_save")
}

// changes: the verbs of the lifecycle; what the person does, the agent sees, and the other
// way round.
func (h *household) changes() {
	fact, rule, note := h.ids["fact"], h.ids["rule"], h.ids["note"]
	h.prints("forget", fact)
	h.silent("the agent's search after the person forgot", h.tool("memory_memory_search", `{"query":"favorite color"}`), "green")
	h.says("what was forgotten", h.rest(200, "GET", "/v1/memories?state=forgotten", ""), fact)
	h.rest(200, "POST", "/v1/memories/"+fact+"/restore", "")
	h.says("the agent's search after the person restored", h.tool("memory_memory_search", `{"query":"favorite color"}`), "green", "favorite_color")
	h.says("the agent forgets", h.tool("memory_forget", `{"type":"fact","id":"`+fact+`"}`), `"forgotten":true`)
	h.says("what the agent forgot", h.prints("list", "--state", "forgotten"), "green")
	h.prints("restore", fact)
	red := h.prints("supersede", fact, "red")
	h.says("the agent reads what the person superseded", h.tool("memory_get", `{"type":"fact","id":"`+strings.TrimSpace(red)+`"}`), `"content":"red"`)
	h.is("its history", h.each(h.prints("history", fact, "--json"), "chain", "content"), "blue green red")
	h.is("its history over REST", h.each(h.rest(200, "GET", "/v1/memories/"+fact+"/history", ""), "chain", "state"), "superseded superseded live")
	h.says("an earlier colour comes back", h.prints("restore", h.ids["blue"], "--json"), `"blue"`)
	h.says("the agent recalls it", h.tool("memory_recall", `{"topic":"favorite color"}`), `"content":"blue"`)
	h.is("the person rates a rule", h.at(h.prints("helpful", rule, "--json"), "details.success_count"), "1")
	h.rest(200, "POST", "/v1/memories/"+rule+"/harmful", `{"reason":"It asked twice."}`)
	h.says("the agent sees why", h.tool("memory_get", `{"type":"rule","id":"`+rule+`"}`), "It asked twice.")
	h.tool("memory_mark_helpful", `{"rule_id":"`+rule+`"}`)
	h.is("the person sees the agent's mark", h.at(h.prints("get", rule, "--json"), "details.success_count"), "2")
	h.says("the person confirms", h.prints("confirm", note, "--json"), `"confirmed_at"`)
	h.is("what to review", h.each(h.rest(200, "GET", "/v1/review", ""), "memories", "kind"), "episode rule")
	h.prints("update", note, "Prefers aisle seats.")
	h.says("the agent finds what the person corrected", h.tool("memory_search", `{"query":"seats"}`), "Prefers aisle seats.")
	h.tool("memory_update", `{"note_id":"note-`+note+`","content":"Prefers exit rows."}`)
	h.says("the person sees both earlier texts", h.prints("history", note), "window", "aisle")
	first := h.at(h.prints("history", note, "--json"), "revisions.1.version")
	h.rest(200, "POST", "/v1/memories/"+note+"/restore", `{"version":`+first+`}`)
	h.says("the agent finds the first text", h.tool("memory_search", `{"query":"seats"}`), "window")
	h.says("as of a moment before all", h.prints("list", "--as-of", "2020-01-01", "--json"), `"memories":[]`)
	h.prints("link", note, "supports", rule)
	h.is("links", h.at(h.rest(200, "GET", "/v1/memories/"+rule+"/links", ""), "links.0.type"), "supports")
	h.is("provenance", h.at(h.prints("provenance", h.ids["episode"], "--json"), "source.tool"), "memory_store_episode")
	h.is("provenance of a file", h.at(h.rest(200, "GET", "/v1/memories/"+h.ids["file"]+"/provenance", ""), "source.client"), "planner-program/1")
	_, refusal := h.loci(2, "confirm", h.ids["episode"])
	h.says("a verb that is not for a kind", refusal, "episode", "Forget or delete it")
	h.says("a rule by the id of a file", h.tool("memory_get", `{"type":"rule","id":"`+h.ids["file"]+`"}`), "no rule with id")
}

// erases: one id of any kind is enough; nothing of it is left for the other.
func (h *household) erases() {
	for _, kind := range []string{"file", "session", "rule", "episode"} {
		h.prints("delete", h.ids[kind])
	}
	for _, kind := range []string{"note", "item", "thread"} {
		h.rest(204, "DELETE", "/v1/memories/"+h.ids[kind], "")
	}
	h.silent("the agent's files", h.tool("memory", `{"command":"list","path":"/"}`), "trip.md")
	h.silent("the agent's conversations", h.tool("memory_list_sessions", `{}`), "chat")
	h.silent("the agent's notes", h.tool("memory_search", `{"query":"window seats"}`), "window")
	h.silent("the agent's rules", h.tool("memory_recall", `{"topic":"booking"}`), "booking")
	h.says("a read of what is erased", h.rest(404, "GET", "/v1/memories/"+h.ids["thread"], ""), "no memory")
	h.is("what is left", h.each(h.prints("list", "--json"), "memories", "type"), "fact file note")
	h.tool("claude_memory", `{"command":"delete","path":"/memories/plan.md"}`)
	h.is("what is left of files", h.at(h.prints("list", "--kind=file", "--json"), "memories.len"), "0")
	h.says("the log keeps that there was one", h.prints("events", "--json"), h.ids["rule"], `"retracted"`)
}
