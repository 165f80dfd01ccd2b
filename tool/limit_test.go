package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/trail"
	"github.com/loci-memory/loci/store/memory"
)

// remote is an embedder whose other side misbehaves. A call may go on after its caller has
// given up, so its behaviour never changes during a test.
type remote struct {
	words
	do func(ctx context.Context) error
}

func (r *remote) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := r.do(ctx); err != nil {
		return nil, err
	}
	return r.words.Embed(ctx, texts)
}

// slowStore is a store that waits before each step, without heeding the context.
type slowStore struct {
	loci.Store
	wait func()
}

func (s *slowStore) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	s.wait()
	return s.Store.Apply(ctx, t, c)
}

func (s *slowStore) Records(ctx context.Context, t loci.Tenant,
	f loci.Filter, p loci.Page) ([]loci.Record, string, error) {
	s.wait()
	return s.Store.Records(ctx, t, f, p)
}

func (s *slowStore) Match(ctx context.Context, t loci.Tenant,
	p loci.Probe, f loci.Filter, limit int) ([]loci.Hit, error) {
	s.wait()
	return s.Store.Match(ctx, t, p, f, limit)
}

// slowEngine is an engine over such a store; wait may be changed later.
func slowEngine(t *testing.T, wait func()) (*loci.Engine, *slowStore) {
	t.Helper()
	kept := memory.Open()
	t.Cleanup(func() { kept.Close() })
	s := &slowStore{kept, wait}
	e, err := loci.New(s, &loci.Options{Features: locitest.Features(), Embedder: words{}})
	if err != nil {
		t.Fatal(err)
	}
	return e, s
}

var bothFamilies = []Instance{{Family: FamilyFacts}, {Family: FamilyNotes}}

// A store that does not heed its context cannot keep a caller waiting, and what comes back too
// late changes nothing.
func TestTimeout(t *testing.T) {
	for _, c := range []struct{ tool, args, message string }{
		{"memory_search", `{"query":"tea"}`, "tool timed out after 15s"},
		{"search_memory", `{"query":"tea"}`, "tool timed out after 15s"},
		{"memory_save", `{"content":"new"}`, "tool timed out after 10s"},
		{"manage_memory", `{"content":"new"}`, "tool timed out after 10s"},
		{"memory_update", `{"note_id":"ID","content":"new"}`, "tool timed out after 10s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			engine, store := slowEngine(t, func() {})
			set, u := setOver(t, engine, Config{Entries: bothFamilies}), user(t, "u-1")
			id := save(t, set, u, "Likes tea")
			hang := make(chan struct{})
			store.wait = func() { <-hang }
			start := time.Now()
			refused(t, set, c.tool, u, strings.Replace(c.args, "ID", id, 1), loci.Unavailable, c.message)
			tool, _ := set.Lookup(c.tool)
			if waited := time.Since(start); waited != tool.Timeout {
				t.Errorf("%s answered after %s", c.tool, waited)
			}
			close(hang)
			synctest.Wait()
			same(t, c.tool+" that came too late", contents(t, search(t, set, u, `{"query":""}`)), []string{"Likes tea"})
		})
	}
}

func TestTimeoutConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		engine, _ := slowEngine(t, func() { <-hang })
		set := setOver(t, engine, Config{
			Entries:       bothFamilies,
			SearchTimeout: Duration(2500 * time.Millisecond),
			WriteTimeout:  Duration(time.Minute),
		})
		refused(t, set, "memory_search", user(t, "u-1"), `{"query":"x"}`, loci.Unavailable, "tool timed out after 2.5s")
		refused(t, set, "memory_save", user(t, "u-1"), `{"content":"x"}`, loci.Unavailable, "tool timed out after 60s")
		close(hang)
	})
}

