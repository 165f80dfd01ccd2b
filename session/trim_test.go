package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store/memory"
)

func TestSessionKeepsTheNewest(t *testing.T) {
	function := session.Message{Type: session.MessageFunction, Data: json.RawMessage(`{"content":"f","name":"n"}`)}
	human, ai, system := locitest.Spoken(session.MessageHuman, "h"),
		locitest.Spoken(session.MessageAI, "a"), locitest.Spoken(session.MessageSystem, "s")
	cases := map[string]struct {
		messages []session.Message
		most     int
		want     []int64
		atOnce   bool // in parts it depends on what is there when
		refused  bool // as an append: the newest would not stay
	}{
		"fits":                     {[]session.Message{human, ai}, 2, []int64{1, 2}, false, false},
		"the newest":               {[]session.Message{human, ai, human, ai}, 2, []int64{3, 4}, false, false},
		"system messages stay":     {[]session.Message{system, human, ai, system, human}, 3, []int64{1, 4, 5}, false, false},
		"… even too many":          {[]session.Message{system, system, human}, 1, []int64{1, 2}, false, true},
		"no result at the start":   {[]session.Message{human, asks("c", "d"), answer("c"), answer("d"), ai}, 2, []int64{5}, true, false},
		"a call and its result":    {[]session.Message{human, asks("c"), answer("c"), ai}, 3, []int64{2, 3, 4}, false, false},
		"a result that comes late": {[]session.Message{asks("c"), human, answer("c"), ai}, 3, []int64{2, 4}, true, false},
		"a call without result":    {[]session.Message{asks("c"), human, asks("d")}, 2, []int64{2, 3}, false, false},
		"a result without call":    {[]session.Message{human, human, ai, answer("x"), ai}, 4, []int64{2, 3, 5}, true, false},
		"nothing fits":             {[]session.Message{asks("c"), answer("c")}, 1, nil, false, true},
		"no function's result":     {[]session.Message{ai, function, human}, 2, []int64{3}, false, false},
	}
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		for name, c := range cases {
			// Without a limit while they are appended, then at once.
			later := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), name)
			locitest.AppendTo(t, later, "s", c.messages...)
			trimmed, err := session.Of(later).Trim(t.Context(), "s", c.most)
			if err != nil || trimmed.Messages != int64(len(c.want)) ||
				trimmed.Erased != int64(len(c.messages)-len(c.want)) {
				t.Errorf("%s: trimmed %+v, %v", name, trimmed, err)
			}
			if got := seqs(locitest.HistoryOf(t, later, "s", session.HistoryQuery{})); !slices.Equal(got, c.want) {
				t.Errorf("%s, trimmed: kept %v, want %v", name, got, c.want)
			}
			for _, batch := range []int{1, 2, 5} {
				if c.refused || c.atOnce && batch < 5 {
					continue
				}
				m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{
					Features: []loci.Feature{session.Feature{MaxMessages: c.most}}}), name, fmt.Sprint(batch))
				for part := range slices.Chunk(c.messages, batch) {
					locitest.AppendTo(t, m, "s", part...)
				}
				if got := seqs(locitest.HistoryOf(t, m, "s", session.HistoryQuery{})); !slices.Equal(got, c.want) {
					t.Errorf("%s, %d at once: kept %v, want %v", name, batch, got, c.want)
				}
			}
		}
	})
}

// An append that the session's limit would erase at once is refused, with the limit,
// and stores nothing: neither its messages nor a session of them.
func TestSessionAppendKeepsItsNewest(t *testing.T) {
	human, system := locitest.Spoken(session.MessageHuman, "h"), locitest.Spoken(session.MessageSystem, "s")
	full := "max_messages is 2, and 2 of the messages are system messages, which always stay: there is no room for messages[%d]"
	result := "max_messages is 2, which has no room for messages[%d]: the result of a tool call does not stay without the call"
	cases := map[string]struct {
		there, batch []session.Message
		refused      string
		want         []int64 // are there afterwards
	}{
		"full of system messages": {[]session.Message{system, system}, []session.Message{human}, fmt.Sprintf(full, 0), []int64{1, 2}},
		"full with the batch":     {[]session.Message{system}, []session.Message{human, system}, fmt.Sprintf(full, 0), []int64{1}},
		"two at once": {
			[]session.Message{system, system},
			[]session.Message{human, human},
			fmt.Sprintf(full, 1),
			[]int64{1, 2},
		},
		"a new session":              {nil, []session.Message{system, system, human}, fmt.Sprintf(full, 2), nil},
		"a result whose call goes":   {[]session.Message{asks("c", "d"), answer("c")}, []session.Message{answer("d")}, fmt.Sprintf(result, 0), []int64{1, 2}},
		"a result that has no call":  {[]session.Message{human, human}, []session.Message{answer("x")}, fmt.Sprintf(result, 0), []int64{1, 2}},
		"a call with many results":   {nil, []session.Message{asks("c", "d"), answer("c"), answer("d")}, fmt.Sprintf(result, 2), nil},
		"a system message has room":  {[]session.Message{system, human}, []session.Message{system}, "", []int64{1, 3}},
		"… also where there is none": {[]session.Message{system, system}, []session.Message{system}, "", []int64{1, 2, 3}},
		"the last place":             {[]session.Message{system, human}, []session.Message{human, human}, "", []int64{1, 4}},
	}
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		for name, c := range cases {
			m := locitest.Bind(t,
				locitest.NewEngine(t, s, loci.Options{Features: []loci.Feature{session.Feature{MaxMessages: 2}}}), name)
			if len(c.there) > 0 {
				locitest.AppendTo(t, m, "s", c.there...)
			}
			_, err := session.Of(m).Append(t.Context(), "s", c.batch)
			if c.refused == "" && err != nil {
				t.Errorf("%s: %v", name, err)
			} else if c.refused != "" {
				wantAdvice(t, name, err, loci.TooLarge, c.refused, "Raise max_messages")
			}
			h, err := session.Of(m).History(t.Context(), "s", session.HistoryQuery{})
			if got := seqs(h.Messages); !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) {
				t.Errorf("%s: %v is there, %v; want %v", name, got, err, c.want)
			}
		}
	})
}

