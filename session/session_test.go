package session_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// asks is a message of a model that calls tools.
func asks(ids ...string) session.Message {
	var calls []map[string]any
	for _, id := range ids {
		calls = append(calls, map[string]any{"name": "look_up", "args": map[string]any{"id": id}, "id": id, "type": "tool_call"})
	}
	data, err := json.Marshal(map[string]any{"content": "", "tool_calls": calls})
	if err != nil {
		panic(err)
	}
	return session.Message{Type: session.MessageAI, Data: data}
}

// answer is the result of a tool call.
func answer(id string) session.Message {
	return session.Message{Type: session.MessageTool, Data: json.RawMessage(fmt.Sprintf(`{"content":"result of %s","tool_call_id":%q}`, id, id))}
}

func ofRecord(t testing.TB, m *loci.Memory, id string) session.Session {
	t.Helper()
	s, err := session.Of(m).Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A query without a session begins one of its own, with no history. With a session, everything
// that was said comes back in its order.
func TestSessionHistory(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		first, second := locitest.AppendTo(t, m, "", locitest.Spoken(session.MessageHuman, "one")),
			locitest.AppendTo(t, m, "", locitest.Spoken(session.MessageHuman, "other"))
		if first.Session == second.Session || !first.Created || first.First != 1 || first.Last != 1 {
			t.Errorf("appended %+v and %+v", first, second)
		}
		if _, err := loci.ParseID(first.Session); err != nil {
			t.Errorf("the new id %q is no UUID", first.Session)
		}
		id := first.Session
		next := locitest.AppendTo(t, m, id, locitest.Spoken(session.MessageAI, "two"), asks("c"), answer("c"))
		if next.Created || next.First != 2 || next.Last != 4 || next.Messages != 4 {
			t.Errorf("appended %+v", next)
		}
		want := []string{"1 one", "2 two", "3 look_up: id: c", "4 result of c"}
		if got := locitest.Said(locitest.HistoryOf(t, m, id, session.HistoryQuery{})); !slices.Equal(got, want) {
			t.Errorf("history %q", got)
		}
		for _, c := range []struct {
			q    session.HistoryQuery
			want []string
			more bool
		}{
			{session.HistoryQuery{After: 2}, want[2:], false},
			{session.HistoryQuery{Before: 3}, want[:2], false},
			{session.HistoryQuery{After: 1, Before: 4}, want[1:3], false},
			{session.HistoryQuery{Last: 2}, want[2:], false},
			{session.HistoryQuery{Last: 2, Before: 4}, want[1:3], false},
			{session.HistoryQuery{Limit: 3}, want[:3], true},
			{session.HistoryQuery{Limit: 2, NewestFirst: true}, []string{want[3], want[2]}, true},
			{session.HistoryQuery{Limit: 2, NewestFirst: true, Before: 3}, []string{want[1], want[0]}, false},
		} {
			h, err := session.Of(m).History(t.Context(), id, c.q)
			if got := locitest.Said(h.Messages); err != nil || !slices.Equal(got, c.want) || h.More != c.more {
				t.Errorf("%+v: %q, more %v, %v", c.q, got, h.More, err)
			}
		}
		_, err := session.Of(m).History(t.Context(), "nobody", session.HistoryQuery{})
		locitest.WantCode(t, err, loci.NotFound)
	})
}