// A tool that is out of time cancels what it started.
func TestTimeoutCancelsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		b := &base{cfg: Config{MaxArguments: 100}, logger: slog.New(slog.DiscardHandler)}
		slow := declare(spec{Tool: Tool{Name: "slow", Timeout: time.Second, base: b, scopes: []loci.Scope{loci.ScopeRead}}},
			func(ctx context.Context, _ *call, _ struct{}) (Reply, error) {
				<-ctx.Done()
				cause = ctx.Err()
				return Reply{}, cause
			})
		_, err := slow.Call(t.Context(), user(t, "u-1"), nil)
		synctest.Wait()
		if e := loci.AsError(err); e.Code != loci.Unavailable || e.Msg != "tool timed out after 1s" || cause != context.DeadlineExceeded {
			t.Errorf("%v, cause %v", err, cause)
		}
	})
}

// A caller that goes away, or has less time than the tool, is told so.
func TestCallerGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		defer close(hang)
		engine, _ := slowEngine(t, func() { <-hang })
		set := setOver(t, engine, Config{Entries: bothFamilies})
		save, _ := set.Lookup("memory_save")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := save.Call(ctx, user(t, "u-1"), []byte(`{"content":"x"}`))
		if e := loci.AsError(err); e.Code != loci.Unavailable || e.Msg != "the operation took too long and was stopped" {
			t.Errorf("deadline: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = save.Call(gone, user(t, "u-1"), []byte(`{"content":"x"}`))
		if e := loci.AsError(err); e.Code != loci.Unavailable || e.Msg != "the operation was cancelled" {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// Without its embedder the memory still answers, by keyword.
func TestEmbedderDown(t *testing.T) {
	for name, down := range map[string]func(ctx context.Context, hang chan struct{}) error{
		"refuses":           func(context.Context, chan struct{}) error { return fmt.Errorf("connection refused") },
		"heeds the context": func(ctx context.Context, _ chan struct{}) error { <-ctx.Done(); return ctx.Err() },
		"heeds no context":  func(_ context.Context, hang chan struct{}) error { <-hang; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang := make(chan struct{})
				defer close(hang)
				embedder := &remote{do: func(ctx context.Context) error { return down(ctx, hang) }}
				engine := newEngine(t, loci.Options{Embedder: embedder, Logger: slog.New(slog.DiscardHandler)})
				set, u := setOver(t, engine, Config{Entries: bothFamilies}), user(t, "u-1")
				id := save(t, set, u, "Likes green tea")
				same(t, "notes", texts(notes(t, set, u, `{"query":"tea"}`)), []string{"Likes green tea"})
				same(t, "facts", contents(t, search(t, set, u, `{"query":"tea"}`)), []string{"Likes green tea"})
				ok(t, set, "memory_update", u, object("note_id", id, "content", "Likes black tea"))
				ok(t, set, "memory_delete", u, object("note_id", id))
			})
		})
	}
}