// wantAdvice wants a code, a text and a remedy.
func wantAdvice(t *testing.T, name string, err error, code loci.Code, text, recovery string) {
	t.Helper()
	got := loci.AsError(err)
	if got == nil || got.Code != code || got.Msg != text || !strings.Contains(got.Advice(), recovery) {
		t.Errorf("%s: %v; want %s, %q and the advice %q", name, err, code, text, recovery)
	}
}

// The same holds for an import: its newest message is there once the import has been
// acknowledged.
func TestSessionImportKeepsItsNewest(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t,
			locitest.NewEngine(t, s, loci.Options{Features: []loci.Feature{session.Feature{MaxMessages: 1}}}), "u")
		document := `{"format":"loci.session","version":1,"session":{"id":"s"},"messages":[
			{"seq":3,"type":"system","data":{"content":"be kind"}},{"seq":7,"type":"human","data":{"content":"Hi"}}]}`
		_, err := session.Of(m).Import(t.Context(), strings.NewReader(document), session.Import{})
		wantAdvice(t, "import", err, loci.TooLarge,
			"max_messages is 1, and 1 of the messages is a system message, which always stays: there is no room for messages[1]", "Raise max_messages")
		_, err = session.Of(m).Session(t.Context(), "s")
		locitest.WantCode(t, err, loci.NotFound)
	})
}

func seqs(messages []session.StoredMessage) (out []int64) {
	for _, m := range messages {
		out = append(out, m.Seq)
	}
	return out
}

