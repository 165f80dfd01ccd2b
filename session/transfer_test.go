package session_test

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
	"github.com/loci-memory/loci/session"
)

// oddMessages hold what a careless copy loses: big numbers, the order of keys, unknown keys,
// signs.
func oddMessages() []session.Message {
	return []session.Message{
		locitest.Spoken(session.MessageSystem, "Be brief. <b>&amp;</b>"),
		{Type: session.MessageHuman, Data: json.RawMessage(`{"z":1,"content":[{"type":"text","text":"Look:"},{"type":"image_url","image_url":{"url":"data:,"}}],"a":12345678901234567890.10,"name":"Ann","x":{"<":"\u2028\ud83d\ude00"}}`)},
		asks("c1", "c2"), answer("c1"), // c2 dangles
		{Type: session.MessageTool, Data: json.RawMessage(`{"content":"","tool_call_id":"c9","status":"error","artifact":{"rows":[1,2]}}`)},
		{Type: session.MessageGeneric, Data: json.RawMessage(`{"content":"x","role":"critic"}`)},
	}
}

func exportedSession(t testing.TB, m *loci.Memory, id string) string {
	t.Helper()
	var b bytes.Buffer
	if err := session.Of(m).Export(t.Context(), id, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSessionExportImport: an exported session comes back with every digit, key and number, and
// can go on; so can a list without numbers and times.
func TestSessionExportImport(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, loci.Options{Now: c.Now})
		m, other := locitest.Bind(t, e, "u"), locitest.Bind(t, e, "v")
		if _, err := session.Of(m).Create(t.Context(), session.New{
			ID:             "s",
			Metadata:       json.RawMessage(`{"title":"Trip"}`),
			MaxMessages:    7,
			TimeoutSeconds: 3600,
		}); err != nil {
			t.Fatal(err)
		}
		locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "goes"))
		locitest.AppendTo(t, m, "s", oddMessages()...)
		document := exportedSession(t, m, "s")
		c.Advance(time.Hour)
		imported := func(m *loci.Memory, opts session.Import) session.ImportedSession {
			t.Helper()
			done, err := session.Of(m).Import(t.Context(), strings.NewReader(document), opts)
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		if done := imported(other, session.Import{}); done != (session.ImportedSession{Session: "s", Imported: 7}) {
			t.Errorf("imported %+v", done)
		}
		was, is := locitest.HistoryOf(t, m, "s", session.HistoryQuery{}),
			locitest.HistoryOf(t, other, "s", session.HistoryQuery{})
		if a, b := asJSON(t, was), asJSON(t, is); a != b || !strings.Contains(a, `"z":1,"content":[`) || !strings.Contains(a, "12345678901234567890.10") {
			t.Errorf("was %s\nis  %s", a, b)
		}
		a, b := ofRecord(t, m, "s"), ofRecord(t, other, "s")
		if !a.CreatedAt.Equal(b.CreatedAt) || string(a.Metadata) != string(b.Metadata) ||
			a.MaxMessages != b.MaxMessages || a.TimeoutSeconds != b.TimeoutSeconds ||
			b.Status != session.Active || a.LastSeq != b.LastSeq {
			t.Errorf("was %+v, is %+v", a, b)
		}
		_, err := session.Of(other).Import(t.Context(), strings.NewReader(document), session.Import{})
		locitest.WantCode(t, err, loci.Conflict)
		if done := imported(other, session.Import{Mode: session.ImportReplace}); done.Replaced != 7 ||
			ofRecord(t, other, "s").Messages != 7 {
			t.Errorf("replaced %+v", done)
		}
		next := locitest.AppendTo(t, other, "s", locitest.Spoken(session.MessageHuman, "on"))
		if next.First != 8 || next.Trimmed != 2 { // the oldest, and a result without its call
			t.Errorf("it goes on with %+v", next)
		}
		locitest.AppendTo(t, other, "long", locitest.Spoken(session.MessageHuman, "first"))
		if done := imported(other, session.Import{ID: "long", Mode: session.ImportAppend}); done.Session != "long" ||
			done.Imported != 7 {
			t.Errorf("appended %+v", done)
		}
		got := seqs(locitest.HistoryOf(t, other, "long", session.HistoryQuery{}))
		if !slices.Equal(got, []int64{1, 2, 3, 4, 5, 6, 7, 8}) {
			t.Errorf("numbers %v", got)
		}
		// Without numbers, times and a session of its own: what a person writes.
		document = `{"format":"loci.session","version":1,"messages":[{"role":"user","content":"hi"},{"type":"ai","data":{"content":"ho"}}]}`
		fresh := imported(other, session.Import{})
		if got := locitest.Said(
			locitest.HistoryOf(t, other, fresh.Session, session.HistoryQuery{})); !slices.Equal(got, []string{"1 hi", "2 ho"}) {
			t.Errorf("history %q", got)
		}
	})
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSessionImportRefuses: a document that is wrong anywhere is refused whole, with the
// message and the field.
func TestSessionImportRefuses(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "one"), asks("c"))
	good := exportedSession(t, m, "s")
	for name, c := range map[string]struct {
		from, to string
		code     loci.Code
		want     string
	}{
		"not JSON":       {`{"format"`, `{format`, loci.Invalid, "not JSON of an exported session"},
		"format":         {"loci.session", "loci.other", loci.Invalid, `format is "loci.other"; it must be loci.session`},
		"version":        {`"version":1`, `"version":2`, loci.Unsupported, "version is 2"},
		"messages":       {`"messages":[`, `"letters":[`, loci.Invalid, "messages must be a list"},
		"a type":         {`"type":"ai"`, `"type":"oracle"`, loci.Invalid, `messages[1]: type "oracle" is not known`},
		"a content":      {`"content":"one"`, `"content":1`, loci.Invalid, "messages[0]: data.content must be a text or a list of blocks"},
		"arguments":      {`"args":{"id":"c"}`, `"args":"c"`, loci.Invalid, "messages[1]: data.tool_calls[0].args must be a JSON object"},
		"a number twice": {`"seq":2`, `"seq":1`, loci.Invalid, "messages[1]: seq is 1; it must be greater"},
		"a number 0":     {`"seq":1`, `"seq":0`, loci.Invalid, "messages[0]: seq must be a whole number from 1"},
		"half numbered":  {`"seq":2,`, ``, loci.Invalid, "messages[1]: seq must be in all messages, or in none"},
		"a time":         {`"created_at":"2026-01-02T03:04:05.678Z","type":"ai"`, `"created_at":"yesterday","type":"ai"`, loci.Invalid, "messages[1]: created_at must be a time"},
		"an id":          {`"id":"s"`, `"id":"` + strings.Repeat("s", 300) + `"`, loci.Invalid, "session_id is 300 bytes long"},
		"a limit":        {`"last_seq":2`, `"last_seq":2,"max_messages":-1`, loci.Invalid, "max_messages is -1"},
		"an odd field":   {`"type":"ai"`, `"type":"ai","extra":1`, loci.Invalid, "messages[1]: extra is no field of a stored message"},
	} {
		document := strings.Replace(good, c.from, c.to, 1)
		if document == good {
			t.Fatalf("%s: nothing was replaced in %s", name, good)
		}
		_, err := session.Of(m).Import(t.Context(), strings.NewReader(document),
			session.Import{Mode: session.ImportReplace})
		locitest.WantCode(t, err, c.code)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	_, err := session.Of(m).Import(t.Context(), strings.NewReader(good), session.Import{Mode: "merge"})
	locitest.WantCode(t, err, loci.Invalid)
	if exportedSession(t, m, "s") != good {
		t.Error("a refused import changed something")
	}
}

