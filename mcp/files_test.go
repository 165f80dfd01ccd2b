package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/mcp"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/tool"
	"github.com/loci-memory/loci/tree"
)

var files = tool.Instance{Family: tool.FamilyFiles}

// eachEngine runs a test over an empty store in memory and one in a file.
func eachEngine(t *testing.T, test func(*testing.T, *loci.Engine)) {
	for name, url := range map[string]string{"memory": "memory:", "sqlite": "sqlite:" + filepath.Join(t.TempDir(), "loci.db")} {
		t.Run(name, func(t *testing.T) {
			s, err := store.Open(t.Context(), url, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			engine, err := loci.New(s, &loci.Options{
				Features: locitest.Features(),
				Logger:   slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			test(t, engine)
		})
	}
}

// says calls the tool memory and compares the reply, byte for byte.
func (c *client) says(in args, want string) {
	c.t.Helper()
	a := c.ask("memory", in)
	if a.text != want {
		c.t.Errorf("%v\n got %s\nwant %s", in, a.text, want)
	}
	var v struct {
		OK bool `json:"ok"`
	}
	if err := json.Unmarshal([]byte(a.text), &v); err != nil || v.OK == a.isError {
		c.t.Errorf("%v: ok is %v and isError %v, %v", in, v.OK, a.isError, err)
	}
	if both, err := json.Marshal(a.data); err != nil || len(both) != len(compact(c.t, want)) {
		c.t.Errorf("%v: the structured form is %s", in, both)
	}
}

// compact is JSON as json.Marshal of a map writes it, give or take the order of keys.
func compact(t testing.TB, text string) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestMemoryToolExamples(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine *loci.Engine) {
		c := dial(t, engine, alice(t), files)
		c.says(args{"path": "/missing", "command": "read"},
			`{"command":"read","path":"/missing","ok":false,"error":{"message":"ENOENT: file not found","code":"ENOENT"}}`)
		c.says(args{"path": "/notes/today", "command": "append", "content": "hello"},
			`{"command":"append","path":"/notes/today","ok":true,"result":{"status":"ok"}}`)
		c.says(args{"path": "", "command": "list"},
			`{"command":"list","path":"/","ok":true,"result":{"entries":[{"name":"notes","kind":"dir"}]}}`)
		c.says(args{"path": "/notes/today", "command": "read"},
			`{"command":"read","path":"/notes/today","ok":true,"result":{"content":"hello"}}`)
		c.says(args{"path": "/notes/today", "command": "update", "oldContent": "hello", "content": "hi"},
			`{"command":"update","path":"/notes/today","ok":true,"result":{"replaced":1}}`)
		c.says(args{"path": "/notes/x", "command": "append"},
			`{"command":"append","path":"/notes/x","ok":false,"error":{"message":"content is required for append","code":"EINVAL"}}`)
		c.says(args{"path": "/notes", "command": "delete"},
			`{"command":"delete","path":"/notes","ok":true,"result":{"files":1,"dirs":1}}`)
	})
}

// TestMemoryToolRules goes through the rules in the order they are written, in one tree.
func TestMemoryToolRules(t *testing.T) {
	invalid := func(command, path, message string) string {
		quoted, _ := json.Marshal(message)
		return fmt.Sprintf(`{"command":%q,"path":%q,"ok":false,"error":{"message":%s,"code":"EINVAL"}}`, command, path, quoted)
	}
	eachEngine(t, func(t *testing.T, engine *loci.Engine) {
		c := dial(t, engine, alice(t), files)
		for _, step := range []struct {
			in   args
			want string
		}{
			// Arguments.
			{args{"path": "/a", "command": "read", "extra": 1}, invalid("read", "/a", "invalid arguments")},
			{args{"path": "/a", "command": "read", "tenant": "other"}, invalid("read", "/a", "invalid arguments")},
			{args{"path": 7, "command": "read"}, invalid("read", "", "invalid arguments")},
			{args{"path": nil, "command": "read"}, invalid("read", "", "invalid arguments")},
			{args{"command": "read"}, invalid("read", "", "invalid arguments")},
			{args{"path": "/a"}, invalid("", "/a", "invalid arguments")},
			{args{"path": "/a", "command": "append", "content": 7}, invalid("append", "/a", "invalid arguments")},
			{args{"path": "/a", "command": "append", "content": []string{"x"}}, invalid("append", "/a", "invalid arguments")},
			{args{"path": "/a", "command": "append", "content": nil}, invalid("append", "/a", "content is required for append")},
			{args{"path": "/a", "command": "fly"}, invalid("fly", "/a", "unknown command: fly")},
			{args{"path": "/a", "command": "READ"}, invalid("READ", "/a", "unknown command: READ")},
			{args{"path": "/a", "command": "update", "content": "x"}, invalid("update", "/a", "oldContent and content are required for update")},
			{args{"path": "/a", "command": "update", "oldContent": "x"}, invalid("update", "/a", "oldContent and content are required for update")},
			{args{"path": "", "command": "read"}, invalid("read", "", "path is required")},
			{args{"path": "", "command": "delete"}, invalid("delete", "", "path is required")},
			// Paths.
			{args{"path": "/a/../b", "command": "read"}, invalid("read", "/a/../b", `invalid path: ".." not allowed`)},
			{args{"path": "/a$b", "command": "list"}, invalid("list", "/a$b", `invalid path: "$" not allowed`)},
			{args{"path": "/a/b:c", "command": "read"}, invalid("read", "/a/b:c", "invalid path segment: b:c")},
			{args{"path": "/a/./b", "command": "read"}, invalid("read", "/a/./b", "invalid path segment: .")},
			{args{"path": `x\\y//z/`, "command": "append", "content": "1"}, `{"command":"append","path":"/x/y/z","ok":true,"result":{"status":"ok"}}`},
			{args{"path": "X/y", "command": "read"}, `{"command":"read","path":"/X/y","ok":false,"error":{"message":"ENOENT: file not found","code":"ENOENT"}}`},
			// Reading and listing.
			{args{"path": "/x", "command": "read"}, `{"command":"read","path":"/x","ok":false,"error":{"message":"EISDIR: path is a directory","code":"EISDIR"}}`},
			{args{"path": "/nothing", "command": "list"}, `{"command":"list","path":"/nothing","ok":true,"result":{"entries":[]}}`},
			{args{"path": "/x/y/z", "command": "list"}, `{"command":"list","path":"/x/y/z","ok":true,"result":{"entries":[]}}`},
			// Appending.
			{args{"path": "/x/y/z", "command": "append", "content": "2\n"}, `{"command":"append","path":"/x/y/z","ok":true,"result":{"status":"ok"}}`},
			{args{"path": "/x/y/z", "command": "append", "content": "3"}, `{"command":"append","path":"/x/y/z","ok":true,"result":{"status":"ok"}}`},
			{args{"path": "/x/y/z", "command": "append", "content": "\n4 <b>&\u2603"}, `{"command":"append","path":"/x/y/z","ok":true,"result":{"status":"ok"}}`},
			{args{"path": "/x/y/z", "command": "read"}, `{"command":"read","path":"/x/y/z","ok":true,"result":{"content":"1\n2\n3\n4 <b>&☃"}}`},
			{args{"path": "/x/y/z/below", "command": "append", "content": "x"}, `{"command":"append","path":"/x/y/z/below","ok":false,"error":{"message":"ENOTDIR: a parent of the path is a file","code":"ENOTDIR"}}`},
			{args{"path": "/x", "command": "append", "content": "x"}, `{"command":"append","path":"/x","ok":false,"error":{"message":"EISDIR: path is a directory","code":"EISDIR"}}`},
			// Updating.
			{args{"path": "/x/y/z", "command": "update", "oldContent": "none", "content": "y"}, `{"command":"update","path":"/x/y/z","ok":true,"result":{"replaced":0}}`},
			{args{"path": "/x/y/z", "command": "update", "oldContent": "", "content": "y"}, `{"command":"update","path":"/x/y/z","ok":true,"result":{"replaced":0}}`},
			{args{"path": "/x/y/z", "command": "update", "oldContent": "\n", "content": ", "}, `{"command":"update","path":"/x/y/z","ok":true,"result":{"replaced":3}}`},
			{args{"path": "/x/y/z", "command": "read"}, `{"command":"read","path":"/x/y/z","ok":true,"result":{"content":"1, 2, 3, 4 <b>&☃"}}`},
			{args{"path": "/x/q", "command": "update", "oldContent": "a", "content": "b"}, `{"command":"update","path":"/x/q","ok":false,"error":{"message":"ENOENT: file not found","code":"ENOENT"}}`},
			// Deleting: what is above stays.
			{args{"path": "/x/y/w", "command": "append", "content": "x"}, `{"command":"append","path":"/x/y/w","ok":true,"result":{"status":"ok"}}`},
			{args{"path": "/x/v.md", "command": "append", "content": "x"}, `{"command":"append","path":"/x/v.md","ok":true,"result":{"status":"ok"}}`},
			{args{"path": "/x", "command": "list"}, `{"command":"list","path":"/x","ok":true,"result":{"entries":[{"name":"v.md","kind":"file"},{"name":"y","kind":"dir"}]}}`},
			{args{"path": "/x/y/w", "command": "delete"}, `{"command":"delete","path":"/x/y/w","ok":true,"result":{"files":1,"dirs":0}}`},
			{args{"path": "/x/y/w", "command": "delete"}, `{"command":"delete","path":"/x/y/w","ok":true,"result":{"files":0,"dirs":0}}`},
			{args{"path": "/x/y", "command": "delete"}, `{"command":"delete","path":"/x/y","ok":true,"result":{"files":1,"dirs":1}}`},
			{args{"path": "/", "command": "list"}, `{"command":"list","path":"/","ok":true,"result":{"entries":[{"name":"x","kind":"dir"}]}}`},
			{args{"path": "/", "command": "delete"}, `{"command":"delete","path":"/","ok":true,"result":{"files":1,"dirs":1}}`},
			{args{"path": "/", "command": "list"}, `{"command":"list","path":"/","ok":true,"result":{"entries":[]}}`},
		} {
			c.says(step.in, step.want)
		}
	})
}

// Two tools over one memory share its tree, each under its own name.
func TestMemoryToolsShareATree(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine *loci.Engine) {
		c := dial(t, engine, alice(t), tool.Instance{Tool: "memory", Name: "memory_readonly", Title: "Mem Read", Description: "Read-only memory tool"},
			tool.Instance{Tool: "memory", Name: "memory_write", Title: "Mem Write", Description: "Write memory tool"},
			tool.Instance{Tool: "memory", Name: "other", Memory: "other"})
		for name, s := range c.schemas() {
			if name == "memory_write" && (s.Title != "Mem Write" || s.Description != "Write memory tool") {
				t.Errorf("%s: title %q, description %q", name, s.Title, s.Description)
			}
		}
		c.ask("memory_write", args{"path": "/a", "command": "append", "content": "x"})
		if a := c.ask("memory_readonly", args{"path": "/a", "command": "read"}); a.isError {
			t.Errorf("the other tool says %s", a.text)
		}
		if a := c.ask("other", args{"path": "/a", "command": "read"}); !strings.Contains(a.text, "ENOENT") {
			t.Errorf("another memory says %s", a.text)
		}
	})
}