// After every append beyond the limit, whatever was said and in whatever parts: no more
// messages than the limit are kept, all system messages stay, and no result stays without its
// call before it. The newest message stays where there is room.
func TestSessionTrimProperties(t *testing.T) {
	locitest.Unshared(t)
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.OneOf(rapid.IntRange(1, 12), rapid.IntRange(20, 40)).Draw(t, "most")
		e, err := loci.New(memory.Open(), &loci.Options{Features: []loci.Feature{session.Feature{MaxMessages: most}}})
		if err != nil {
			t.Fatal(err)
		}
		tn, _ := loci.NewTenant("t")
		m, err := e.Memory(loci.View{Tenant: tn, Namespace: loci.Namespace{"u"}, Actor: "a"})
		if err != nil {
			t.Fatal(err)
		}
		var all []session.Message
		odd := rapid.Bool().Draw(t, "odd") // calls are repeated, results have none
		calls, waiting := 0, []string{"nobody's"}
		for range rapid.IntRange(1, 40).Draw(t, "appends") {
			var batch []session.Message
			for range rapid.IntRange(1, 6).Draw(t, "batch") {
				switch rapid.IntRange(0, 7).Draw(t, "message") {
				case 0:
					batch = append(batch, locitest.Spoken(session.MessageSystem, "s"))
				case 1, 2:
					calls++
					id := fmt.Sprint("c", calls)
					if odd {
						id = fmt.Sprint("c", calls%5)
					}
					waiting = append(waiting, id, id+"x")
					batch = append(batch, asks(id, id+"x"))
				case 3, 4:
					n := rapid.IntRange(0, len(waiting)-1).Draw(t, "answer")
					if n > 0 || odd {
						batch = append(batch, answer(waiting[n]))
					}
					if n > 0 && !odd {
						waiting = slices.Delete(waiting, n, n+1)
					}
				case 5:
					batch = append(batch, locitest.Spoken(session.MessageAI, "a"))
				default:
					batch = append(batch, locitest.Spoken(session.MessageHuman, "h"))
				}
			}
			if len(batch) == 0 {
				continue
			}
			done, err := session.Of(m).Append(t.Context(), "s", batch)
			if errors.Is(err, loci.ErrTooLarge) {
				checkRefused(t, m, all, batch, most)
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			all = append(all, batch...)
			h, err := session.Of(m).History(t.Context(), "s", session.HistoryQuery{Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			checkKept(t, all, h.Messages, most, done.Trimmed > 0)
			checkNewest(t, batch, h.Messages, done.Last)
			if int64(len(h.Messages)) != done.Messages {
				t.Fatalf("%d messages, counted %d", len(h.Messages), done.Messages)
			}
		}
	})
}

// checkRefused: a refused append left no message, and there was a reason: no room beside
// the system messages, or the newest was the result of a call.
func checkRefused(t *rapid.T, m *loci.Memory, all, batch []session.Message, most int) {
	h, err := session.Of(m).History(t.Context(), "s", session.HistoryQuery{Limit: 1000})
	if len(h.Messages) > 0 && h.Messages[len(h.Messages)-1].Seq > int64(len(all)) {
		t.Fatalf("refused, and yet there: %q, %v", locitest.Said(h.Messages), err)
	}
	systems, newest := 0, session.MessageSystem
	for _, m := range slices.Concat(all, batch) {
		if m.Type == session.MessageSystem {
			systems++
		} else {
			newest = m.Type
		}
	}
	if systems < most && newest != session.MessageTool {
		t.Fatalf("refused a message of type %s beside %d system messages of %d at most", newest, systems, most)
	}
}

// checkNewest: the message appended last can be read, and the last one that no rule keeps.
func checkNewest(t *rapid.T, batch []session.Message, kept []session.StoredMessage, last int64) {
	for back, others := int64(0), false; back < int64(len(batch)) && !others; back++ {
		newest := batch[int64(len(batch))-1-back]
		others = newest.Type != session.MessageSystem
		if (back == 0 || others) && !slices.ContainsFunc(kept, func(m session.StoredMessage) bool {
			return m.Seq == last-back && m.Text() == newest.Text()
		}) {
			t.Fatalf("message %d was acknowledged and is not there: %q", last-back, locitest.Said(kept))
		}
	}
}

func checkKept(t *rapid.T, all []session.Message, kept []session.StoredMessage, most int, trimmed bool) {
	systems, calls, began := 0, map[string]bool{}, false
	for _, m := range kept {
		text := m.Text()
		switch m.Type {
		case session.MessageSystem:
			systems++
			continue
		case session.MessageTool:
			id := text[len("result of "):]
			if trimmed && (!began || !calls[id]) {
				t.Fatalf("of %d at most, %q is kept without its call", most, locitest.Said(kept))
			}
		case session.MessageAI:
			for _, id := range callsOf(text) {
				calls[id] = true
			}
		}
		began = true
	}
	for _, m := range all {
		if m.Type == session.MessageSystem {
			systems--
		}
	}
	if systems != 0 {
		t.Fatalf("%d system messages are missing from %q", -systems, locitest.Said(kept))
	}
	if others := slices.DeleteFunc(slices.Clone(kept), func(m session.StoredMessage) bool {
		return m.Type == session.MessageSystem
	}); len(kept) > most && len(others) > 0 {
		t.Fatalf("%d are kept of %d at most", len(kept), most)
	}
	last := all[len(all)-1]
	if last.Type == session.MessageHuman && most > 0 && !slices.ContainsFunc(kept, func(m session.StoredMessage) bool {
		return m.Seq == int64(len(all))
	}) {
		full := 0
		for _, m := range all {
			if m.Type == session.MessageSystem {
				full++
			}
		}
		if full < most {
			t.Fatalf("the newest is gone, of %d at most: %q", most, locitest.Said(kept))
		}
	}
}

// callsOf are the ids in the text of a message made by asks.
func callsOf(text string) (ids []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if id, ok := strings.CutPrefix(line, "look_up: id: "); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// A result is found with its call however many messages are between: a trim reads on
// until it knows the results of every call that goes.
func TestSessionTrimReadsOn(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		const most = 60
		m := locitest.Bind(t,
			locitest.NewEngine(t, s, loci.Options{Features: []loci.Feature{session.Feature{MaxMessages: most}}}), "u")
		all := []session.Message{asks("far")}
		for range most - 2 {
			all = append(all, locitest.Spoken(session.MessageHuman, "h"))
		}
		locitest.AppendTo(t, m, "s", append(all, answer("far"))...)
		locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "one more")) // the call goes, its result is the 60th
		want := make([]int64, 0, most)
		for seq := int64(2); seq < most; seq++ {
			want = append(want, seq)
		}
		got := seqs(locitest.HistoryOf(t, m, "s", session.HistoryQuery{Limit: 1000}))
		if !slices.Equal(got, append(want, most+1)) {
			t.Errorf("kept %v", got)
		}
	})
}