// A panic costs its own call and no other.
func TestPanic(t *testing.T) {
	var log bytes.Buffer
	engine, store := slowEngine(t, func() { panic("the wheels came off") })
	set := setOver(t, engine, Config{Entries: bothFamilies, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	u := user(t, "u-1")
	u.RequestID = "req-7"
	refused(t, set, "memory_save", u, `{"content":"x"}`, loci.Internal, "internal error")
	for _, part := range []string{"tool panicked", "memory_save", "req-7", "the wheels came off", "limit_test.go"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log lacks %q: %s", part, &log)
		}
	}
	store.wait = func() {}
	save(t, set, u, "x")

	// Outside the handler, too.
	tool, _ := set.Lookup("memory_save")
	broken := *tool
	broken.bind = func(arguments) (work, error) { panic("early") }
	if _, err := broken.Call(t.Context(), u, nil); loci.AsError(err).Code != loci.Internal {
		t.Errorf("%v", err)
	}
}

// A tool whose replies are all envelopes replies in an envelope whatever goes wrong: before the
// arguments are read, in a store, and when time is up or something breaks.
func TestEnvelopeOfEveryFailure(t *testing.T) {
	type reply struct {
		Command, Path string
		OK            bool
		Error         *struct{ Message, Code string }
	}
	files := Config{Entries: []Instance{{Family: FamilyFiles}}}
	call := func(t *testing.T, set *Set, c Caller, args string) (out reply) {
		t.Helper()
		memory, there := set.Lookup("memory")
		if !there {
			t.Fatal("there is no tool memory")
		}
		r, err := memory.Call(t.Context(), c, []byte(args))
		if err != nil || r.Text != string(r.Structured) {
			t.Fatalf("%s: error %v, reply %q and %s", args, err, r.Text, r.Structured)
		}
		decode(t, r.Structured, &out)
		return out
	}
	read := `{"command":"read","path":"/a"}`
	check := func(t *testing.T, what string, got reply, code, message string) {
		t.Helper()
		if got.OK || got.Error == nil || got.Error.Code != code || !strings.Contains(got.Error.Message, message) {
			t.Errorf("%s: %+v, error %+v; want %s: %s", what, got, got.Error, code, message)
		}
	}
	set := setOver(t, newEngine(t, loci.Options{}), files)
	check(t, "not permitted", call(t, set, user(t, "u", loci.ScopeDelegate), read), "EACCES", "scope")
	check(t, "no JSON", call(t, set, user(t, "u"), `{`), "EINVAL", "invalid arguments")
	got := call(t, set, user(t, "u"), read)
	check(t, "not there", got, "ENOENT", "file not found")
	if got.Command != "read" || got.Path != "/a" {
		t.Errorf("the envelope is of %q %q", got.Command, got.Path)
	}
	broken, _ := slowEngine(t, func() { panic("the wheels came off") })
	check(t, "panic", call(t, setOver(t, broken, files), user(t, "u"), read), "EIO", "internal error")
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		defer close(hang)
		slow, _ := slowEngine(t, func() { <-hang })
		check(t, "out of time", call(t, setOver(t, slow, files), user(t, "u"), read), "EAGAIN", "timed out")
	})
}

// However large the results are, the text is whole JSON below the cap, and the
// structured form has the same results.
func TestReplyCap(t *testing.T) {
	locitest.Unshared(t)
	random := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int{256, 700, 4096, DefaultReplyCap} {
		set := setOver(t, newEngine(t, loci.Options{}), Config{ReplyCap: limit, Entries: []Instance{
			{Family: FamilyFacts, ResponseFormat: FormatContentAndArtifact}, {Family: FamilyNotes}}})
		for round := range 5 {
			u := user(t, fmt.Sprint("u-", round))
			count := 1 + random.IntN(20)
			for n := range count {
				text := strings.Repeat("<tea> \"é\u202e ", 1+random.IntN(1+limit/8))
				save(t, set, u, fmt.Sprint(text, n))
			}
			reply := ok(t, set, "search_memory", u, `{"query":"tea","limit":20}`)
			var shown []found
			var raw struct {
				Memories []loci.Fact
				Dropped  int
			}
			capped(t, limit, reply, &shown, &raw)
			if len(shown) != len(raw.Memories) || len(shown)+raw.Dropped != count {
				t.Errorf("cap %d: %d in the text, %d raw, %d dropped, of %d", limit, len(shown), len(raw.Memories), raw.Dropped, count)
			}
			for i := range shown {
				if shown[i].Key != raw.Memories[i].ID.String() {
					t.Errorf("cap %d: result %d differs", limit, i)
				}
			}
			reply = ok(t, set, "memory_search", u, `{"query":"tea","top_k":20}`)
			var hits []noteHit
			var structured struct {
				Results []noteHit
				Dropped int
			}
			capped(t, limit, reply, &hits, &structured)
			if len(hits) != len(structured.Results) || len(hits)+structured.Dropped != count {
				t.Errorf("cap %d: %d hits, %d structured, %d dropped, of %d", limit, len(hits), len(structured.Results), structured.Dropped, count)
			}
		}
	}
}

func capped(t *testing.T, limit int, r Reply, text, structured any) {
	t.Helper()
	if len(r.Text) > limit {
		t.Errorf("%d bytes above a cap of %d", len(r.Text), limit)
	}
	decode(t, []byte(r.Text), text)
	decode(t, r.Structured, structured)
	if strings.ContainsRune(r.Text, '\u202e') {
		t.Error("a character that turns the direction of text is shown raw")
	}
}

