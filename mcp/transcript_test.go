package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/tool"
)

var update = flag.Bool("update", false, "write the golden files again")

// frozenServer is a server whose clock and ids always give the same, over a new
// SQLite file, with the tools of both families.
func frozenServer(t testing.TB, logger *slog.Logger) *Server {
	t.Helper()
	s, err := store.Open(context.Background(), "sqlite:"+filepath.Join(t.TempDir(), "loci.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var n byte
	engine, err := loci.New(s, &loci.Options{Features: locitest.Features(), Logger: logger,
		Now:   func() time.Time { return time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC) },
		NewID: func() loci.ID { n++; return loci.ID{0x01, 0x97, 6: 0x70, 8: 0x80, 15: n} }})
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.New(engine, tool.Config{
		Logger:  logger,
		Entries: []tool.Instance{{Family: tool.FamilyFacts}, {Family: tool.FamilyNotes}},
	})
	if err != nil {
		t.Fatal(err)
	}
	server, err := New(Options{Tools: set.Tools(), Principal: principal(t, "alice"), Version: "1.2.3", Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	return server
}

const meta2026 = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"transcript","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// conversation is what a client says in a revision.
func conversation(revision string) []string {
	legacy := revision < "2026"
	meta := ""
	if !legacy {
		meta = "," + meta2026
	}
	id := 0
	say := func(method, params string) string {
		id++
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s}}`, id, method, strings.TrimPrefix(params+meta, ","))
	}
	call := func(name, arguments string) string {
		return say("tools/call", `"name":"`+name+`","arguments":`+arguments)
	}
	var out []string
	if legacy {
		out = append(out,
			say("tools/list", ""), // before initialize: refused
			say("initialize", `"protocolVersion":"`+revision+`","capabilities":{},"clientInfo":{"name":"transcript","version":"1"}`),
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			say("ping", ""),
			say("initialize", `"protocolVersion":"`+revision+`","capabilities":{},"clientInfo":{"name":"transcript","version":"1"}`))
	} else {
		out = append(out, say("server/discover", ""), say("initialize", ""), say("ping", ""), say("subscriptions/listen", `"notifications":{"toolsListChanged":true}`),
			`{"jsonrpc":"2.0","id":"future","method":"tools/list","params":{`+strings.Replace(meta2026, "2026-07-28", "2027-01-01", 1)+`}}`)
	}
	out = append(out,
		say("tools/list", ""),
		call("manage_memory", `{"content":"Prefers window seats.","metadata":{"category":"preference"}}`),
		call("search_memory", `{"query":"window"}`),
		call("memory_save", `{"content":"Likes <chocolate> & naïve café art.","tags":["Food"]}`),
		call("memory_search", `{"query":"chocolate"}`),
		call("manage_memory", `{"action":"update"}`),
		call("memory_delete", `{"note_id":"note-nothing"}`),
		call("memory_save", `{"content":7}`),
		call("memory_save", `{"content":"x","surprise":1}`),
		call("memory_save", `{"content":"x","tenant":"default"}`),
		call("nosuch", `{}`),
		say("prompts/list", ""), say("resources/list", ""), say("resources/templates/list", ""),
		say("completion/complete", `"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"}`),
		say("logging/setLevel", `"level":"debug"`),
		say("no/such", ""))
	if revision == revisionBatches {
		out = append(out, `[`+call("memory_search", `{"query":"chocolate"}`)+`,{"jsonrpc":"2.0","method":"notifications/x"},`+say("ping", "")+`]`)
	} else {
		out = append(out, `[`+say("ping", "")+`]`)
	}
	return out
}

// TestTranscripts pins every byte that each revision's clients see, the schemas of
// all tools included.
func TestTranscripts(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			w := connect(t, frozenServer(t, slog.New(slog.DiscardHandler)))
			var got bytes.Buffer
			for _, line := range conversation(revision) {
				w.send(line)
				fmt.Fprintf(&got, "> %s\n", line)
				if !strings.Contains(line, `"id"`) {
					continue
				}
				reply := w.receive()
				if strings.Contains(line, "subscriptions/listen") { // an acknowledgement precedes its reply
					reply += "\n< " + w.receive()
				}
				fmt.Fprintf(&got, "< %s\n", reply)
			}
			_ = w.in.Close()
			if err := w.ended(); err != nil {
				t.Error(err)
			}
			golden(t, revision+".jsonl", got.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	gotLines, wantLines := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		var g, w string
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if g != w {
			t.Fatalf("%s line %d:\n got %s\nwant %s\nIf that is meant: go test ./mcp -update", name, i+1, g, w)
		}
	}
}

// TestTheLastCorrectionWins: corrections of one memory that are sent without
// waiting take effect in their order.
func TestTheLastCorrectionWins(t *testing.T) {
	w := connect(t, frozenServer(t, slog.New(slog.DiscardHandler)))
	w.initialize("2025-11-25")
	w.send(callLine("0", "memory_save", `{"content":"Correction 0"}`))
	var saved struct {
		NoteID string `json:"note_id"`
	}
	if err := json.Unmarshal(parse(t, w.receive()).Result.Structured, &saved); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 30; i++ {
		w.send(callLine(fmt.Sprint(i), "memory_update", fmt.Sprintf(`{"note_id":"%s","content":"Correction %d"}`, saved.NoteID, i)))
	}
	for i := 1; i <= 30; i++ {
		if r := parse(t, w.receive()); string(r.ID) != fmt.Sprint(i) || r.Result == nil || r.Result.IsError {
			t.Fatalf("reply %d: %+v", i, r)
		}
	}
	w.send(callLine("99", "memory_search", `{"query":"correction"}`))
	if text := parse(t, w.receive()).text(); !strings.Contains(text, `"Correction 30"`) {
		t.Errorf("got %s", text)
	}
}

// TestInitializeAfterDiscoverWorks: a client may look first and shake hands then.
func TestInitializeAfterDiscoverWorks(t *testing.T) {
	for asked, agreed := range map[string]string{"2024-11-05": "2024-11-05", "2025-11-25": "2025-11-25", "2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25"} {
		w := connect(t, newBench(t, Limits{}, nil).Server)
		w.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta2026 + `}}`)
		w.receive()
		greet := `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"` + asked + `","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
		w.send(greet)
		var r struct {
			Result struct {
				ProtocolVersion string
				Instructions    string
				ServerInfo      struct{ Name string }
			}
		}
		if err := json.Unmarshal([]byte(w.receive()), &r); err != nil {
			t.Fatal(err)
		}
		if r.Result.ProtocolVersion != agreed || r.Result.ServerInfo.Name != "loci" || r.Result.Instructions == "" {
			t.Errorf("asked for %s: %+v", asked, r)
		}
		w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, callLine("3", "echo", `{}`))
		if r := parse(t, w.receive()); r.text() != "{}" {
			t.Errorf("after it: %+v", r)
		}
		w.send(strings.Replace(greet, `"id":2`, `"id":4`, 1))
		if r := parse(t, w.receive()); r.Error == nil {
			t.Errorf("a second initialize: %+v", r)
		}
	}
}