// A trim of more messages than the store gives at once misses none between two pages and takes
// none twice, even if results without calls make it look at all of them.
func TestSessionTrimOverPages(t *testing.T) {
	locitest.Unshared(t)
	const all = 3100
	for name, c := range map[string]struct {
		most int
		at   map[int]session.Message
		gone []int64 // beside the oldest
	}{
		"coherent": {1050, map[int]session.Message{1001: asks("a"), 2000: answer("a"), 2001: asks("b"), 3001: answer("b"),
			3002: asks("c"), 3003: answer("c")}, []int64{3001}},
		"results without calls": {2600, map[int]session.Message{1: answer("x"), 3091: answer("x")}, []int64{3091}},
		"both": {1050, map[int]session.Message{1: answer("x"), 1001: asks("a"), 3000: asks("b"), 3001: asks("c"),
			3002: answer("c"), 3003: answer("b"), 3090: answer("a"), 3091: answer("x")}, []int64{3090, 3091}},
	} {
		locitest.EachStore(t, func(t *testing.T, s loci.Store) {
			m := locitest.Bind(t, locitest.NewEngine(t, s,
				loci.Options{Features: []loci.Feature{session.Feature{MaxMessages: all}}}), name)
			messages := slices.Repeat([]session.Message{locitest.Spoken(session.MessageHuman, "h")}, all)
			for seq, other := range c.at {
				messages[seq-1] = other
			}
			for part := range slices.Chunk(messages, session.MaxAppend) {
				locitest.AppendTo(t, m, "s", part...)
			}
			less := locitest.Bind(t, locitest.NewEngine(t, s,
				loci.Options{Features: []loci.Feature{session.Feature{MaxMessages: c.most}}}), name)
			locitest.AppendTo(t, less, "s", locitest.Spoken(session.MessageHuman, "h"))
			var want, got []int64
			for seq := int64(all + 1 - c.most + 1); seq <= all+1; seq++ {
				if !slices.Contains(c.gone, seq) {
					want = append(want, seq)
				}
			}
			for part := []int64{0}; len(part) > 0; got = append(got, part...) {
				part = seqs(locitest.HistoryOf(t, m, "s", session.HistoryQuery{After: part[len(part)-1], Limit: 1000}))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d are left from %d, want %d from %d; the last are %v",
					name, len(got), got[0], len(want), want[0], got[max(0, len(got)-105):])
			}
		})
	}
}

// A second result of one call is known as one however far back the first is: when the
// call goes, both go.
func TestSessionTrimKnowsASecondResult(t *testing.T) {
	locitest.Unshared(t)
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		human := locitest.Spoken(session.MessageHuman, "h")
		for _, between := range []int{1, 18, 19, 20, 1017, 1018, 1019, 1020} {
			m := locitest.Bind(t, locitest.NewEngine(t, s,
				loci.Options{Features: []loci.Feature{session.Feature{MaxMessages: between + 2}}}), fmt.Sprint(between))
			locitest.AppendTo(t, m, "s", asks("c"), answer("c"))
			for part := range slices.Chunk(slices.Repeat([]session.Message{human}, between), session.MaxAppend) {
				locitest.AppendTo(t, m, "s", part...)
			}
			locitest.AppendTo(t, m, "s", answer("c"), human) // the call goes
			if n := ofRecord(t, m, "s").Messages; n != int64(between+1) {
				t.Errorf("%d messages between the results: %d are left", between, n)
			}
		}
	})
}

// Two calls with the same id make a trim look at the whole session, for as long as both are in
// it.
func TestSessionTrimWithOneIDTwice(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t,
			locitest.NewEngine(t, s, loci.Options{Features: []loci.Feature{session.Feature{MaxMessages: 5}}}), "u")
		human := locitest.Spoken(session.MessageHuman, "h")
		locitest.AppendTo(t, m, "s", human, asks("c"), human, answer("c"), asks("c"))
		for i, want := range [][]int64{
			{2, 3, 4, 5, 6}, // the first message goes
			{3, 5, 7},       // the first call goes, and with it every result of the id
			{3, 5, 7, 8},
			{3, 5, 7, 8, 9},
			{5, 7, 8, 9, 10},
		} {
			next := human
			if i == 0 {
				next = answer("c")
			}
			locitest.AppendTo(t, m, "s", next)
			if got := seqs(locitest.HistoryOf(t, m, "s", session.HistoryQuery{})); !slices.Equal(got, want) {
				t.Errorf("after %d more: kept %v, want %v", i+1, got, want)
			}
		}
	})
}