func TestMemoryToolOfThreads(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine *loci.Engine) {
		perThread := files
		perThread.Scope = tool.ScopePerThread
		c := dial(t, engine, alice(t), perThread)
		c.says(args{"path": "/a", "command": "read"},
			`{"command":"read","path":"/a","ok":false,"error":{"message":"threadId is required for perThread scope","code":"ENOTMEM"}}`)
		one, two := sdk.Meta{"loci/thread_id": "1"}, sdk.Meta{"loci/thread_id": "2"}
		c.ask("memory", args{"path": "/a", "command": "append", "content": "x"}, one)
		if a := c.ask("memory", args{"path": "/a", "command": "read"}, one); a.isError {
			t.Errorf("its own thread says %s", a.text)
		}
		for name, read := range map[string]func() answer{
			"another thread": func() answer { return c.ask("memory", args{"path": "/a", "command": "read"}, two) },
			"all threads": func() answer {
				return dial(t, engine, alice(t), files).ask("memory", args{"path": "/a", "command": "read"}, one)
			},
		} {
			if a := read(); !strings.Contains(a.text, "ENOENT") {
				t.Errorf("%s: %s", name, a.text)
			}
		}
	})
}

// Whatever goes wrong, the reply is an envelope.
func TestMemoryToolAlwaysRepliesInAnEnvelope(t *testing.T) {
	in := args{"path": "/a", "command": "append", "content": "x"}
	c := dial(t, nil, alice(t), files)
	c.says(in, `{"command":"append","path":"/a","ok":false,"error":{"message":"memory is not configured","code":"ENOTMEM"}}`)
	reader, err := loci.NewPrincipal(alice(t).Tenant(), "test", loci.Vars{loci.VarUser: "alice"}, loci.ScopeRead)
	if err != nil {
		t.Fatal(err)
	}
	c = dial(t, newEngine(t), reader, files)
	c.says(in, `{"command":"append","path":"/a","ok":false,"error":{"message":"this credential lacks the scope \"write\"","code":"EACCES"}}`)
	c = dial(t, newEngine(t), newPrincipal(t, nil), files)
	if a := c.ask("memory", in); !strings.Contains(a.text, `"ok":false`) || !strings.Contains(a.text, `"code":"ENOTMEM"`) {
		t.Errorf("without a user: %s", a.text)
	}
	c = dialOptions(t, newEngine(t), mcp.Options{Principal: alice(t)}, tool.Config{
		Entries:      []tool.Instance{files},
		MaxArguments: 512,
	})
	if a := c.ask("memory", args{"path": "/a", "command": "append", "content": strings.Repeat("x", 600)}); !strings.Contains(a.text, `"ok":false,"error":{"message":"`) {
		t.Errorf("too much: %s", a.text)
	}
	r, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: "memory", Arguments: []int{1}})
	if err == nil && !r.IsError {
		t.Errorf("a list as arguments: %+v", r)
	}
}

