package rest

import (
	"strings"
	"testing"

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