// TestInstructionsFitTheTools and are short.
func TestInstructionsFitTheTools(t *testing.T) {
	server := frozenServer(t, slog.New(slog.DiscardHandler))
	all := server.opts.Tools
	for _, c := range []struct {
		tools  []*tool.Tool
		says   []string
		silent []string
	}{
		{all, []string{"search_memory", "memory_search", "manage_memory, memory_save", "by its id"}, nil},
		{all[1:2], []string{"search_memory"}, []string{"Save", "by its id"}},
		{all[3:4], []string{"memory_save"}, []string{"Search first", "by its id"}},
	} {
		text := Instructions(c.tools)
		if n := len(strings.Fields(text)); n >= 120 {
			t.Errorf("%d words: %s", n, text)
		}
		for _, s := range c.says {
			if !strings.Contains(text, s) {
				t.Errorf("%q is not in: %s", s, text)
			}
		}
		for _, s := range c.silent {
			if strings.Contains(text, s) {
				t.Errorf("%q is in: %s", s, text)
			}
		}
	}
}

// BenchmarkCall is the round trip of a tool call: what the protocol costs, with a
// tool that does nothing, in the eras with and without initialize; and with a
// search of one stored note.
func BenchmarkCall(b *testing.B) {
	for _, c := range []struct{ name, line string }{
		{"initialize era", callLine("7", "echo", `{"text":"hello"}`)},
		{"2026-07-28", strings.Replace(callLine("7", "echo", `{"text":"hello"}`), `"params":{`, `"params":{`+meta2026+`,`, 1)},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, err := New(Options{Principal: principal(b, "u-1"), Tools: []*tool.Tool{{Name: "echo", InputSchema: anyObject}},
				Call: func(_ context.Context, _ *tool.Tool, _ tool.Caller, args json.RawMessage) (tool.Reply, error) {
					return tool.Reply{Text: string(args), Structured: args}, nil
				}})
			if err != nil {
				b.Fatal(err)
			}
			roundTrips(b, s, c.line)
		})
	}
	b.Run("search of a note", func(b *testing.B) {
		roundTrips(b, frozenServer(b, slog.New(slog.DiscardHandler)), callLine("7", "memory_search", `{"query":"chocolate"}`))
	})
}

// BenchmarkStart is the time from nothing to the reply to initialize.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n")
		var out bytes.Buffer
		err := frozenServer(b, slog.New(slog.DiscardHandler)).Serve(context.Background(), in, &out)
		if err != nil || out.Len() == 0 {
			b.Fatal(err, out.Len())
		}
	}
}