// Many callers append at once: nothing is lost or doubled, and the messages of each caller
// stand in the order in which it appended them.
func TestSessionConcurrentAppends(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		const appenders = 16
		each := 1000
		if t.Name() != "TestSessionConcurrentAppends/memory" || testing.Short() || locitest.Raced {
			each = locitest.Unraced(60, 20)
		}
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		var group sync.WaitGroup
		for a := range appenders {
			group.Go(func() {
				for n := range each {
					if _, err := session.Of(m).Append(t.Context(), "s",
						[]session.Message{locitest.Spoken(session.MessageHuman, fmt.Sprintf("%d/%d", a, n))}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
		var seq int64
		next := map[string]int{}
		for more := true; more; {
			h, err := session.Of(m).History(t.Context(), "s", session.HistoryQuery{After: seq, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			for _, stored := range h.Messages {
				if seq++; stored.Seq != seq {
					t.Fatalf("message %d comes after %d", stored.Seq, seq-1)
				}
				a, n, _ := strings.Cut(stored.Text(), "/")
				if n != fmt.Sprint(next[a]) {
					t.Fatalf("message %d of appender %s stands where %d belongs", seq, a, next[a])
				}
				next[a]++
			}
			more = h.More
		}
		if got := ofRecord(t, m, "s"); seq != int64(appenders*each) || got.Messages != seq || got.LastSeq != seq {
			t.Errorf("%d messages of %d, session %+v", seq, appenders*each, got)
		}
	})
}

// Two processes do not see each other's locks: the store alone keeps them apart.
func TestSessionAppendsOfTwoEngines(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		var group sync.WaitGroup
		for a := range 4 {
			m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
			group.Go(func() {
				for n := range 25 {
					if _, err := session.Of(m).Append(t.Context(), "s",
						[]session.Message{locitest.Spoken(session.MessageHuman, fmt.Sprint(a, n))}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		for i, stored := range locitest.HistoryOf(t, m, "s", session.HistoryQuery{Limit: 1000}) {
			if stored.Seq != int64(i+1) {
				t.Fatalf("message %d at place %d", stored.Seq, i+1)
			}
		}
		if got := ofRecord(t, m, "s"); got.Messages != 100 {
			t.Errorf("session %+v", got)
		}
	})
}

func TestSessionAppendIsRepeatable(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		keyed := locitest.BindView(t, e, loci.View{
			Tenant:         locitest.Tenant(t, "t"),
			Namespace:      loci.Namespace{"u"},
			Actor:          "tester",
			IdempotencyKey: "k",
		})
		first, again := locitest.AppendTo(t, keyed, "", locitest.Spoken(session.MessageHuman, "x")),
			locitest.AppendTo(t, keyed, "", locitest.Spoken(session.MessageHuman, "x"))
		if first != again {
			t.Errorf("first %+v, again %+v", first, again)
		}
		_, err := session.Of(keyed).Append(t.Context(), "", []session.Message{locitest.Spoken(session.MessageHuman, "y")})
		locitest.WantCode(t, err, loci.Conflict)
		if n := len(locitest.HistoryOf(t, keyed, first.Session, session.HistoryQuery{})); n != 1 {
			t.Errorf("%d messages", n)
		}
	})
}

// TestSessionTimeout: an expired session leaves the list, keeps its messages, and comes back
// with its next append; a trim does not revive it.
func TestSessionTimeout(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{
			Now:      c.Now,
			Features: []loci.Feature{session.Feature{Timeout: time.Hour}},
		}), "u")
		create := func(in session.New) {
			if _, err := session.Of(m).Create(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		listed := func(q session.Query) (ids []string) {
			sessions, _, err := session.Of(m).List(t.Context(), q, loci.Page{})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sessions {
				ids = append(ids, s.ID+" "+string(s.Status))
			}
			return ids
		}
		create(session.New{ID: "usual"})
		c.Advance(time.Second)
		create(session.New{ID: "short", TimeoutSeconds: 60})
		c.Advance(time.Second)
		locitest.AppendTo(t, m, "usual", locitest.Spoken(session.MessageHuman, "hi"))
		if got := listed(session.Query{}); !slices.Equal(got, []string{"usual active", "short active"}) {
			t.Errorf("sessions %q", got)
		}
		c.Advance(59 * time.Second)
		if got := listed(session.Query{}); !slices.Equal(got, []string{"usual active"}) {
			t.Errorf("sessions %q", got)
		}
		c.Advance(time.Hour)
		if got := listed(session.Query{}); got != nil {
			t.Errorf("sessions %q", got)
		}
		if got := listed(session.Query{Expired: true}); !slices.Equal(got, []string{"usual expired", "short expired"}) {
			t.Errorf("sessions %q", got)
		}
		if got := locitest.Said(locitest.HistoryOf(t, m, "usual", session.HistoryQuery{})); len(got) != 1 {
			t.Errorf("history of an expired session %q", got)
		}
		if _, err := session.Of(m).Trim(t.Context(), "usual", 0); err != nil || ofRecord(t, m, "usual").Status != session.Expired {
			t.Errorf("a trim revives: %v", err)
		}
		locitest.AppendTo(t, m, "usual", locitest.Spoken(session.MessageHuman, "back"))
		if got := listed(session.Query{}); !slices.Equal(got, []string{"usual active"}) {
			t.Errorf("sessions %q", got)
		}
	})
}

func TestSessionListPages(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		for i := range 7 {
			c.Advance(time.Second)
			locitest.AppendTo(t, m, fmt.Sprint("s", i), locitest.Spoken(session.MessageHuman, "hi"))
		}
		c.Advance(time.Second)
		locitest.AppendTo(t, m, "s2", locitest.Spoken(session.MessageHuman, "again"))
		var got []string
		for page := (loci.Page{Limit: 3, Brief: true}); ; { // which sessions never are
			sessions, next, err := session.Of(m).List(t.Context(), session.Query{}, page)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sessions {
				got = append(got, s.ID)
			}
			if page.Cursor = next; next == "" {
				break
			}
		}
		if want := []string{"s2", "s6", "s5", "s4", "s3", "s1", "s0"}; !slices.Equal(got, want) {
			t.Errorf("sessions %q", got)
		}
	})
}

func TestSessionClear(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m, below := locitest.Bind(t, e, "u"), locitest.Bind(t, e, "u", "below")
		for _, id := range []string{"a", "b", "c"} {
			locitest.AppendTo(t, m, id, locitest.Spoken(session.MessageHuman, "one "+id),
				locitest.Spoken(session.MessageAI, "two "+id))
		}
		locitest.AppendTo(t, below, "a", locitest.Spoken(session.MessageHuman, "not theirs"))
		locitest.Save(t, m, "a note")
		n, err := session.Of(m).Clear(t.Context(), "a")
		if err != nil || n != (session.Cleared{Sessions: 1, Messages: 2}) {
			t.Errorf("cleared %+v, %v", n, err)
		}
		_, err = session.Of(m).Session(t.Context(), "a")
		locitest.WantCode(t, err, loci.NotFound)
		_, err = session.Of(m).Clear(t.Context(), "a")
		locitest.WantCode(t, err, loci.NotFound)
		again := locitest.AppendTo(t, m, "a", locitest.Spoken(session.MessageHuman, "new"))
		if again.First != 1 || !again.Created {
			t.Errorf("a cleared session goes on: %+v", again)
		}
		n, err = session.Of(m).ClearAll(t.Context())
		if err != nil || n != (session.Cleared{Sessions: 3, Messages: 5}) {
			t.Errorf("cleared %+v, %v", n, err)
		}
		if left, _, err := session.Of(m).List(t.Context(), session.Query{Expired: true}, loci.Page{}); err != nil ||
			len(left) > 0 {
			t.Errorf("left %+v, %v", left, err)
		}
		if ofRecord(t, below, "a").Messages != 1 || len(locitest.AllFacts(t, m)) != 1 {
			t.Error("more than the handle's own sessions went")
		}
	})
}

