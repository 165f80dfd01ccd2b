//go:build !race

// These tests meet sizes one after the other and start no goroutine: the race detector has
// nothing to see, and `make test` runs them without it.

package loci_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/tree"
)

// Too many tags are refused in one pass: each further tag costs the same, and a tag given twice
// counts once.
func TestTagsAreBoundedFirst(t *testing.T) {
	many := func(n int) []string {
		tags := make([]string, n)
		for i := range tags {
			tags[i] = fmt.Sprintf("T%d", i)
		}
		return tags
	}
	allocations := func(n int) float64 {
		tags := many(n)
		return locitest.Allocations(func() {
			_, err := loci.CheckTags(tags)
			if want := fmt.Sprintf("tags has %d entries; the limit is 16: leave some out", n); err == nil ||
				err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
	if few, most := allocations(17), allocations(80_000); most > 2*few+20 {
		t.Errorf("17 tags take %v allocations, 80,000 take %v", few, most)
	}
	if got, err := loci.CheckTags(append(many(16), many(16)...)); err != nil || len(got) != 16 {
		t.Errorf("16 tags, each twice: %v, %v", got, err)
	}
}

// The number of values in a filter is bounded, however deep they lie. It is checked before any
// value is read.
func TestFiltersAreBounded(t *testing.T) {
	list := func(n int) []any { return make([]any, n) }
	object := func(n int) map[string]any {
		m := map[string]any{}
		for i := range n {
			m[fmt.Sprintf("k%d", i)] = i
		}
		return m
	}
	for name, filter := range map[string]map[string]any{
		"100": object(100), "a list of 99": {"a": list(99)}, "an object of 99": {"a": object(99)}, "bytes": {"a": make([]byte, 1000)},
		"two lists": {"a": list(49), "b": list(49)},
	} {
		if _, err := loci.ParseWhere(filter); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	type point struct{ A []int }
	for name, filter := range map[string]map[string]any{
		"101": object(101), "a list of 100": {"a": list(100)}, "an object of 100": {"a": object(100)}, "two lists": {"a": list(50), "b": list(50)},
		"an operator": {"a": map[string]any{"$eq": list(99)}}, "numbers": {"a": make([]float64, 100)}, "a struct": {"a": point{make([]int, 100)}},
		"raw": {"a": json.RawMessage("[" + strings.Repeat("1,", 100) + "1]")}, "a million": {"a": list(1_000_000)},
	} {
		if _, err := loci.ParseWhere(filter); err == nil ||
			err.Error() != "filter has more than 100 conditions: leave some out" {
			t.Errorf("%s: %v", name, err)
		}
	}
	few, many := map[string]any{"a": object(200)}, map[string]any{"a": object(50_000)}
	cost := func(filter map[string]any) float64 {
		return locitest.Allocations(func() { _, _ = loci.ParseWhere(filter) })
	}
	if a, b := cost(few), cost(many); b > 2*a+20 {
		t.Errorf("200 values take %v allocations, 50,000 take %v", a, b)
	}
}

// The scopes and kinds of a search are bounded in number: each is compared with every record.
func TestSearchesAreBounded(t *testing.T) {
	e, err := loci.New(memory.Open(), &loci.Options{Features: locitest.Features()})
	if err != nil {
		t.Fatal(err)
	}
	m := locitest.Bind(t, e, "user", "u")
	for _, n := range []int{loci.MaxScopes, loci.MaxScopes + 1} {
		scopes := strings.Split(strings.Repeat("s", n), "")
		_, err := m.Search(t.Context(), loci.Query{Text: "x", Scopes: scopes})
		if (err != nil) != (n > loci.MaxScopes) {
			t.Errorf("%d scopes: %v", n, err)
		}
		if _, err = m.Recall(
			t.Context(),
			loci.RecallQuery{Topic: "x", Scopes: scopes},
		); (err != nil) != (n > loci.MaxScopes) {
			t.Errorf("recall of %d scopes: %v", n, err)
		}
	}
	if _, err := m.Search(t.Context(), loci.Query{Kinds: make([]loci.Kind, 33)}); err == nil {
		t.Error("33 kinds are searched")
	}
	if _, _, err := m.Events(
		t.Context(),
		loci.EventFilter{Types: make([]loci.EventType, len(loci.EventTypes)+1)},
		loci.Page{},
	); err == nil {
		t.Error("events of more types than there are")
	}
}

// JSON that could not be stored as it was sent is refused wherever a program hands it over.
// Items and messages may hold NUL, as they always could.
func TestJSONIsStoredAsSent(t *testing.T) {
	e, err := loci.New(memory.Open(), &loci.Options{Features: locitest.Features()})
	if err != nil {
		t.Fatal(err)
	}
	m, ctx := locitest.Bind(t, e, "user", "u"), t.Context()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	put := func(value string) error { return item.Of(m).Put(ctx, m.View().Namespace, "k", raw(value), nil) }
	for name, store := range map[string]func(value string) error{
		"item": put,
		"fact": func(v string) error { _, err := m.StoreFact(ctx, loci.NewFact{Value: raw(v)}); return err },
		"session": func(v string) error {
			_, err := session.Of(m).Create(ctx, session.New{Metadata: raw(v)})
			return err
		},
		"message": func(v string) error {
			_, err := session.ParseMessage(raw(`{"type":"human","data":{"content":"","x":` + v + `}}`))
			return err
		},
		"messages": func(v string) error {
			return session.Message{Type: session.MessageHuman, Data: raw(`{"content":"","x":` + v + `}`)}.Validate()
		},
		"chat": func(v string) error {
			_, err := tree.ParseChat(raw(`[{"role":"user","content":"","x":` + v + `}]`))
			return err
		},
		"import": func(v string) error {
			_, err := session.Of(m).Import(ctx, strings.NewReader(`{"format":"loci.session","version":1,"messages":[],"session":{"metadata":`+v+`}}`), session.Import{})
			return err
		},
		"lines": func(v string) error {
			_, err := m.Import(ctx, strings.NewReader(`{"type":"entity","name":"n","observations":["o"],"x":`+v+"}\n"), nil)
			return err
		},
	} {
		for _, bad := range []string{`{"a":"\ud800"}`, `{"\udfff":1}`, `{"a":{"b":1,"b":2}}`, "{\"a\":\"\xff\"}"} {
			if err := store(bad); err == nil || loci.AsError(err).Code != loci.Invalid {
				t.Errorf("%s: %s: %v", name, bad, err)
			}
		}
		if err := store(`{"a":"\ud83d\ude00"}`); err != nil {
			t.Errorf("%s: a whole pair: %v", name, err)
		}
	}
	for _, name := range []string{`{"TYPE":"entity","name":"n"}`, `{"type":"entity","Name":"n"}`, `{"type":"header","format":"loci.export","version":1,"Version":1}`} {
		if _, err := m.Import(ctx, strings.NewReader(name+"\n"), nil); err == nil ||
			!strings.Contains(err.Error(), "is unknown: write it") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A version that no program ever wrote is the caller's fault; one from the future is not.
func TestVersionsOfImports(t *testing.T) {
	e, err := loci.New(memory.Open(), &loci.Options{Features: locitest.Features()})
	if err != nil {
		t.Fatal(err)
	}
	m := locitest.Bind(t, e, "user", "u")
	for version, want := range map[int]loci.Code{-1: loci.Invalid, 0: loci.Invalid, 2: loci.Unsupported} {
		_, err := m.Import(
			t.Context(),
			strings.NewReader(fmt.Sprintf(`{"type":"header","format":"loci.export","version":%d}`+"\n", version)),
			nil,
		)
		if loci.AsError(err).Code != want {
			t.Errorf("export of version %d: %v", version, err)
		}
		_, err = session.Of(m).Import(t.Context(), bytes.NewReader([]byte(fmt.Sprintf(`{"format":"loci.session","version":%d,"messages":[]}`, version))), session.Import{})
		if loci.AsError(err).Code != want {
			t.Errorf("session of version %d: %v", version, err)
		}
	}
}

// The parts of a message are bounded, since others compare them with one another.
func TestPartsOfMessagesAreBounded(t *testing.T) {
	for name, data := range map[string]string{
		"tool_calls":         `"content":"","tool_calls":[%s]`,
		"invalid_tool_calls": `"content":"","invalid_tool_calls":[%s]`,
		"content":            `"content":[%s]`,
	} {
		for _, n := range []int{session.MaxMessageParts, session.MaxMessageParts + 1} {
			part := `{"name":"f","args":{}}`
			if name != "tool_calls" {
				part = `{"type":"text"}`
			}
			parts := strings.TrimSuffix(strings.Repeat(part+",", n), ",")
			_, err := session.ParseMessage([]byte(`{"type":"ai","data":{` + fmt.Sprintf(data, parts) + `}}`))
			if (err != nil) != (n > session.MaxMessageParts) || err != nil && !strings.Contains(err.Error(), "; the limit is 10000: split the message") {
				t.Errorf("%d %s: %v", n, name, err)
			}
		}
	}
}

// A message whose line in an export would be too long is refused: JSON writes each of these
// bytes as two.
func TestImportOfTooMuch(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{
		Content: loci.ContentOptions{KeepSecrets: true},
	}), "u") // it never comes to a store
	locitest.PutItem(t, m, loci.Namespace{"u"}, "k", `{"a":"b"}`, &item.PutOptions{Index: []string{}})
	long := strings.Replace(locitest.Exported(t, m), `"a":"b"`, `"a":"`+strings.Repeat("\u2028", 18<<20/3)+`"`, 1)
	_, err := m.Import(t.Context(), strings.NewReader(long), nil)
	locitest.WantCode(t, err, loci.TooLarge)
	if err == nil || !strings.Contains(err.Error(), "too much for one memory") {
		t.Errorf("error %v", err)
	}
}

// A bound is a number or a size that callers give: what is taken, and what is refused.
type bound struct {
	name       string
	taken, not []float64
	try        func(n float64) error
}

func (b *bound) check(t *testing.T) {
	t.Helper()
	for _, n := range b.taken {
		if err := b.try(n); err != nil {
			t.Errorf("%s of %v: %v", b.name, n, err)
		}
	}
	for _, n := range b.not {
		if err := b.try(n); err == nil {
			t.Errorf("%s of %v is not refused", b.name, n)
		}
	}
}

// What is as large, or as small, as is allowed is taken; one step more is refused.
func TestBoundsOfReads(t *testing.T) {
	m, ctx := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u"), t.Context()
	search := func(q loci.Query) error { _, err := m.Search(ctx, q); return err }
	recall := func(q loci.RecallQuery) error { _, err := m.Recall(ctx, q); return err }
	upTo := func(n int) (taken, not []float64) { return []float64{float64(n)}, []float64{float64(n + 1)} }
	text, tooMuch := upTo(loci.MaxQueryBytes)
	tokens, tooMany := upTo(loci.MaxTokenBudget)
	types, moreTypes := upTo(len(loci.EventTypes))
	for _, b := range []bound{
		{"limit", []float64{0, 1, 1000}, []float64{-1, 1001}, func(n float64) error {
			return search(loci.Query{Text: "x", Limit: int(n)})
		}},
		{"offset", []float64{0, 1, 10_000}, []float64{-1, 10_001}, func(n float64) error {
			return search(loci.Query{Text: "x", Offset: int(n)})
		}},
		{"least score", []float64{0, 0.5, 1}, []float64{-0.1, 1.1}, func(n float64) error {
			return search(loci.Query{Text: "x", MinScore: n})
		}},
		{"query", text, tooMuch, func(n float64) error {
			return search(loci.Query{Text: strings.Repeat("x", int(n))})
		}},
		{"kinds", []float64{32}, []float64{33}, func(n float64) error {
			return search(loci.Query{Text: "x", Kinds: slices.Repeat([]loci.Kind{loci.KindFact}, int(n))})
		}},
		{"until", []float64{1}, []float64{-1, 0}, func(n float64) error {
			since := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			return search(loci.Query{Text: "x", Since: since, Until: since.Add(time.Duration(n))})
		}},
		{"limit of a recall", []float64{0, 1, 500}, []float64{-1, 501}, func(n float64) error {
			return recall(loci.RecallQuery{Topic: "x", Limit: int(n)})
		}},
		{"least confidence", []float64{0, 0.5, 1}, []float64{-0.1, 1.1}, func(n float64) error {
			return recall(loci.RecallQuery{Topic: "x", MinConfidence: &n})
		}},
		{"budget", append(tokens, 0, 1), append(tooMany, -1), func(n float64) error {
			_, err := m.Context(ctx, loci.ContextQuery{Prompt: "x", Agent: "a", TokenBudget: new(int(n))})
			return err
		}},
		{"types of events", types, moreTypes, func(n float64) error {
			_, _, err := m.Events(ctx, loci.EventFilter{Types: make([]loci.EventType, int(n))}, loci.Page{})
			return err
		}},
	} {
		b.check(t)
	}
}

// As [TestBoundsOfReads].
func TestBoundsOfWrites(t *testing.T) {
	c := locitest.NewClock()
	opts := loci.Options{Now: c.Now, Content: loci.ContentOptions{MaxBytes: 64}}
	e := locitest.NewEngine(t, locitest.OpenMemory(), opts)
	m, ctx := locitest.Bind(t, e, "u"), t.Context()
	rule, err := m.StoreRule(ctx, loci.NewRule{Content: "a rule"})
	if err != nil {
		t.Fatal(err)
	}
	repeat := func(n float64) string { return strings.Repeat("x", int(n)) }
	written := 0
	save := func(in loci.NewFact) error {
		if written++; in.Content == "" {
			in.Content = fmt.Sprint("note ", written)
		}
		_, err := m.StoreFact(ctx, in)
		return err
	}
	view := func(v loci.View) error {
		v.Tenant, v.Actor = locitest.Tenant(t, "t"), "a"
		_, err := e.Memory(v)
		return err
	}
	upTo := func(n int) (taken, not []float64) { return []float64{float64(n)}, []float64{float64(n + 1)} }
	bytes, moreBytes := upTo(loci.MaxMetadataBytes)
	reason, longer := upTo(loci.MaxReasonBytes)
	labels, moreLabels := upTo(loci.MaxLabels)
	label, longLabel := upTo(loci.MaxLabelBytes)
	dims, moreDims := upTo(loci.MaxDims)
	for _, b := range []bound{
		{"content", []float64{1, 64}, []float64{0, 65}, func(n float64) error {
			if n == 0 {
				_, err := m.StoreFact(ctx, loci.NewFact{})
				return err
			}
			return save(loci.NewFact{Content: repeat(n)})
		}},
		{"metadata", bytes, moreBytes, func(n float64) error {
			return save(loci.NewFact{Metadata: map[string]any{"k": repeat(n - float64(len(`{"k":""}`)))}})
		}},
		{"importance", []float64{0, 10}, []float64{-0.1, 10.1}, func(n float64) error {
			return save(loci.NewFact{Importance: &n})
		}},
		{"confidence", []float64{0, 0.05, 1}, []float64{-1, 0.04, 1.1}, func(n float64) error {
			return save(loci.NewFact{Confidence: n})
		}},
		{"sequence", append(label, 0, 1), longLabel, func(n float64) error {
			return save(loci.NewFact{Sequence: repeat(n)})
		}},
		{"position", []float64{0, 1}, []float64{-1}, func(n float64) error {
			return save(loci.NewFact{Sequence: "s", Position: int64(n)})
		}},
		{"position in nothing", []float64{0}, []float64{1}, func(n float64) error {
			return save(loci.NewFact{Position: int64(n)})
		}},
		{"created, days from now", []float64{-1, 1}, []float64{1.0001}, func(n float64) error {
			after := time.Duration(n * 24 * float64(time.Hour))
			return save(loci.NewFact{CreatedAt: c.Now().Truncate(time.Millisecond).Add(after)})
		}},
		{"created, year", []float64{1900}, []float64{1899}, func(n float64) error {
			return save(loci.NewFact{CreatedAt: time.Date(int(n), 7, 1, 0, 0, 0, 0, time.UTC)})
		}},
		{"any time, year", []float64{1, 9999}, []float64{0, 10_000}, func(n float64) error {
			_, err := loci.CheckTime("at", time.Date(int(n), 7, 1, 0, 0, 0, 0, time.UTC))
			return err
		}},
		{"life of an episode, ms", []float64{0, 1}, []float64{-1, 0.5}, func(n float64) error {
			ttl := time.Duration(n * float64(time.Millisecond))
			_, err := m.StoreEpisode(ctx, loci.NewEpisode{Content: "x", Butler: "a", TTL: ttl})
			return err
		}},
		{"reason", append(reason, 0), longer, func(n float64) error {
			_, err := m.MarkHarmful(ctx, rule, repeat(n))
			return err
		}},
		{"labels", append(labels, 0, 1), moreLabels, func(n float64) error {
			return view(loci.View{Namespace: slices.Repeat([]string{"n"}, int(n))})
		}},
		{"label", append(label, 1), append(longLabel, 0), func(n float64) error {
			return view(loci.View{Namespace: []string{repeat(n)}})
		}},
		{"idempotency key", []float64{0, 256}, []float64{257}, func(n float64) error {
			return view(loci.View{IdempotencyKey: repeat(n)})
		}},
		{"dimensions", append(dims, 1), append(moreDims, 0), func(n float64) error {
			return loci.Space{Model: "m", Dims: int(n)}.Validate()
		}},
		{"tokens of an answer", []float64{0, 256}, []float64{255}, func(n float64) error {
			_, err := e.Consolidate(ctx, locitest.Tenant(t, "t"), loci.ConsolidateOptions{CompletionTokens: int64(n)})
			return err
		}},
		{"tokens of a prompt", []float64{0, 4000}, []float64{3999}, func(n float64) error {
			_, err := e.Consolidate(ctx, locitest.Tenant(t, "t"), loci.ConsolidateOptions{PromptTokens: int64(n)})
			return err
		}},
	} {
		b.check(t)
	}
	// So many names have too many bytes at any rate: what matters is that more are not written out.
	for n, what := range map[int]string{loci.MaxMetadataNames: " bytes;", loci.MaxMetadataNames + 1: " names;"} {
		metadata := map[string]any{}
		for i := range n {
			metadata[fmt.Sprint(i)] = 1
		}
		if err := save(loci.NewFact{Metadata: metadata}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%d names: %v", n, err)
		}
	}
}

// A chain of facts is shown up to 10,000, those nearest to the one that is asked for.
func TestHistoryIsBounded(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	const all = 10_002
	id := func(n int) string { return fmt.Sprintf("01900000-0000-7000-8000-%012d", n) }
	var lines strings.Builder
	lines.WriteString(`{"type":"header","format":"loci.export","version":1}` + "\n")
	for n := 1; n <= all; n++ {
		body := `"validity":"active"`
		if n > 1 {
			body += fmt.Sprintf(`,"supersedes":%q`, id(n-1))
		}
		if n < all {
			body = strings.Replace(body, "active", "superseded", 1) + fmt.Sprintf(`,"superseded_by":%q`, id(n+1))
		}
		fmt.Fprintf(&lines, `{"type":"record","id":%q,"kind":"fact","version":1,"live":%t,"created_at":"2026-01-01T00:00:00Z",`+
			`"updated_at":"2026-01-01T00:00:00Z","text":"note %d","body":{%s,"confirmed_at":"2026-01-01T00:00:00Z"}}`+"\n",
			id(n), n == all, n, body)
	}
	fmt.Fprintf(&lines, `{"type":"end","records":%d}`+"\n", all)
	if r, err := m.Import(t.Context(), strings.NewReader(lines.String()), nil); err != nil || r.Created != all {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, c := range []struct{ of, first, last int }{
		{1, 1, 10_000}, {all, 5002, all}, {5002, 2, 10_001}, {100, 1, 10_000},
	} {
		of, err := loci.ParseID(id(c.of))
		if err != nil {
			t.Fatal(err)
		}
		chain, err := m.History(t.Context(), of)
		if err != nil || len(chain) == 0 {
			t.Fatalf("history of %d: %d facts, %v", c.of, len(chain), err)
		}
		want := fmt.Sprintf("note %d, note %d", c.first, c.last)
		if got := chain[0].Content + ", " + chain[len(chain)-1].Content; got != want {
			t.Errorf("history of %d: %s, want %s", c.of, got, want)
		}
	}
}