// The files are resources, those of the caller alone.
func TestFilesAreResources(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine *loci.Engine) {
		c := dial(t, engine, alice(t), files)
		for n := range 600 {
			if n < 3 || n%300 == 0 {
				c.ask("memory", args{"path": fmt.Sprintf("/a b/f%d.md", n), "command": "append", "content": fmt.Sprintf("content <%d>", n)})
			}
		}
		uris := func(c *client) (found []string) {
			t.Helper()
			for r, err := range c.Resources(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, r.URI)
			}
			return found
		}
		if got := strings.Join(uris(c), " "); got != "memory:///a%20b/f0.md memory:///a%20b/f1.md memory:///a%20b/f2.md memory:///a%20b/f300.md" {
			t.Errorf("resources: %s", got)
		}
		read := func(c *client, uri string) (string, error) {
			r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil {
				return "", err
			}
			return r.Contents[0].Text, nil
		}
		for uri, want := range map[string]string{"memory:///a%20b/f1.md": "content <1>", "memory:///": "memory:///a%20b/\n",
			"memory:///a%20b": "memory:///a%20b/f0.md\nmemory:///a%20b/f1.md\nmemory:///a%20b/f2.md\nmemory:///a%20b/f300.md\n"} {
			if got, err := read(c, uri); err != nil || got != want {
				t.Errorf("%s: %q, %v", uri, got, err)
			}
		}
		templates, err := c.ListResourceTemplates(t.Context(), nil)
		if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "memory:///{+path}" {
			t.Errorf("templates: %+v, %v", templates, err)
		}
		bob := dial(t, engine, newPrincipal(t, loci.Vars{loci.VarUser: "bob"}), files)
		if got := uris(bob); got != nil {
			t.Errorf("another user has %v", got)
		}
		for _, uri := range []string{"memory:///a%20b/f1.md", "memory:///nothing", "memory:///a/../b", "memory://host/a%20b/f1.md", "file:///etc/passwd"} {
			if text, err := read(bob, uri); err == nil {
				t.Errorf("%s reads %q", uri, text)
			}
		}
		if _, err := dial(t, engine, alice(t), notes).ListResources(t.Context(), nil); err == nil {
			t.Error("a server without files lists resources")
		}
	})
}

