package rest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store/memory"
)

// spoken is a batch of messages of so many bytes each.
func spoken(n, size int) string {
	one := `{"role":"user","content":"` + strings.Repeat("x", size) + `"}`
	return `{"messages":[` + strings.Repeat(one+",", n-1) + one + `]}`
}

// TestMessageLimits: too much is refused by the limit it breaks.
func TestMessageLimits(t *testing.T) {
	locitest.Unshared(t)
	b := newBench(t, memory.Open(), nil)
	b.send("POST", "/v1/sessions", `{"id":"full","max_messages":1}`)
	b.send("POST", "/v1/sessions/full/messages", `{"messages":[{"role":"system","content":"Be kind."}]}`)
	for _, c := range []struct {
		path, body string
		status     int
		detail     string
	}{
		{"/s/messages", spoken(1000, 1), 200, `"count":1000`},
		{"/s/messages", spoken(1001, 1), 413, "messages has 1001 entries; the limit is 1000"},
		{"/s/messages", spoken(2, 1<<20), 413, "messages[0]: a message has"},
		{"/s/messages", spoken(5, 1<<20-100), 413, "the body is longer than 4194304 bytes"},
		{"/s/messages", `{"messages":[]}`, 400, "messages must not be empty"},
		{"/s/messages", `{"messages":"x"}`, 400, "body.messages must be a list"},
		{"/s/messages", `{"messages":[1]}`, 400, "body.messages[0] must be an object"},
		{"/s/messages", `{"messages":[{"content":"x"}]}`, 400, "messages[0]: type is missing"},
		{"/s%00/messages", spoken(1, 1), 400, "session_id must not contain a NUL"},
		{"/" + strings.Repeat("%C3%A9", 129) + "/messages", spoken(1, 1), 400, "session_id is 258 bytes long"},
		{"/import", `{"document":{"format":"loci.session","version":2,"messages":[]}}`, 501, "version is 2"},
		{"/import", `{"document":[]}`, 400, "the list of messages is empty"},
		{"/import", `{"document":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}`, 200, `"imported":2`},
		{"/import", `{"document":` + strings.TrimPrefix(spoken(5000, 1), `{"messages":`), 200, `"imported":5000`},
		{"/import", `{"document":` + strings.TrimPrefix(spoken(5001, 1), `{"messages":`), 413, "the limit of one import is 5000: import the others with mode append"},
		{"/import", `{"document":` + strings.TrimPrefix(spoken(5, 1<<20-100), `{"messages":`), 413, "the body is longer than 4194304 bytes"},
		{"/import", `{"document":[{"type":"ai","data":{}}]}`, 400, "content must be a text or a list of blocks"},
		{"/search", `{"query":" "}`, 400, "query must not be empty"},
		{"/search", `{"query":"x","limit":0}`, 400, "limit is 0"},
		{"/s/trim", `{"max_messages":-1}`, 400, "max_messages is -1"},
		{"/full/messages", spoken(1, 1), 413, "there is no room for messages[0]"},
	} {
		r := b.send("POST", "/v1/sessions"+c.path, c.body)
		if r.status != c.status || !strings.Contains(r.body, c.detail) {
			t.Errorf("%.60s %.60s: %d %.300s; want %d with %q", c.path, c.body, r.status, r.body, c.status, c.detail)
		}
	}
	b.send("POST", "/v1/sessions/removes/messages", `{"messages":[{"type":"remove","data":{"id":"m1"}}]}`)
	if r := b.send("GET", "/v1/sessions/removes/messages?format=openai", ""); r.status != 501 || !strings.Contains(r.body, "message 1: ") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestReplaceNeedsDelete: an import that erases a session needs the scope for that.
func TestReplaceNeedsDelete(t *testing.T) {
	b := newBench(t, memory.Open(), func(o *Options) { o.Principal = principal(t, "u", loci.ScopeRead, loci.ScopeWrite) })
	for mode, status := range map[string]int{"new": 200, "append": 200, "replace": 403} {
		r := b.send("POST", "/v1/sessions/import", `{"id":"`+mode+`","mode":"`+mode+`","document":{"format":"loci.session","version":1,"messages":[]}}`)
		if r.status != status {
			t.Errorf("%s: %d %s", mode, r.status, r.body)
		}
	}
}

// TestEmptyIDOfASession: an id that was given and is empty is a mistake of the caller, who
// would not find the session again under it; without one there is a new id.
func TestEmptyIDOfASession(t *testing.T) {
	b := newBench(t, memory.Open(), nil)
	empty := `"document":{"format":"loci.session","version":1,"messages":[]}`
	for path, rest := range map[string]string{"/v1/sessions": `"max_messages":1`, "/v1/sessions/import": empty} {
		if r := b.send("POST", path, `{"id":"",`+rest+`}`); r.status != 400 || !strings.Contains(r.body, "body.id has too few characters: send at least 1") {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
		if r := b.send("POST", path, `{`+rest+`}`); r.status > 201 {
			t.Errorf("%s without an id: %d %s", path, r.status, r.body)
		}
	}
}

// TestExportComesBack: a document that was exported is imported as it was, byte by
// byte of its messages.
func TestExportComesBack(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		b := newBench(t, s, nil)
		b.send("POST", "/v1/sessions", `{"id":"a","metadata":{"z":1.0,"a":"<&>"},"max_messages":9}`)
		b.send("POST", "/v1/sessions/a/messages", `{"messages":[{"type":"ai","data":{"z":1e400,"content":[{"type":"x","y":"\u2028<"}],"a":-0.0}},{"role":"user","content":"é"}]}`)
		document := b.send("GET", "/v1/sessions/a/export", "")
		if document.status != 200 || document.header.Get("Content-Type") != "application/json" {
			t.Fatalf("%d %s", document.status, document.body)
		}
		if r := b.send("POST", "/v1/sessions/import", `{"id":"b","document":`+document.body+`}`); r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		was, is := b.send("GET", "/v1/sessions/a/messages", ""), b.send("GET", "/v1/sessions/b/messages", "")
		if got := strings.Replace(is.body, `"b"`, `"a"`, 1); got != was.body || !strings.Contains(got, `{"z":1e400,"content":[{"type":"x","y":"\u2028<"}],"a":-0.0}`) {
			t.Errorf("was %s\nis  %s", was.body, is.body)
		}
	})
}