// TestSessionLimits: each limit of a session, an append and a message is refused with its
// number, and a refused call stores nothing.
func TestSessionLimits(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	hi := locitest.Spoken(session.MessageHuman, "hi")
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		call func() error
		code loci.Code
		want string
	}{
		"id": {func() error {
			_, err := session.Of(m).Append(t.Context(), long, []session.Message{hi})
			return err
		}, loci.Invalid, "session_id is 300 bytes long; the limit is 256"},
		"one point": {func() error { _, err := session.Of(m).Create(t.Context(), session.New{ID: "."}); return err }, loci.Invalid, "session_id is \".\", which does not stay in the address"},
		"two points": {func() error {
			_, err := session.Of(m).Append(t.Context(), "..", []session.Message{hi})
			return err
		}, loci.Invalid, "session_id is \"..\", which does not stay in the address"},
		"id with NUL": {func() error { _, err := session.Of(m).Create(t.Context(), session.New{ID: "a\x00"}); return err }, loci.Invalid, "session_id"},
		"no messages": {func() error { _, err := session.Of(m).Append(t.Context(), "s", nil); return err }, loci.Invalid, "messages must not be empty"},
		"1001 messages": {func() error {
			_, err := session.Of(m).Append(t.Context(), "s", slices.Repeat([]session.Message{hi}, 1001))
			return err
		}, loci.TooLarge, "the limit is 1000: append them in several calls"},
		"a long message": {func() error {
			_, err := session.Of(m).Append(t.Context(), "s",
				[]session.Message{hi, locitest.Spoken(session.MessageHuman, strings.Repeat("x", 1<<20))})
			return err
		}, loci.TooLarge, "messages[1]: a message has"},
		"an odd message": {func() error {
			_, err := session.Of(m).Append(t.Context(), "s", []session.Message{hi, locitest.Spoken("spell", "x")})
			return err
		}, loci.Invalid, `messages[1]: type "spell" is not known`},
		"metadata": {func() error {
			_, err := session.Of(m).Create(t.Context(),
				session.New{Metadata: json.RawMessage(`{"a":"` + strings.Repeat("x", 16<<10) + `"}`)})
			return err
		}, loci.TooLarge, "metadata has 16392 bytes; the limit is 16384"},
		"metadata list": {func() error {
			_, err := session.Of(m).Create(t.Context(), session.New{Metadata: json.RawMessage(`[]`)})
			return err
		}, loci.Invalid, "metadata must be a JSON object"},
		"max_messages": {func() error {
			_, err := session.Of(m).Create(t.Context(), session.New{MaxMessages: -1})
			return err
		}, loci.Invalid, "max_messages is -1"},
		"timeout": {func() error {
			_, err := session.Of(m).Create(t.Context(), session.New{TimeoutSeconds: 1 << 40})
			return err
		}, loci.Invalid, "timeout_seconds is"},
		"last": {func() error {
			_, err := session.Of(m).History(t.Context(), "s", session.HistoryQuery{Last: 1001})
			return err
		}, loci.Invalid, "last is 1001"},
		"trim": {func() error { _, err := session.Of(m).Trim(t.Context(), "s", -1); return err }, loci.Invalid, "max_messages is -1"},
		"option": {func() error {
			_, err := loci.New(locitest.OpenMemory(),
				&loci.Options{Features: []loci.Feature{session.Feature{MaxMessages: -1}}})
			return err
		}, loci.Invalid, "session max messages is -1"},
		"option timeout": {func() error {
			_, err := loci.New(locitest.OpenMemory(),
				&loci.Options{Features: []loci.Feature{session.Feature{Timeout: -1}}})
			return err
		}, loci.Invalid, "session timeout is"},
	} {
		err := c.call()
		locitest.WantCode(t, err, c.code)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if left, _, err := session.Of(m).List(t.Context(), session.Query{}, loci.Page{}); err != nil || len(left) > 0 {
		t.Errorf("something was stored: %+v, %v", left, err)
	}
}

// A second session of the same id is refused.
func TestSessionCreate(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		in := session.New{ID: "a/b 100%", Metadata: json.RawMessage(`{"title":"Trip","n":12345678901234567890}`), MaxMessages: 5, TimeoutSeconds: 60}
		made, err := session.Of(m).Create(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		got := ofRecord(t, m, in.ID)
		if got.ID != in.ID || string(got.Metadata) != `{"n":12345678901234567890,"title":"Trip"}` || got.MaxMessages != 5 || got.TimeoutSeconds != 60 ||
			got.Status != session.Active || got.Messages != 0 ||
			!got.CreatedAt.Equal(made.CreatedAt) || !got.Namespace.Equal(loci.Namespace{"u"}) {
			t.Errorf("session %+v", got)
		}
		_, err = session.Of(m).Create(t.Context(), in)
		locitest.WantCode(t, err, loci.Conflict)
	})
}