// The cap is used: a result that fits is not dropped.
func TestReplyCapIsExact(t *testing.T) {
	b := &base{cfg: Config{ReplyCap: 20}}
	results := []json.RawMessage{[]byte(`"12345"`), []byte(`"1234567"`), []byte(`1`)}
	if r, err := b.listReply(results, "x", results, understood{}); err != nil || r.Text != `["12345","1234567"]` || string(r.Structured) != `{"x":["12345","1234567"],"dropped":1}` {
		t.Errorf("%s, %s", r.Text, r.Structured) // 19 bytes; the next result would make 21
	}
	b.cfg.ReplyCap = 21
	if r, err := b.listReply(results, "x", results, understood{}); err != nil || r.Text != `["12345","1234567",1]` || string(r.Structured) != `{"x":["12345","1234567",1]}` {
		t.Errorf("%s, %s", r.Text, r.Structured)
	}
}

// A reply that is one object uses the cap to its last byte, too: a reply as long as the cap is
// whole. With one byte less, a whole result is left out and the reply says so.
func TestReplyCapOfObjectsIsExact(t *testing.T) {
	results := []json.RawMessage{[]byte(`"1234567890123456"`), []byte(`"23456789"`), []byte(`3`)}
	all := `{"results":["1234567890123456","23456789",3]}`
	two := `{"results":["1234567890123456","23456789"],"dropped":1}`
	for limit, want := range map[int]string{
		len(all) + 1: all,
		len(all):     all,
		// One byte less, and there is no room for "dropped" beside the second one either.
		len(all) - 1: `{"results":["1234567890123456"],"dropped":2}`,
	} {
		b := &base{cfg: Config{ReplyCap: limit}}
		r, err := b.resultsReply(results, understood{})
		if err != nil || r.Text != want || string(r.Structured) != want {
			t.Errorf("cap %d: %s; want %s", limit, r.Text, want)
		}
	}
	long := append(slices.Clone(results[:2]), []byte(`"34567890123456"`))
	for limit, want := range map[int]string{
		len(two):     two,
		len(two) - 1: `{"results":["1234567890123456"],"dropped":2}`,
	} {
		b := &base{cfg: Config{ReplyCap: limit}}
		if r, err := b.resultsReply(long, understood{}); err != nil || r.Text != want {
			t.Errorf("cap %d: %s; want %s", limit, r.Text, want)
		}
	}
}

// Hidden characters are visible in a reply, and a client that decodes it gets them unchanged.
func TestHiddenCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"a\u202eb":                 `"a\u202eb"`,
		"\ufeff\u2066\u200b\u0085": `"\ufeff\u2066\u200b\u0085"`,
		"\U000e0041":               `"\udb40\udc41"`,
		"👩\u200d🚀 می\u200cخواهم":   `"👩` + "\u200d" + `🚀 می` + "\u200c" + `خواهم"`,
		"<b>&é\x00":                `"<b>&é\u0000"`,
	} {
		got, err := encode(text)
		var back string
		decode(t, got, &back)
		if err != nil || string(got) != want || back != text {
			t.Errorf("%q is written as %s, want %s; read back as %q", text, got, want, back)
		}
	}
}

