package loci_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// spoken makes a message of a type.
func spoken(typ loci.MessageType, text string) loci.Message {
	data, err := json.Marshal(map[string]any{"content": text, "type": typ})
	if err != nil {
		panic(err)
	}
	return loci.Message{Type: typ, Data: data}
}

// asks is a message of a model that calls tools.
func asks(ids ...string) loci.Message {
	var calls []map[string]any
	for _, id := range ids {
		calls = append(calls, map[string]any{"name": "look_up", "args": map[string]any{"id": id}, "id": id, "type": "tool_call"})
	}
	data, err := json.Marshal(map[string]any{"content": "", "tool_calls": calls})
	if err != nil {
		panic(err)
	}
	return loci.Message{Type: loci.MessageAI, Data: data}
}

// answer is the result of a tool call.
func answer(id string) loci.Message {
	return loci.Message{Type: loci.MessageTool, Data: json.RawMessage(fmt.Sprintf(`{"content":"result of %s","tool_call_id":%q}`, id, id))}
}

func appendTo(t testing.TB, m *loci.Memory, id string, messages ...loci.Message) loci.Appended {
	t.Helper()
	done, err := m.Sessions().Append(t.Context(), id, messages)
	if err != nil {
		t.Fatalf("append to %q: %v", id, err)
	}
	return done
}

func historyOf(t testing.TB, m *loci.Memory, id string, q loci.HistoryQuery) []loci.StoredMessage {
	t.Helper()
	h, err := m.Sessions().History(t.Context(), id, q)
	if err != nil {
		t.Fatal(err)
	}
	return h.Messages
}

// said are the numbers and the texts of messages.
func said(messages []loci.StoredMessage) (out []string) {
	for _, m := range messages {
		out = append(out, fmt.Sprintf("%d %s", m.Seq, m.Text()))
	}
	return out
}

func sessionOf(t testing.TB, m *loci.Memory, id string) loci.Session {
	t.Helper()
	s, err := m.Sessions().Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A query without a session begins one of its own, with no history; with one, all
// that was said comes back in its order.
func TestSessionHistory(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		first, second := appendTo(t, m, "", spoken(loci.MessageHuman, "one")), appendTo(t, m, "", spoken(loci.MessageHuman, "other"))
		if first.Session == second.Session || !first.Created || first.First != 1 || first.Last != 1 {
			t.Errorf("appended %+v and %+v", first, second)
		}
		if _, err := loci.ParseID(first.Session); err != nil {
			t.Errorf("the new id %q is no UUID", first.Session)
		}
		id := first.Session
		next := appendTo(t, m, id, spoken(loci.MessageAI, "two"), asks("c"), answer("c"))
		if next.Created || next.First != 2 || next.Last != 4 || next.Messages != 4 {
			t.Errorf("appended %+v", next)
		}
		want := []string{"1 one", "2 two", "3 look_up: id: c", "4 result of c"}
		if got := said(historyOf(t, m, id, loci.HistoryQuery{})); !slices.Equal(got, want) {
			t.Errorf("history %q", got)
		}
		for _, c := range []struct {
			q    loci.HistoryQuery
			want []string
			more bool
		}{
			{loci.HistoryQuery{After: 2}, want[2:], false},
			{loci.HistoryQuery{Before: 3}, want[:2], false},
			{loci.HistoryQuery{After: 1, Before: 4}, want[1:3], false},
			{loci.HistoryQuery{Last: 2}, want[2:], false},
			{loci.HistoryQuery{Last: 2, Before: 4}, want[1:3], false},
			{loci.HistoryQuery{Limit: 3}, want[:3], true},
			{loci.HistoryQuery{Limit: 2, NewestFirst: true}, []string{want[3], want[2]}, true},
			{loci.HistoryQuery{Limit: 2, NewestFirst: true, Before: 3}, []string{want[1], want[0]}, false},
		} {
			h, err := m.Sessions().History(t.Context(), id, c.q)
			if got := said(h.Messages); err != nil || !slices.Equal(got, c.want) || h.More != c.more {
				t.Errorf("%+v: %q, more %v, %v", c.q, got, h.More, err)
			}
		}
		_, err := m.Sessions().History(t.Context(), "nobody", loci.HistoryQuery{})
		wantCode(t, err, loci.NotFound)
	})
}