// TestSessionImportOfAList: what other programs keep is a list of messages and nothing
// else, in any form that an append reads.
func TestSessionImportOfAList(t *testing.T) {
	forms := map[string]string{
		"LangChain":  `[{"type":"human","data":{"content":"hi"}},{"type":"ai","data":{"content":"ho"}}]`,
		"serialised": `[{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"hi"}},{"role":"assistant","content":"ho"}]`,
		"dumped":     `[{"content":"hi","additional_kwargs":{},"response_metadata":{},"type":"human","name":null,"id":null},{"type":"ai","content":"ho","created_at":"2026-01-02T03:04:05.678Z"}]`,
		"OpenAI":     " \n[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":\"ho\"}]\n",
	}
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		for name, list := range forms {
			done, err := session.Of(m).Import(t.Context(), strings.NewReader(list), session.Import{})
			if err != nil || done.Imported != 2 || len(done.Session) != 36 {
				t.Fatalf("%s: %+v, %v", name, done, err)
			}
			got := locitest.Said(locitest.HistoryOf(t, m, done.Session, session.HistoryQuery{}))
			if !slices.Equal(got, []string{"1 hi", "2 ho"}) {
				t.Errorf("%s: history %q", name, got)
			}
			if text := exportedSession(t, m, done.Session); strings.Count(text, `"created_at"`) != 3 { // the session's and theirs
				t.Errorf("%s: exported as %s", name, text)
			}
			if done, err = session.Of(m).Import(t.Context(), strings.NewReader(list),
				session.Import{ID: "all", Mode: session.ImportAppend}); err != nil || done.Session != "all" {
				t.Fatalf("%s: %+v, %v", name, done, err)
			}
		}
		if got := ofRecord(t, m, "all").Messages; got != int64(2*len(forms)) {
			t.Errorf("%d messages were appended", got)
		}
	})
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	for list, want := range map[string]string{
		`[{"role":"user","content":"fine"},{"role":"oracle","content":"x"}]`: "messages[1]: Invalid role",
		`[5]`:    "messages[0]: a message must be a JSON object",
		`[{]`:    "not JSON of an exported session, nor a list of messages: the character ']' is not expected, at byte 3",
		`[]`:     "the list of messages is empty",
		`"text"`: "not JSON of an exported session, nor a list of messages: the value must be an object, got a string",
		``:       "it ends too early",
	} {
		_, err := session.Of(m).Import(t.Context(), strings.NewReader(list), session.Import{})
		locitest.WantCode(t, err, loci.Invalid)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", list, err, want)
		}
	}
}