// A failing store reads pages of messages as long as left says.
type failing struct {
	loci.Store
	left atomic.Int64
}

func (s *failing) Records(ctx context.Context, t loci.Tenant,
	f loci.Filter, p loci.Page) ([]loci.Record, string, error) {
	if len(f.Kinds) == 1 && f.Kinds[0] == session.KindMessage && s.left.Add(-1) < 0 {
		return nil, "", &loci.Error{Code: loci.Unavailable, Msg: "the store is away", Err: errors.New("a cable")}
	}
	return s.Store.Records(ctx, t, f, p)
}

// TestBrokenExport: what fails before the first byte is a problem, and a document
// that breaks off is not taken for a whole one.
func TestBrokenExport(t *testing.T) {
	s := &failing{Store: memory.Open()}
	s.left.Store(100)
	b := newBench(t, s, nil)
	if r := b.send("POST", "/v1/sessions/a/messages", spoken(500, 1000)); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	s.left.Store(0)
	if r := b.send("GET", "/v1/sessions/a/export", ""); r.status != 503 || r.code(t) != "unavailable" || r.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %s", r.status, r.body)
	}
	s.left.Store(2)
	b.log.Reset()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL+"/v1/sessions/a/export", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := b.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(data) == 0 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if !strings.Contains(b.log.String(), "a cable") {
		t.Errorf("log %q", b.log)
	}
}

// TestSearchOfFilesSessionsAndMessages: a search finds them with the rest when its types name them.
func TestSearchOfFilesSessionsAndMessages(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		b := newBench(t, s, nil)
		for _, one := range [][3]string{
			{"POST", "/v1/notes", `{"content":"Prefers aisle seats."}`},
			{"POST", "/v1/sessions/chat/messages", `{"messages":[{"role":"user","content":"Seats by the window?"}]}`},
			{"PUT", "/v1/files/content", `{"path":"/a.md","content":"Seats are in row 4."}`},
		} {
			if r := b.send(one[0], one[1], one[2]); r.status >= 300 {
				t.Fatalf("%v: %d %s", one, r.status, r.body)
			}
		}
		for types, want := range map[string][]string{
			`["file"]`:                  {`"type":"file"`, `"key":"/a.md"`, `"passage":"Seats are in row 4."`},
			`["message"]`:               {`"type":"message"`, `"session_id":"chat"`, `"passage":"Seats by the window?"`},
			`["session"]`:               {`"type":"session"`, `"key":"chat"`, `"passage":"user: Seats by the window?"`},
			`["fact","file","message"]`: {`"type":"fact"`, `"type":"file"`, `"type":"message"`},
		} {
			r := b.send("POST", "/v1/search", `{"query":"seats","mode":"keyword","types":`+types+`}`)
			found := strings.Count(r.body, `"score"`)
			for _, text := range want {
				if r.status != 200 || found != strings.Count(types, `,`)+1 || !strings.Contains(r.body, text) {
					t.Errorf("%s: %d %s; want %s", types, r.status, r.body, text)
				}
			}
		}
		if r := b.send("POST", "/v1/search", `{"query":"seats"}`); r.status != 200 || strings.Count(r.body, `"score"`) != 1 {
			t.Errorf("without types: %d %s", r.status, r.body)
		}
		r := b.send("POST", "/v1/search", `{"types":["fact","file"]}`)
		if r.status != 400 || !strings.Contains(r.body, "query must not be empty") {
			t.Errorf("files without a query: %d %s", r.status, r.body)
		}
	})
}
