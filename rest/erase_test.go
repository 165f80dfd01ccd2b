package rest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/memory"
)

// TestEraseMany: it counts, refuses a number other than the one it counted, and erases for
// good. A repeated request gets the same answer, and memories of others stay.
func TestEraseMany(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		b := newBench(t, s, nil)
		bob := newBench(t, s, func(o *Options) { o.Principal = principal(t, "bob") })
		for _, one := range [][3]string{
			{"POST", "/v1/notes", `{"content":"Rome in May.","tags":["trip"]}`},
			{"POST", "/v1/notes", `{"content":"Oslo in June.","tags":["trip"],"metadata":{"year":2026}}`},
			{"POST", "/v1/notes", `{"content":"Prefers aisle seats."}`},
			{"PUT", "/v1/items", `{"namespace":["docs"],"key":"k","value":{"n":1}}`},
			{"PUT", "/v1/items", `{"namespace":["other"],"key":"k","value":{"n":1}}`},
			{"POST", "/v1/sessions/chat/messages", `{"messages":[{"role":"user","content":"Where do I sit?"}]}`},
		} {
			for _, who := range []*bench{b, bob} {
				if r := who.send(one[0], one[1], one[2]); r.status >= 300 {
					t.Fatalf("%v: %d %s", one, r.status, r.body)
				}
			}
		}
		for _, c := range []struct {
			body   string
			status int
			says   string
			header []string
		}{
			{`{"tags":["trip"]}`, 200, `{"selected":2,"erased":0}`, nil},
			{`{"tags":["trip"],"filter":{"year":2026}}`, 200, `{"selected":1,"erased":0}`, nil},
			{`{"namespace":["docs"],"kinds":["item"]}`, 200, `{"selected":1,"erased":0}`, nil},
			{`{"kinds":["session"]}`, 200, `{"selected":2,"erased":0}`, nil},
			{`{"tags":["trip"],"expect":3}`, 409, "nothing was erased: 2 are selected, not 3", nil},
			{`{"tags":["trip"],"expect":2}`, 200, `{"selected":2,"erased":2}`, []string{"Idempotency-Key: once"}},
			{`{"tags":["trip"],"expect":2}`, 200, `{"selected":2,"erased":2}`, []string{"Idempotency-Key: once"}},
			{`{"tags":["trip"],"expect":0}`, 409, "idempotency key", []string{"Idempotency-Key: once"}},
			{`{"tags":["trip"],"expect":2}`, 409, "nothing was erased", nil},
			{`{"namespace":["docs"],"kinds":["item"],"expect":1}`, 200, `{"selected":1,"erased":1}`, nil},
			{`{"kinds":["session"],"expect":2}`, 200, `{"selected":2,"erased":2}`, nil},
			{`{"all":true}`, 200, `{"selected":2,"erased":0}`, nil},
			{`{"all":true,"expect":2}`, 200, `{"selected":2,"erased":2}`, nil},
			{`{}`, 400, "say what to erase", nil},
			{`{"all":true,"tags":["trip"]}`, 400, "say what to erase", nil},
			{`{"kinds":["file"]}`, 400, "kinds", nil},
			{`{"kinds":["session"],"tags":["trip"]}`, 400, "by kind alone", nil},
			{`{"all":true,"expect":-1}`, 400, "expect", nil},
			{`{"filter":{"$or":[]}}`, 400, "filter", nil},
		} {
			r := b.send("POST", "/v1/erase", c.body, c.header...)
			if r.status != c.status || !strings.Contains(r.body, c.says) {
				t.Errorf("%s %v: %d %s; want %d with %q", c.body, c.header, r.status, r.body, c.status, c.says)
			}
		}
		if r := bob.send("POST", "/v1/erase", `{"all":true}`); !strings.Contains(r.body, `{"selected":7,"erased":0}`) {
			t.Errorf("what another user has: %s", r.body)
		}
	})
	// More than one request erases are left for another one, also when the first is asked again.
	many := newBench(t, memory.Open(), nil)
	lines := make([]string, 4000)
	for i := range lines {
		lines[i] = fmt.Sprintf(`"{\"type\":\"entity\",\"name\":\"e%d\",\"entityType\":\"x\",\"observations\":[\"o\"]}"`, i)
	}
	if r := many.send("POST", "/v1/import", `{"lines":[`+strings.Join(lines, ",")+`]}`); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	many.send("POST", "/v1/notes", `{"content":"one more"}`)
	var cursor string
	for i, c := range [][2]string{
		{`{"all":true,"expect":4001}`, `{"selected":4001,"erased":4000,"left":1,"next_cursor":"`},
		{`{"all":true,"expect":1,"cursor":"%s"}`, `{"selected":1,"erased":1}`},
	} {
		body := strings.Replace(c[0], "%s", cursor, 1)
		for range 2 {
			r := many.send("POST", "/v1/erase", body, fmt.Sprint("Idempotency-Key: ", i))
			if !strings.HasPrefix(r.body, c[1]) {
				t.Errorf("%s: %d %s; want %s", body, r.status, r.body, c[1])
			}
			_, cursor, _ = strings.Cut(r.body, `"next_cursor":"`)
			cursor, _, _ = strings.Cut(cursor, `"`)
		}
	}
	for body, says := range map[string]string{
		`{"all":true,"cursor":"x"}`: "cursor needs expect", `{"all":true,"expect":1,"cursor":"x"}`: "send next_cursor of the reply before",
	} {
		if r := many.send("POST", "/v1/erase", body); r.status != 400 || !strings.Contains(r.body, says) {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	reader := newBench(t, memory.Open(), func(o *Options) { o.Principal = principal(t, "ada", loci.ScopeWrite) })
	if r := reader.send("POST", "/v1/erase", `{"all":true}`); r.status != 403 {
		t.Errorf("without the scope delete: %d %s", r.status, r.body)
	}
}