// Many append at once: nothing is lost or doubled, and what one appended stands in
// the order it did.
func TestSessionConcurrentAppends(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		const appenders = 16
		each := 1000
		if t.Name() != "TestSessionConcurrentAppends/memory" || testing.Short() || raced {
			each = unraced(60, 20)
		}
		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		var group sync.WaitGroup
		for a := range appenders {
			group.Go(func() {
				for n := range each {
					if _, err := m.Sessions().Append(t.Context(), "s", []loci.Message{spoken(loci.MessageHuman, fmt.Sprintf("%d/%d", a, n))}); err != nil {
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
			h, err := m.Sessions().History(t.Context(), "s", loci.HistoryQuery{After: seq, Limit: 1000})
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
		if got := sessionOf(t, m, "s"); seq != int64(appenders*each) || got.Messages != seq || got.LastSeq != seq {
			t.Errorf("%d messages of %d, session %+v", seq, appenders*each, got)
		}
	})
}

// Two processes do not see one another's locks: the store alone keeps them apart.
func TestSessionAppendsOfTwoEngines(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		var group sync.WaitGroup
		for a := range 4 {
			m := bind(t, newEngine(t, s, loci.Options{}), "u")
			group.Go(func() {
				for n := range 25 {
					if _, err := m.Sessions().Append(t.Context(), "s", []loci.Message{spoken(loci.MessageHuman, fmt.Sprint(a, n))}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		for i, stored := range historyOf(t, m, "s", loci.HistoryQuery{Limit: 1000}) {
			if stored.Seq != int64(i+1) {
				t.Fatalf("message %d at place %d", stored.Seq, i+1)
			}
		}
		if got := sessionOf(t, m, "s"); got.Messages != 100 {
			t.Errorf("session %+v", got)
		}
	})
}

func TestSessionAppendIsRepeatable(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		e := newEngine(t, s, loci.Options{})
		keyed := bindView(t, e, loci.View{Tenant: tenant(t, "t"), Namespace: loci.Namespace{"u"}, Actor: "tester", IdempotencyKey: "k"})
		first, again := appendTo(t, keyed, "", spoken(loci.MessageHuman, "x")), appendTo(t, keyed, "", spoken(loci.MessageHuman, "x"))
		if first != again {
			t.Errorf("first %+v, again %+v", first, again)
		}
		_, err := keyed.Sessions().Append(t.Context(), "", []loci.Message{spoken(loci.MessageHuman, "y")})
		wantCode(t, err, loci.Conflict)
		if n := len(historyOf(t, keyed, first.Session, loci.HistoryQuery{})); n != 1 {
			t.Errorf("%d messages", n)
		}
	})
}

func TestSessionTimeout(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		c := newClock()
		m := bind(t, newEngine(t, s, loci.Options{Now: c.now, SessionTimeout: time.Hour}), "u")
		create := func(in loci.NewSession) {
			if _, err := m.Sessions().Create(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		listed := func(q loci.SessionQuery) (ids []string) {
			sessions, _, err := m.Sessions().List(t.Context(), q, loci.Page{})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sessions {
				ids = append(ids, s.ID+" "+string(s.Status))
			}
			return ids
		}
		create(loci.NewSession{ID: "usual"})
		c.advance(time.Second)
		create(loci.NewSession{ID: "short", TimeoutSeconds: 60})
		c.advance(time.Second)
		appendTo(t, m, "usual", spoken(loci.MessageHuman, "hi"))
		if got := listed(loci.SessionQuery{}); !slices.Equal(got, []string{"usual active", "short active"}) {
			t.Errorf("sessions %q", got)
		}
		c.advance(59 * time.Second)
		if got := listed(loci.SessionQuery{}); !slices.Equal(got, []string{"usual active"}) {
			t.Errorf("sessions %q", got)
		}
		c.advance(time.Hour)
		if got := listed(loci.SessionQuery{}); got != nil {
			t.Errorf("sessions %q", got)
		}
		if got := listed(loci.SessionQuery{Expired: true}); !slices.Equal(got, []string{"usual expired", "short expired"}) {
			t.Errorf("sessions %q", got)
		}
		if got := said(historyOf(t, m, "usual", loci.HistoryQuery{})); len(got) != 1 {
			t.Errorf("history of an expired session %q", got)
		}
		if _, err := m.Sessions().Trim(t.Context(), "usual", 0); err != nil || sessionOf(t, m, "usual").Status != loci.SessionExpired {
			t.Errorf("a trim revives: %v", err)
		}
		appendTo(t, m, "usual", spoken(loci.MessageHuman, "back"))
		if got := listed(loci.SessionQuery{}); !slices.Equal(got, []string{"usual active"}) {
			t.Errorf("sessions %q", got)
		}
	})
}

func TestSessionListPages(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		c := newClock()
		m := bind(t, newEngine(t, s, loci.Options{Now: c.now}), "u")
		for i := range 7 {
			c.advance(time.Second)
			appendTo(t, m, fmt.Sprint("s", i), spoken(loci.MessageHuman, "hi"))
		}
		c.advance(time.Second)
		appendTo(t, m, "s2", spoken(loci.MessageHuman, "again"))
		var got []string
		for page := (loci.Page{Limit: 3}); ; {
			sessions, next, err := m.Sessions().List(t.Context(), loci.SessionQuery{}, page)
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
	eachStore(t, func(t *testing.T, s loci.Store) {
		e := newEngine(t, s, loci.Options{})
		m, below := bind(t, e, "u"), bind(t, e, "u", "below")
		for _, id := range []string{"a", "b", "c"} {
			appendTo(t, m, id, spoken(loci.MessageHuman, "one "+id), spoken(loci.MessageAI, "two "+id))
		}
		appendTo(t, below, "a", spoken(loci.MessageHuman, "not theirs"))
		save(t, m, "a note")
		n, err := m.Sessions().Clear(t.Context(), "a")
		if err != nil || n != (loci.Cleared{Sessions: 1, Messages: 2}) {
			t.Errorf("cleared %+v, %v", n, err)
		}
		_, err = m.Sessions().Session(t.Context(), "a")
		wantCode(t, err, loci.NotFound)
		_, err = m.Sessions().Clear(t.Context(), "a")
		wantCode(t, err, loci.NotFound)
		if again := appendTo(t, m, "a", spoken(loci.MessageHuman, "new")); again.First != 1 || !again.Created {
			t.Errorf("a cleared session goes on: %+v", again)
		}
		n, err = m.Sessions().ClearAll(t.Context())
		if err != nil || n != (loci.Cleared{Sessions: 3, Messages: 5}) {
			t.Errorf("cleared %+v, %v", n, err)
		}
		if left, _, err := m.Sessions().List(t.Context(), loci.SessionQuery{Expired: true}, loci.Page{}); err != nil || len(left) > 0 {
			t.Errorf("left %+v, %v", left, err)
		}
		if sessionOf(t, below, "a").Messages != 1 || len(allFacts(t, m)) != 1 {
			t.Error("more than the handle's own sessions went")
		}
	})
}

func TestSessionLimits(t *testing.T) {
	m := bind(t, newEngine(t, openMemory(), loci.Options{}), "u")
	hi := spoken(loci.MessageHuman, "hi")
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		call func() error
		code loci.Code
		want string
	}{
		"id":          {func() error { _, err := m.Sessions().Append(t.Context(), long, []loci.Message{hi}); return err }, loci.Invalid, "session_id is 300 bytes long; the limit is 256"},
		"id with NUL": {func() error { _, err := m.Sessions().Create(t.Context(), loci.NewSession{ID: "a\x00"}); return err }, loci.Invalid, "session_id"},
		"no messages": {func() error { _, err := m.Sessions().Append(t.Context(), "s", nil); return err }, loci.Invalid, "messages must not be empty"},
		"1001 messages": {func() error {
			_, err := m.Sessions().Append(t.Context(), "s", slices.Repeat([]loci.Message{hi}, 1001))
			return err
		}, loci.TooLarge, "the limit is 1000: append them in several calls"},
		"a long message": {func() error {
			_, err := m.Sessions().Append(t.Context(), "s", []loci.Message{hi, spoken(loci.MessageHuman, strings.Repeat("x", 1<<20))})
			return err
		}, loci.TooLarge, "messages[1]: a message has"},
		"an odd message": {func() error {
			_, err := m.Sessions().Append(t.Context(), "s", []loci.Message{hi, spoken("spell", "x")})
			return err
		}, loci.Invalid, `messages[1]: type "spell" is not known`},
		"metadata": {func() error {
			_, err := m.Sessions().Create(t.Context(), loci.NewSession{Metadata: json.RawMessage(`{"a":"` + strings.Repeat("x", 16<<10) + `"}`)})
			return err
		}, loci.TooLarge, "metadata has 16392 bytes; the limit is 16384"},
		"metadata list": {func() error {
			_, err := m.Sessions().Create(t.Context(), loci.NewSession{Metadata: json.RawMessage(`[]`)})
			return err
		}, loci.Invalid, "metadata must be a JSON object"},
		"max_messages": {func() error { _, err := m.Sessions().Create(t.Context(), loci.NewSession{MaxMessages: -1}); return err }, loci.Invalid, "max_messages is -1"},
		"timeout": {func() error {
			_, err := m.Sessions().Create(t.Context(), loci.NewSession{TimeoutSeconds: 1 << 40})
			return err
		}, loci.Invalid, "timeout_seconds is"},
		"last": {func() error {
			_, err := m.Sessions().History(t.Context(), "s", loci.HistoryQuery{Last: 1001})
			return err
		}, loci.Invalid, "last is 1001"},
		"trim":           {func() error { _, err := m.Sessions().Trim(t.Context(), "s", -1); return err }, loci.Invalid, "max_messages is -1"},
		"option":         {func() error { _, err := loci.New(openMemory(), &loci.Options{SessionMaxMessages: -1}); return err }, loci.Invalid, "session max messages is -1"},
		"option timeout": {func() error { _, err := loci.New(openMemory(), &loci.Options{SessionTimeout: -1}); return err }, loci.Invalid, "session timeout is"},
	} {
		err := c.call()
		wantCode(t, err, c.code)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if left, _, err := m.Sessions().List(t.Context(), loci.SessionQuery{}, loci.Page{}); err != nil || len(left) > 0 {
		t.Errorf("something was stored: %+v, %v", left, err)
	}
}

// A session of an id that is there is not made twice.
func TestSessionCreate(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		in := loci.NewSession{ID: "a/b 100%", Metadata: json.RawMessage(`{"title":"Trip","n":12345678901234567890}`), MaxMessages: 5, TimeoutSeconds: 60}
		made, err := m.Sessions().Create(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if got := sessionOf(t, m, in.ID); got.ID != in.ID || string(got.Metadata) != `{"n":12345678901234567890,"title":"Trip"}` || got.MaxMessages != 5 || got.TimeoutSeconds != 60 ||
			got.Status != loci.SessionActive || got.Messages != 0 || !got.CreatedAt.Equal(made.CreatedAt) || !got.Namespace.Equal(loci.Namespace{"u"}) {
			t.Errorf("session %+v", got)
		}
		_, err = m.Sessions().Create(t.Context(), in)
		wantCode(t, err, loci.Conflict)
	})
}