// A whole export holds the sessions and brings them back, with everything they need to go on.
func TestExportHoldsSessions(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m, below := locitest.Bind(t, e, "u"), locitest.Bind(t, e, "u", "deep")
		locitest.AppendTo(t, m, "s", oddMessages()...)
		locitest.AppendTo(t, m, "two", locitest.Spoken(session.MessageHuman, "hi"))
		locitest.AppendTo(t, below, "s", locitest.Spoken(session.MessageHuman, "below"))
		locitest.Save(t, m, "a note")
		file := locitest.Exported(t, m)
		target := locitest.OpenMemory()
		other := locitest.Bind(t, locitest.NewEngine(t, target, loci.Options{}), "v")
		for _, created := range []int64{12, 0} {
			report, err := other.Import(t.Context(), strings.NewReader(file), nil)
			if err != nil || report.Created != created ||
				report.Created+report.Existing != 12 || report.Conflicts != 0 {
				t.Fatalf("report %+v, %v", report, err)
			}
		}
		if a, b := asJSON(t, locitest.HistoryOf(t, m, "s", session.HistoryQuery{})),
			asJSON(t, locitest.HistoryOf(t, other, "s", session.HistoryQuery{})); a != b {
			t.Errorf("was %s\nis  %s", a, b)
		}
		next := locitest.AppendTo(t, other, "s", locitest.Spoken(session.MessageHuman, "on"))
		if next.First != 7 || next.Messages != 7 {
			t.Errorf("it goes on with %+v", next)
		}
		// The file adds nothing to a session that went on here, nor to another session that has
		// its id.
		if _, err := session.Of(other).Clear(t.Context(), "two"); err != nil {
			t.Fatal(err)
		}
		later := locitest.NewClock()
		later.Advance(time.Hour)
		locitest.AppendTo(t, locitest.Bind(t, locitest.NewEngine(t, target, loci.Options{Now: later.Now}), "v"),
			"two", locitest.Spoken(session.MessageHuman, "another"))
		report, err := other.Import(t.Context(), strings.NewReader(file), nil)
		if err != nil || report.Created != 0 || report.Conflicts != 2 {
			t.Errorf("report %+v, %v", report, err)
		}
		got := locitest.Said(locitest.HistoryOf(t, other, "two", session.HistoryQuery{}))
		if !slices.Equal(got, []string{"1 another"}) {
			t.Errorf("history %q", got)
		}
		if n := ofRecord(t, other, "s").Messages; n != 7 {
			t.Errorf("%d messages", n)
		}
	})
}

