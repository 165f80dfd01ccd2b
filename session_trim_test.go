package loci_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/memory"
)

func TestSessionKeepsTheNewest(t *testing.T) {
	function := loci.Message{Type: loci.MessageFunction, Data: json.RawMessage(`{"content":"f","name":"n"}`)}
	human, ai, system := spoken(loci.MessageHuman, "h"), spoken(loci.MessageAI, "a"), spoken(loci.MessageSystem, "s")
	cases := map[string]struct {
		messages []loci.Message
		most     int
		want     []int64
		atOnce   bool // in parts it depends on what is there when
	}{
		"fits":                     {[]loci.Message{human, ai}, 2, []int64{1, 2}, false},
		"the newest":               {[]loci.Message{human, ai, human, ai}, 2, []int64{3, 4}, false},
		"system messages stay":     {[]loci.Message{system, human, ai, system, human}, 3, []int64{1, 4, 5}, false},
		"… even too many":          {[]loci.Message{system, system, human}, 1, []int64{1, 2}, false},
		"no result at the start":   {[]loci.Message{human, asks("c", "d"), answer("c"), answer("d"), ai}, 2, []int64{5}, false},
		"a call and its result":    {[]loci.Message{human, asks("c"), answer("c"), ai}, 3, []int64{2, 3, 4}, false},
		"a result that comes late": {[]loci.Message{asks("c"), human, answer("c"), ai}, 3, []int64{2, 4}, true},
		"a call without result":    {[]loci.Message{asks("c"), human, asks("d")}, 2, []int64{2, 3}, false},
		"a result without call":    {[]loci.Message{human, human, ai, answer("x"), ai}, 4, []int64{2, 3, 5}, true},
		"nothing fits":             {[]loci.Message{asks("c"), answer("c")}, 1, nil, false},
		"no function's result":     {[]loci.Message{ai, function, human}, 2, []int64{3}, false},
	}
	eachStore(t, func(t *testing.T, s loci.Store) {
		for name, c := range cases {
			// Without a limit while they are appended, then at once.
			later := bind(t, newEngine(t, s, loci.Options{}), name)
			appendTo(t, later, "s", c.messages...)
			trimmed, err := later.Sessions().Trim(t.Context(), "s", c.most)
			if err != nil || trimmed.Messages != int64(len(c.want)) || trimmed.Erased != int64(len(c.messages)-len(c.want)) {
				t.Errorf("%s: trimmed %+v, %v", name, trimmed, err)
			}
			if got := seqs(historyOf(t, later, "s", loci.HistoryQuery{})); !slices.Equal(got, c.want) {
				t.Errorf("%s, trimmed: kept %v, want %v", name, got, c.want)
			}
			for _, batch := range []int{1, 2, 5} {
				if c.atOnce && batch < 5 {
					continue
				}
				m := bind(t, newEngine(t, s, loci.Options{SessionMaxMessages: c.most}), name, fmt.Sprint(batch))
				for part := range slices.Chunk(c.messages, batch) {
					appendTo(t, m, "s", part...)
				}
				if got := seqs(historyOf(t, m, "s", loci.HistoryQuery{})); !slices.Equal(got, c.want) {
					t.Errorf("%s, %d at once: kept %v, want %v", name, batch, got, c.want)
				}
			}
		}
	})
}

func seqs(messages []loci.StoredMessage) (out []int64) {
	for _, m := range messages {
		out = append(out, m.Seq)
	}
	return out
}

