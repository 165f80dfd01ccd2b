package rest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
)

// TestItemsByTime: a search of items, alone and in a batch, takes a time and a least score.
func TestItemsByTime(t *testing.T) {
	b := newBench(t, memory.Open(), nil)
	for _, at := range []string{"2024-01-01T10:00:00Z", "2024-03-01T10:00:00Z"} {
		body := `{"namespace":["trips"],"key":"` + at + `","value":{"title":"A trip"},"created_at":"` + at + `"}`
		if r := b.send("PUT", "/v1/items", body); r.status >= 300 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	const after, before = `"since":"2024-02-01T00:00:00Z"`, `"until":"2024-02-01T00:00:00Z"`
	for _, c := range [][2]string{{after, "2024-03"}, {before, "2024-01"}, {`"query":"trip",` + after, "2024-03"}} {
		search := `"namespace_prefix":["trips"],` + c[0]
		for path, body := range map[string]string{
			"/v1/items/search": "{" + search + "}", "/v1/items/batch": `{"operations":[{"op":"search",` + search + `}]}`,
		} {
			r := b.send("POST", path, body)
			if r.status != 200 || strings.Count(r.body, `"key"`) != 1 || !strings.Contains(r.body, `"key":"`+c[1]) {
				t.Errorf("%s %s: %d %s", path, body, r.status, r.body)
			}
		}
	}
	r := b.send("POST", "/v1/items/search", `{"namespace_prefix":["trips"],"query":"trip","min_score":0.999}`)
	if r.status != 200 || strings.Contains(r.body, `"key"`) {
		t.Errorf("what fits too little: %d %s", r.status, r.body)
	}
}

// A store that counts the bytes of the records that it reads.
type weighed struct {
	loci.Store
	read int
}

func (s *weighed) Records(
	ctx context.Context, t loci.Tenant, f loci.Filter, p loci.Page,
) ([]loci.Record, string, error) {
	records, next, err := s.Store.Records(ctx, t, f, p)
	for i := range records {
		s.read += len(records[i].Text) + len(records[i].Attributes)
	}
	return records, next, err
}

// What the answers of a batch hold is bounded together, and what a search holds: no more is read. What has no room is
// refused and may be sent again; what writes is done.
func TestAnswersOfABatchAreBounded(t *testing.T) {
	locitest.Unshared(t)
	defer func(most int) { maxAnswer = most }(maxAnswer)
	maxAnswer = 1 << 20
	s := &weighed{Store: memory.Open()}
	b := newBench(t, s, nil)
	const many, size = 200, 20 << 10
	for i := range many {
		body := fmt.Sprintf(`{"namespace":["n"],"key":"%d","index":["a"],"value":{"a":"walrus","b":"%s"}}`, i, strings.Repeat("x", size))
		if r := b.send("PUT", "/v1/items", body); r.status >= 300 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	for _, query := range []string{"", `,"query":"walrus"`} {
		search := func(limit, offset int) string {
			return fmt.Sprintf(`"namespace_prefix":["n"],"limit":%d,"offset":%d%s`, limit, offset, query)
		}
		s.read = 0
		r := b.send("POST", "/v1/items/search", "{"+search(many, 0)+"}")
		if r.status != 413 || !strings.Contains(r.body, "the results have more than 1048576 bytes, the limit of one answer") ||
			!strings.Contains(r.body, "fewer by limit") || len(r.body) > 1000 || s.read > 2<<20 {
			t.Errorf("%d %.300s, and %d bytes were read", r.status, r.body, s.read)
		}
		if r := b.send("POST", "/v1/items/search", "{"+search(40, 150)+"}"); r.status != 200 || strings.Count(r.body, `"key"`) != 40 {
			t.Errorf("%d %.300s", r.status, r.body)
		}
		s.read = 0
		one := `{"op":"search",` + search(30, 0) + `}`
		put := `{"op":"put","namespace":["m"],"key":"k","value":{}}`
		r = b.send("POST", "/v1/items/batch", `{"operations":[`+strings.Repeat(one+",", 50)+put+`]}`)
		if r.status != 200 || len(r.body) > 2<<20 || strings.Count(r.body, `"items"`) != 1 || s.read > 3<<20 ||
			strings.Count(r.body, "leave no room for its own; the limit of all is 1048576 bytes") != 49 ||
			strings.Count(r.body, `"op":"put"}`) != 1 {
			t.Errorf("%d: %d bytes, %d were read, %.300s", r.status, len(r.body), s.read, r.body)
		}
	}
	get := `{"op":"get","namespace":["n"],"key":"1"}`
	r := b.send("POST", "/v1/items/batch", `{"operations":[`+strings.Repeat(get+",", 99)+get+`]}`)
	if got := strings.Count(r.body, `"item"`); r.status != 200 || got != 50 || strings.Count(r.body, "leave no room") != 50 {
		t.Errorf("%d: %d items", r.status, got)
	}
	maxAnswer = 10_000
	deep := `{"op":"put","namespace":["` + strings.Repeat("y", 250) + `%d"],"key":"k","value":{}}`
	for i := range 20 {
		b.send("POST", "/v1/items/batch", `{"operations":[`+fmt.Sprintf(deep, i)+`]}`)
	}
	list := `{"op":"namespaces"}`
	r = b.send("POST", "/v1/items/batch", `{"operations":[`+list+`,`+list+`]}`)
	if r.status != 200 || strings.Count(r.body, `"namespaces":[`) != 1 || strings.Count(r.body, "leave no room") != 1 {
		t.Errorf("%d %.600s", r.status, r.body)
	}
}

// What searches of a batch take grows with what is stored, so their time is bounded together: an operation that has not
// begun by then is refused and may be sent again, as what has no room. The first is done however long others took.
func TestSearchesOfABatchShareTheirTime(t *testing.T) {
	locitest.Unshared(t)
	defer func(was func() time.Time) { clock = was }(clock)
	b := newBench(t, memory.Open(), nil)
	var now, step atomic.Int64
	clock = func() time.Time { return time.UnixMilli(now.Add(step.Load())) } // each look at it takes a while
	if r := b.send("PUT", "/v1/items", `{"namespace":["n"],"key":"k","value":{"a":1}}`); r.status >= 300 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	const search, list, get, put = `{"op":"search","namespace_prefix":["n"]}`, `{"op":"namespaces"}`,
		`{"op":"get","namespace":["n"],"key":"k"}`, `{"op":"put","namespace":["n"],"key":"l","value":{}}`
	for _, c := range []struct {
		step       int64
		operations string
		done, none int
	}{
		{0, strings.Repeat(search+",", 50) + search, 51, 0},
		{200, strings.Repeat(search+",", 5) + search, 3, 3},
		{200, strings.Repeat(list+","+search+",", 2) + list, 3, 2},
		{10_000, search + "," + search + "," + get + "," + put, 3, 1},
		{10_000, get + "," + get + "," + search, 3, 0},
	} {
		step.Store(c.step)
		r := b.send("POST", "/v1/items/batch", `{"operations":[`+c.operations+`]}`)
		none := strings.Count(r.body, "of this batch before it have taken its time; the limit of all is 500ms")
		done := strings.Count(r.body, `"op":`) - none
		if r.status != 200 || done != c.done || none != c.none || strings.Count(r.body, `"code":"too_large"`) != none {
			t.Errorf("%d ms each, %.100s: %d done and %d refused: %d %.600s", c.step, c.operations, done, none, r.status, r.body)
		}
	}
}