// Erasing by id, and many at once, leaves no session that does not know its messages.
func TestSessionEraseByID(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "one"),
			locitest.Spoken(session.MessageHuman, "two"), locitest.Spoken(session.MessageHuman, "three"))
		locitest.Save(t, m, "a note")
		byText := func(text string) loci.ID {
			for _, match := range locitest.Search(t, m,
				loci.Query{Kinds: []loci.Kind{session.KindMessage, session.Kind}}).Matches {
				if match.Record.Text == text {
					return match.Record.ID
				}
			}
			t.Fatalf("no record says %q", text)
			return loci.ID{}
		}
		if err := m.Erase(t.Context(), byText("user: two")); err != nil {
			t.Fatal(err)
		}
		got := locitest.Said(locitest.HistoryOf(t, m, "s", session.HistoryQuery{}))
		if !slices.Equal(got, []string{"1 one", "3 three"}) || ofRecord(t, m, "s").Messages != 2 {
			t.Errorf("history %q", got)
		}
		if err := m.Erase(t.Context(), byText("")); err != nil { // the session's record
			t.Fatal(err)
		}
		found := locitest.Search(t, m, loci.Query{Kinds: []loci.Kind{session.KindMessage, session.Kind}})
		if len(found.Matches) > 0 {
			t.Errorf("left: %q", locitest.Texts(found))
		}
		for i := range 3 {
			locitest.AppendTo(t, m, fmt.Sprint(i), locitest.Spoken(session.MessageHuman, "x"))
		}
		_, err := m.CountErase(t.Context(), loci.EraseQuery{Kinds: []loci.Kind{session.KindMessage}, Tags: []string{"t"}})
		locitest.WantCode(t, err, loci.Invalid)
		q := loci.EraseQuery{Kinds: []loci.Kind{session.KindMessage}}
		if q.Expect, err = m.CountErase(t.Context(), q); err != nil || q.Expect != 6 {
			t.Fatal(q.Expect, err)
		}
		if _, err := m.EraseAll(t.Context(), q, nil); err != nil || len(locitest.AllFacts(t, m)) != 1 {
			t.Errorf("erase all: %v", err)
		}
		next := locitest.AppendTo(t, m, "1", locitest.Spoken(session.MessageHuman, "again"))
		if !next.Created || next.First != 1 {
			t.Errorf("appended %+v", next)
		}
	})
}

// The next session of an id does not have what a half-done erase left of the one before.
func TestSessionBeginsClean(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "old"), locitest.Spoken(session.MessageHuman, "older"))
		r := locitest.Search(t, m, loci.Query{Kinds: []loci.Kind{session.Kind}}).Matches[0].Record
		gone := loci.Event{
			ID:        loci.NewID(),
			Type:      loci.EventErased,
			Kind:      r.Kind,
			Entity:    r.ID,
			Namespace: r.Namespace,
			At:        r.UpdatedAt,
			Actor:     "tester",
		}
		if err := s.Apply(t.Context(), locitest.Tenant(t, "t"), loci.Change{
			Erase:  []loci.Erase{{ID: r.ID, Version: r.Version}},
			Events: []loci.Event{gone},
		}); err != nil {
			t.Fatal(err)
		}
		locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "new"))
		if got := locitest.Said(locitest.HistoryOf(t, m, "s", session.HistoryQuery{})); !slices.Equal(got, []string{"1 new"}) {
			t.Errorf("history %q", got)
		}
	})
}

