package rest

import (
	"net/url"
	"strings"
	"testing"

	"github.com/loci-memory/loci/store/memory"
)

// TestTimesOfRequests: a request may name a day, as the arguments of a tool may, and what is no
// time is refused in words for its writer.
func TestTimesOfRequests(t *testing.T) {
	t.Parallel()
	b := newBench(t, memory.Open(), nil)
	if r := b.send("POST", "/v1/notes", `{"content":"Prefers night trains."}`); r.status != 201 {
		t.Fatal(r.body)
	}
	const example = "2026-01-31T08:00:00Z"
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/v1/memories?as_of=TIME", ""},
		{"GET", "/v1/events?since=TIME", ""},
		{"GET", "/v1/events?until=TIME", ""},
		{"POST", "/v1/search", `{"query":"trains","since":"TIME"}`},
		{"POST", "/v1/recall", `{"topic":"trains","until":"TIME"}`},
		{"POST", "/v1/items/search", `{"namespace_prefix":[],"since":"TIME"}`},
		{"POST", "/v1/items/batch", `{"operations":[{"op":"search","namespace_prefix":[],"since":"TIME"}]}`},
		{"POST", "/v1/files/search", `{"query":"trains","since":"TIME"}`},
		{"POST", "/v1/sessions/search", `{"query":"trains","until":"TIME"}`},
	} {
		ask := func(at string) reply {
			return b.send(c.method, strings.ReplaceAll(c.path, "TIME", url.QueryEscape(at)), strings.ReplaceAll(c.body, "TIME", at))
		}
		for _, at := range []string{"2030-02-01", "2030-02-01T08:00", "2030-02-01T08:00:00+02:00", example} {
			if r := ask(at); r.status != 200 || strings.Contains(r.body, `"error"`) {
				t.Errorf("%s %s with %s: %d %s", c.method, c.path, at, r.status, r.body)
			}
		}
		for _, at := range []string{"yesterday", "2026-13-01", "1"} {
			r := ask(at)
			if !strings.Contains(r.body, example) || !strings.Contains(r.body, `"invalid"`) || strings.Contains(r.body, "2006-01-02") {
				t.Errorf("%s %s with %s: %d %s", c.method, c.path, at, r.status, r.body)
			}
		}
	}
	for path, holds := range map[string]bool{"/v1/memories?as_of=2020-02-01": false, "/v1/memories?as_of=2130-02-01": true,
		"/v1/events?since=2130-02-01": false, "/v1/events?until=2130-02-01": true} {
		if r := b.send("GET", path, ""); strings.Contains(r.body, `"version"`) != holds && strings.Contains(r.body, `"created"`) != holds {
			t.Errorf("%s: %s", path, r.body)
		}
	}
	if r := b.send("GET", "/v1/events?type=nothing", ""); r.status != 400 || !strings.Contains(r.body, "created, updated, confirmed") {
		t.Errorf("the types of events: %s", r.body)
	}
}