// A memory larger than a whole reply is shown by its best passage, not hidden.
func TestExcerpt(t *testing.T) {
	set, u := newSet(t, factsFamily), user(t, "u-1")
	large := strings.Repeat("Nothing happened on that day. ", 1000) + "The parrot is called Igor."
	id := create(t, set, u, object("content", large))
	got := search(t, set, u, `{"query":"parrot Igor"}`)
	if len(got) != 1 || got[0].Key != id || !got[0].Excerpt || !strings.Contains(string(got[0].Value), "called Igor") {
		t.Fatalf("found %+v", got)
	}
	got = search(t, set, u, `{"query":""}`)
	if len(got) != 1 || !got[0].Excerpt || !strings.Contains(string(got[0].Value), "Nothing happened") {
		t.Fatalf("listed %+v", got)
	}
	if strings.Contains(string(got[0].Value), `"subject"`) {
		t.Errorf("a note has a subject: %s", got[0].Value)
	}
	e := newEngine(t, loci.Options{})
	set = setOver(t, e, Config{Entries: []Instance{factsFamily}})
	m, err := e.Memory(loci.View{Tenant: u.Principal.Tenant(), Namespace: loci.Namespace{"user", "u-1"}, Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	locitest.StoreFact(t, m, loci.NewFact{Content: large, Subject: "Ann", Predicate: "writes"})
	got = search(t, set, u, `{"query":"parrot Igor"}`)
	if len(got) != 1 || !got[0].Excerpt || !strings.Contains(string(got[0].Value), `"predicate":"writes","subject":"Ann"`) {
		t.Errorf("of a fact: %+v", got)
	}
}

// A call is written down for the server that the request came through, whatever came of it.
func TestCallsAreWrittenDown(t *testing.T) {
	set, u := newSet(t, Instance{Family: FamilyNotes}), user(t, "u-1")
	search, _ := set.Lookup("memory_search")
	for args, code := range map[string]string{`{"query":"tea"}`: "", `{"limit":0}`: string(loci.Invalid)} {
		var own trail.Trail
		_, _ = search.Call(trail.With(t.Context(), &own), u, json.RawMessage(args))
		if calls := own.Calls(); len(calls) != 1 || calls[0].Tool != "memory_search" || calls[0].Code != code || calls[0].Took <= 0 {
			t.Errorf("%s: %+v; want code %q", args, calls, code)
		}
	}
}

// The log has what no caller can mend: a defect, and a part that is down, with its cause.
// Mistakes of the caller are not in it.
func TestWhatIsLogged(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		logged bool
	}{
		"a defect":            {errors.New("torn page"), true},
		"a part that is down": {&loci.Error{Code: loci.Unavailable, Msg: "no", Err: errors.New("connection refused")}, true},
		"a full store":        {&loci.Error{Code: loci.Unavailable, Msg: "full"}, false}, // without a cause there is nothing to add
		"a missing setting":   {&loci.ConfigurationError{Key: "user_id"}, true},
		"a wrong argument":    {loci.Errorf(loci.Invalid, "limit is 0"), false},
		"nothing there":       {loci.Errorf(loci.NotFound, "no memory"), false},
	} {
		var log bytes.Buffer
		broken := &Tool{Name: "memory_save", base: &base{logger: slog.New(slog.NewJSONHandler(&log, nil))}}
		broken.report(t.Context(), Caller{RequestID: "req-9"}, c.err)
		if got := strings.Contains(log.String(), "tool failed"); got != c.logged || got && !strings.Contains(log.String(), "req-9") {
			t.Errorf("%s: logged %v: %s", name, got, &log)
		}
	}
}

// What is as long as may be is not cut; what somebody else wrote is valid text afterwards.
func TestTextsAreCutAtTheirLimit(t *testing.T) {
	for text, want := range map[string]string{"éa": "éa", "éab": "éa", "a\xff": "a\uFFFD", "\xff\xfeab": "\uFFFDa", "": ""} {
		if got := clip(text, 2); got != want {
			t.Errorf("%q becomes %q; want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"é": "é", "éa": "éa", "éab": "éa"} {
		if got, cut := excerpt(text, 2); got != want || cut != (got != text) {
			t.Errorf("%q becomes %q, cut %v; want %q", text, got, cut, want)
		}
	}
}

// The server that a request came through learns of a refusal because a scope is missing, and of no other failure.
func TestRefusalsAreWrittenDown(t *testing.T) {
	set := newSet(t, Instance{Family: FamilyNotes})
	search, _ := set.Lookup("memory_search")
	for _, c := range []struct {
		caller        Caller
		args, refused string
	}{
		{user(t, "u-1"), `{"query":"tea"}`, ""},
		{user(t, "u-1"), `{"limit":0}`, ""},
		{user(t, "u-1", loci.ScopeDelete), `{"query":"tea"}`, "memory_search"},
	} {
		var own trail.Trail
		_, _ = search.Call(trail.With(t.Context(), &own), c.caller, json.RawMessage(c.args))
		if own.Refused() != c.refused || (len(own.Lacking()) > 0) != (c.refused != "") {
			t.Errorf("%s: refused %q, lacking %q", c.args, own.Refused(), own.Lacking())
		}
	}
}
