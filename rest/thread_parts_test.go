package rest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// largeThread is a thread of one checkpoint with so many writes.
func (b *bench) largeThread(thread string, writes int) {
	b.t.Helper()
	checkpoint := `{"thread_id":"` + thread + `","checkpoint_id":"1","checkpoint":{"type":"json","data":"e30="},"metadata":{"run_id":"r"}}`
	if r := b.send("PUT", "/v1/checkpoints", checkpoint); r.status != 204 {
		b.t.Fatal(r.body)
	}
	for i := 0; i < writes; i += 5000 {
		var list []string
		for j := range min(5000, writes-i) {
			list = append(list, fmt.Sprintf(`{"task_id":"a","idx":%d,"channel":"x","value":{"type":"b","data":""}}`, i+j))
		}
		body := `{"thread_id":"` + thread + `","checkpoint_id":"1","writes":[` + strings.Join(list, ",") + `]}`
		if r := b.send("POST", "/v1/checkpoints/writes", body); r.status != 204 {
			b.t.Fatalf("%d %.300s", r.status, r.body)
		}
	}
}

// TestThreadsInParts: whoever prefers parts is told where to go on; whoever does not know of them is told with an error
// that more is left, and never that all is done.
func TestThreadsInParts(t *testing.T) {
	b := newBench(t, locitest.OpenMemory(), nil) // package checkpoint asks the other stores
	const writes = 11_000
	for name, c := range map[string]struct{ method, path, body string }{
		"prune":  {"POST", "/v1/checkpoints/prune", `{"thread_ids":["t"],"strategy":"delete"%s}`},
		"runs":   {"POST", "/v1/checkpoints/delete_for_runs", `{"run_ids":["r"]%s}`},
		"delete": {"DELETE", "/v1/threads/t/checkpoints", ""},
		"copy":   {"POST", "/v1/checkpoints/copy", `{"thread_id":"t","target_thread_id":"copy"%s}`},
	} {
		b.largeThread("t", writes)
		copies := name == "copy"
		body := func(more string) string {
			if c.body == "" {
				return ""
			}
			return fmt.Sprintf(c.body, more)
		}
		for _, accepts := range []string{"Prefer: return=minimal, Parts; x=1", "Prefer: respond-async"} {
			round := map[bool]string{true: "parts", false: "errors"}[strings.Contains(accepts, "Parts")]
			if round == "errors" && !copies {
				b.largeThread("t", writes)
			}
			if round == "errors" && copies {
				for b.send("POST", "/v1/checkpoints/prune", `{"thread_ids":["copy"],"strategy":"delete"}`).status != 200 {
				}
			}
			path, given, parts := c.path, body(""), 0
			for {
				parts++
				r := b.send(c.method, path, given, accepts)
				if copies && round == "parts" && parts == 1 {
					if got := b.send("POST", "/v1/checkpoints/get", `{"thread_id":"copy"}`); got.status != 409 || !strings.Contains(got.body, "has not ended") {
						t.Errorf("%s: an unfinished copy is read: %d %s", name, got.status, got.body)
					}
				}
				var done struct {
					Erased, Copied int
					Next           string `json:"next_cursor"`
					Code, Recovery string
				}
				if err := json.Unmarshal([]byte(r.body), &done); err != nil {
					t.Fatal(err)
				}
				if round == "errors" && r.status == 413 {
					if done.Code != "too_large" || !strings.Contains(done.Recovery, "same call again") || parts > 9 {
						t.Fatalf("%s: %s", name, r.body)
					}
					continue
				}
				if r.status != 200 || round == "errors" && done.Next != "" {
					t.Fatalf("%s, %s, part %d: %d %s", name, round, parts, r.status, r.body)
				}
				if done.Next == "" {
					if copies && done.Copied != 1 {
						t.Errorf("%s: %s", name, r.body)
					}
					break
				}
				if given = body(`,"cursor":"` + done.Next + `"`); c.body == "" {
					path = c.path + "?cursor=" + done.Next
				}
			}
			if parts < 2 {
				t.Errorf("%s, %s: %d parts", name, round, parts)
			}
			thread := map[bool]string{true: "copy", false: "t"}[copies]
			got := b.send("POST", "/v1/checkpoints/get", `{"thread_id":"`+thread+`"}`)
			if want := map[bool]int{true: 200, false: 404}[copies]; got.status != want {
				t.Errorf("%s, %s: then the thread is %d %.200s", name, round, got.status, got.body)
			}
			if n := strings.Count(got.body, `"task_id"`); copies && n != writes {
				t.Errorf("%s: %d writes are copied", name, n)
			}
		}
		for b.send("POST", "/v1/checkpoints/prune", `{"thread_ids":["copy","t"],"strategy":"delete"}`).status != 200 {
		}
	}
}

// TestLargeThreadAsAMemory: a request that deletes a memory does a part of a large thread, too, and says so.
func TestLargeThreadAsAMemory(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		b := newBench(t, s, nil)
		b.largeThread("t", 11_000)
		var page struct{ Memories []struct{ ID string } }
		if err := json.Unmarshal([]byte(b.send("GET", "/v1/memories?kind=thread", "").body), &page); err != nil || len(page.Memories) != 1 {
			t.Fatalf("%v, %v", page, err)
		}
		remove := func() reply {
			return b.send("DELETE", "/v1/memories/"+page.Memories[0].ID, "", "Idempotency-Key: k")
		}
		if r := remove(); r.status != 413 || !strings.Contains(r.body, "more is left") {
			t.Fatalf("%d %s", r.status, r.body)
		}
		for range 2 { // the second time it is answered as the first
			if r := remove(); r.status != 204 {
				t.Errorf("%d %s", r.status, r.body)
			}
		}
	})
}