func TestResourcesComeInPages(t *testing.T) {
	engine := newEngine(t)
	m, err := engine.Memory(loci.View{Tenant: alice(t).Tenant(), Namespace: loci.Namespace{"user", "alice"}, Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := tree.Of(m, "", "")
	if err != nil {
		t.Fatal(err)
	}
	var all []tree.FileContent
	for n := range 1100 {
		all = append(all, tree.FileContent{Path: fmt.Sprintf("/%d/%d", n%7, n)})
	}
	if _, err := stored.WriteAll(t.Context(), all, nil); err != nil {
		t.Fatal(err)
	}
	c := dial(t, engine, alice(t), files)
	seen, pages := map[string]bool{}, []int(nil)
	for cursor := ""; ; {
		r, err := c.ListResources(t.Context(), &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range r.Resources {
			seen[one.URI] = true
		}
		pages = append(pages, len(r.Resources))
		if cursor = r.NextCursor; cursor == "" {
			break
		}
	}
	if len(seen) != 1100 || !slices.Equal(pages, []int{500, 500, 100}) {
		t.Errorf("%d resources in pages of %d", len(seen), pages)
	}
	if _, err := c.ListResources(t.Context(), &sdk.ListResourcesParams{Cursor: "x"}); err == nil {
		t.Error("a cursor of nobody is accepted")
	}
	// The other lists have one page each, and say what is wrong with a cursor.
	_, tools := c.ListTools(t.Context(), &sdk.ListToolsParams{Cursor: "x"})
	_, prompts := c.ListPrompts(t.Context(), &sdk.ListPromptsParams{Cursor: "x"})
	_, templates := c.ListResourceTemplates(t.Context(), &sdk.ListResourceTemplatesParams{Cursor: "x"})
	for method, err := range map[string]error{"tools/list": tools, "prompts/list": prompts, "resources/templates/list": templates} {
		if err == nil || !strings.Contains(err.Error(), "cursor must be left out: "+method+" has one page") {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func TestMemoryPrompt(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), files)
	get := func(in map[string]string) (string, error) {
		r, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "memory", Arguments: in})
		if err != nil || len(r.Messages) == 0 {
			return "", err
		}
		return r.Messages[0].Content.(*sdk.TextContent).Text, nil
	}
	if text, err := get(nil); err != nil || text != "" {
		t.Errorf("an empty memory says %q, %v", text, err)
	}
	c.ask("memory", args{"path": "/a", "command": "append", "content": "x"})
	for want, in := range map[string]map[string]string{"Memory\n/\n[F] a": nil, "Memory\n/a: \"x\"": {"content": "full", "max_chars": "100"}, "Memory\n…": {"max_chars": "1"}} {
		if text, err := get(in); err != nil || text != want {
			t.Errorf("%v: %q, %v", in, text, err)
		}
	}
	for _, in := range []map[string]string{{"content": "all"}, {"max_chars": "0"}, {"max_chars": "x"}, {"max_chars": "20001"}} {
		if text, err := get(in); err == nil {
			t.Errorf("%v: %q", in, text)
		}
	}
	list, err := c.ListPrompts(t.Context(), nil)
	if err != nil || len(list.Prompts) != 1 || list.Prompts[0].Name != "memory" {
		t.Errorf("prompts: %+v, %v", list, err)
	}
}