// Whatever is said, in whatever parts, after each append that is over the limit: no
// more messages than it are kept, all system messages, no result without its call
// before it; and the newest message stays where there is room.
func TestSessionTrimProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.OneOf(rapid.IntRange(1, 12), rapid.IntRange(20, 40)).Draw(t, "most")
		e, err := loci.New(memory.Open(), &loci.Options{SessionMaxMessages: most})
		if err != nil {
			t.Fatal(err)
		}
		tn, _ := loci.NewTenant("t")
		m, err := e.Memory(loci.View{Tenant: tn, Namespace: loci.Namespace{"u"}, Actor: "a"})
		if err != nil {
			t.Fatal(err)
		}
		var all []loci.Message
		odd := rapid.Bool().Draw(t, "odd") // calls are repeated, results have none
		calls, waiting := 0, []string{"nobody's"}
		for range rapid.IntRange(1, 40).Draw(t, "appends") {
			var batch []loci.Message
			for range rapid.IntRange(1, 6).Draw(t, "batch") {
				switch rapid.IntRange(0, 7).Draw(t, "message") {
				case 0:
					batch = append(batch, spoken(loci.MessageSystem, "s"))
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
					batch = append(batch, spoken(loci.MessageAI, "a"))
				default:
					batch = append(batch, spoken(loci.MessageHuman, "h"))
				}
			}
			if len(batch) == 0 {
				continue
			}
			all = append(all, batch...)
			done, err := m.Sessions().Append(t.Context(), "s", batch)
			if err != nil {
				t.Fatal(err)
			}
			h, err := m.Sessions().History(t.Context(), "s", loci.HistoryQuery{Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			checkKept(t, all, h.Messages, most, done.Trimmed > 0)
			if int64(len(h.Messages)) != done.Messages {
				t.Fatalf("%d messages, counted %d", len(h.Messages), done.Messages)
			}
		}
	})
}

func checkKept(t *rapid.T, all []loci.Message, kept []loci.StoredMessage, most int, trimmed bool) {
	systems, calls, began := 0, map[string]bool{}, false
	for _, m := range kept {
		text := m.Text()
		switch m.Type {
		case loci.MessageSystem:
			systems++
			continue
		case loci.MessageTool:
			id := text[len("result of "):]
			if trimmed && (!began || !calls[id]) {
				t.Fatalf("of %d at most, %q is kept without its call", most, said(kept))
			}
		case loci.MessageAI:
			for _, id := range callsOf(text) {
				calls[id] = true
			}
		}
		began = true
	}
	for _, m := range all {
		if m.Type == loci.MessageSystem {
			systems--
		}
	}
	if systems != 0 {
		t.Fatalf("%d system messages are missing from %q", -systems, said(kept))
	}
	if others := slices.DeleteFunc(slices.Clone(kept), func(m loci.StoredMessage) bool { return m.Type == loci.MessageSystem }); len(kept) > most && len(others) > 0 {
		t.Fatalf("%d are kept of %d at most", len(kept), most)
	}
	if last := all[len(all)-1]; last.Type == loci.MessageHuman && most > 0 && !slices.ContainsFunc(kept, func(m loci.StoredMessage) bool { return m.Seq == int64(len(all)) }) {
		full := 0
		for _, m := range all {
			if m.Type == loci.MessageSystem {
				full++
			}
		}
		if full < most {
			t.Fatalf("the newest is gone, of %d at most: %q", most, said(kept))
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
	eachStore(t, func(t *testing.T, s loci.Store) {
		const most = 60
		m := bind(t, newEngine(t, s, loci.Options{SessionMaxMessages: most}), "u")
		all := []loci.Message{asks("far")}
		for range most - 2 {
			all = append(all, spoken(loci.MessageHuman, "h"))
		}
		appendTo(t, m, "s", append(all, answer("far"))...)
		appendTo(t, m, "s", spoken(loci.MessageHuman, "one more")) // the call goes, its result is the 60th
		want := make([]int64, 0, most)
		for seq := int64(2); seq < most; seq++ {
			want = append(want, seq)
		}
		if got := seqs(historyOf(t, m, "s", loci.HistoryQuery{Limit: 1000})); !slices.Equal(got, append(want, most+1)) {
			t.Errorf("kept %v", got)
		}
	})
}

// Calls that share an id make a session one to look at as a whole, for as long as two
// of them are in it.
func TestSessionTrimWithOneIDTwice(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		m := bind(t, newEngine(t, s, loci.Options{SessionMaxMessages: 5}), "u")
		human := spoken(loci.MessageHuman, "h")
		appendTo(t, m, "s", human, asks("c"), human, answer("c"), asks("c"))
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
			appendTo(t, m, "s", next)
			if got := seqs(historyOf(t, m, "s", loci.HistoryQuery{})); !slices.Equal(got, want) {
				t.Errorf("after %d more: kept %v, want %v", i+1, got, want)
			}
		}
	})
}