// A message that grows beyond the limit when it is brought into the stored form is refused.
func TestImportBoundsWhatIsStored(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	frame := len(`{"role":"user","content":""}`)
	document := `[{"role":"user","content":"` + strings.Repeat("x", session.MaxMessageBytes-frame) + `"}]`
	_, err := session.Of(m).Import(t.Context(), strings.NewReader(document), session.Import{ID: "s"})
	locitest.WantCode(t, err, loci.TooLarge)
	if err == nil || !strings.HasPrefix(err.Error(), "messages[0]: a message has ") {
		t.Errorf("error %v", err)
	}
}

// manyMessages is a document of a session whose first message was a system message,
// and whose others begin with a number far above it, as a trim leaves them. Those
// at the seams of parts have texts.
func manyMessages(n int, last int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"format":"loci.session","version":1,"session":{"id":"s","max_messages":12000,"last_seq":%d,"metadata":{"a":1}},"messages":[`, last)
	for i := range n {
		seq, typ, text := 100+i, "human", ""
		if i == 0 {
			seq, typ = 1, "system"
		} else {
			b.WriteByte(',')
		}
		if at := i % session.MaxPart; at < 2 || at == session.MaxPart-1 {
			text = fmt.Sprint("m", i)
		}
		fmt.Fprintf(&b, `{"seq":%d,"created_at":"2026-01-02T03:04:05.678Z","type":"%s","data":{"content":"%s"}}`, seq, typ, text)
	}
	return b.String() + "]}"
}

// A session that is too long for one change is refused as a whole, or stored in parts. In parts
// it is the same session as in one change, numbers and times included.
func TestSessionImportInParts(t *testing.T) {
	locitest.Unshared(t)
	e := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(locitest.NewClock())) // stores see changes as of any append
	m := locitest.Bind(t, e, "u")
	load := func(document string, opts session.Import) (session.ImportedSession, error) {
		return session.Of(m).Import(t.Context(), strings.NewReader(document), opts)
	}
	long := manyMessages(session.MaxPart*2+1, 20_000)
	_, err := load(long, session.Import{})
	locitest.WantCode(t, err, loci.TooLarge)
	if want := "messages has 10001 entries; the limit of one import is 5000: import the others with mode append"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	if done, err := load(manyMessages(session.MaxPart, 0), session.Import{ID: "just"}); err != nil || done.Imported != 5000 {
		t.Errorf("5000 messages: %+v, %v", done, err)
	}
	done, err := load(long, session.Import{Parts: true})
	if want := (session.ImportedSession{Session: "s", Imported: 10_001}); err != nil || done != want {
		t.Fatalf("%+v, %v, want %+v", done, err, want)
	}
	if is := ofRecord(t, m, "s"); is.Messages != 10_001 || is.LastSeq != 20_000 ||
		string(is.Metadata) != `{"a":1}` || is.MaxMessages != 12_000 {
		t.Errorf("the session %+v", is)
	}
	for number, want := range map[int64]string{1: "m0", 100: "", 101: "m1", 5099: "m4999", 5100: "m5000", 10_099: "m9999", 10_100: "m10000"} {
		h := locitest.HistoryOf(t, m, "s", session.HistoryQuery{After: number - 1, Before: number + 1})
		if want == "" && len(h) == 0 {
			continue
		}
		if len(h) != 1 || h[0].Text() != want || h[0].CreatedAt.UnixMilli() != 1767323045678 {
			t.Errorf("message %d: %+v, want %q", number, h, want)
		}
	}
	if next := locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "on")); next.First != 20_001 {
		t.Errorf("it goes on with %+v", next)
	}
	// 15,003 messages are 3,003 too many.
	done, err = load(manyMessages(session.MaxPart+1, 0), session.Import{Parts: true, Mode: session.ImportAppend})
	if err != nil || done.Imported != 5001 || done.Trimmed != 3003 {
		t.Errorf("appended %+v, %v", done, err)
	}
	if is := ofRecord(t, m, "s"); is.Messages != 12_000 || is.LastSeq != 25_002 {
		t.Errorf("what was appended gets new numbers: %+v", is)
	}
	done, err = load(manyMessages(session.MaxPart+1, 0), session.Import{Parts: true, Mode: session.ImportReplace})
	if err != nil || done.Replaced != 12_000 || done.Imported != 5001 {
		t.Errorf("replaced %+v, %v", done, err)
	}
	locitest.LogIsWhole(t, e, m.View().Tenant)
}

// The bytes of a part are bounded, too. If one part fails, the error says what is there.
func TestSessionImportInPartsOfBytes(t *testing.T) {
	locitest.Unshared(t)
	text := strings.Repeat("a", 1000<<10)
	part := `{"type":"human","data":{"content":"` + text + `"}},` // four of them fit
	result := `{"type":"tool","data":{"content":"","tool_call_id":"gone"}}`
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	load := func(n, most int, opts session.Import) (session.ImportedSession, error) {
		document := fmt.Sprintf(`{"format":"loci.session","version":1,"session":{"id":"s","max_messages":%d},"messages":[`, most) + strings.Repeat(part, n) + result + "]}"
		return session.Of(m).Import(t.Context(), strings.NewReader(document), opts)
	}
	_, err := load(5, 9, session.Import{})
	locitest.WantCode(t, err, loci.TooLarge)
	if want := "messages have more than 4194304 bytes: import those from messages[4] on with mode append"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	if done, err := load(3, 9, session.Import{ID: "one"}); err != nil || done.Imported != 4 {
		t.Errorf("4 MiB: %+v, %v", done, err)
	}
	_, err = load(5, 1, session.Import{Parts: true})
	locitest.WantCode(t, err, loci.TooLarge)
	if want := "the first 4 messages are in the session, the others are not: max_messages is 1"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if advice := loci.AsError(err).Advice(); advice != "Import it again with mode replace." {
		t.Errorf("advice %q", advice)
	}
	if got := ofRecord(t, m, "s").Messages; got != 1 {
		t.Errorf("%d messages are left, want the newest of the first part", got)
	}
}

// Between two parts another program may append, or the newest message of a part may be trimmed
// at once if others follow it: neither ends the import.
func TestSessionImportBetweenParts(t *testing.T) {
	locitest.Unshared(t)
	text := strings.Repeat("a", 1000<<10)
	store, ctx := locitest.OpenMemory(), t.Context()
	other := locitest.Bind(t, locitest.NewEngine(t, store, loci.Options{}), "u")
	between := 0
	m := locitest.Bind(t, locitest.NewEngine(t, store, loci.Options{Now: func() time.Time {
		h, err := session.Of(other).History(ctx, "s", session.HistoryQuery{})
		if err == nil && len(h.Messages) == 4 && between == 0 {
			between++
			locitest.AppendTo(t, other, "s", locitest.Spoken(session.MessageHuman, "in between"))
		}
		return time.Now()
	}}), "u")
	var b strings.Builder
	for seq := 1; seq <= 5; seq++ { // four fill a part
		fmt.Fprintf(&b, `,{"seq":%d,"type":"human","data":{"content":"%s"}}`, seq, text)
	}
	document := `{"format":"loci.session","version":1,"session":{"id":"s"},"messages":[` + b.String()[1:] + "]}"
	done, err := session.Of(m).Import(ctx, strings.NewReader(document), session.Import{Parts: true})
	if err != nil || done.Imported != 5 || between != 1 {
		t.Fatalf("%+v, %v, %d in between", done, err, between)
	}
	if got := seqs(locitest.HistoryOf(t, m, "s", session.HistoryQuery{})); !slices.Equal(got, []int64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("numbers %v, want 1 to 6", got)
	}
	large := `{"type":"human","data":{"content":"` + text + `"}}`
	result := `{"type":"tool","data":{"content":"","tool_call_id":"gone"}}`
	document = `{"format":"loci.session","version":1,"session":{"id":"one","max_messages":1},"messages":[` +
		strings.Repeat(large+",", 4) + result + "," + large + "]}"
	done, err = session.Of(m).Import(ctx, strings.NewReader(document), session.Import{Parts: true})
	if err != nil || done.Imported != 6 || done.Trimmed != 5 {
		t.Errorf("%+v, %v; want 6 imported, of which 5 gave way", done, err)
	}
	if got := seqs(locitest.HistoryOf(t, m, "one", session.HistoryQuery{})); !slices.Equal(got, []int64{6}) {
		t.Errorf("numbers %v, want 6 alone", got)
	}
}
