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

// TestRunsOfALargeGraph: in a graph that names so many values that they go by lists, a run goes in parts, and what the
// checkpoints of others name stays.
func TestRunsOfALargeGraph(t *testing.T) {
	b := newBench(t, locitest.OpenMemory(), nil)
	const channels, checkpoints = 6000, 8 // 48,000 names of values: a call that sees all at once takes 40,000
	parent := ""
	for i := range checkpoints {
		var versions, values []string
		for ch := range channels {
			versions = append(versions, fmt.Sprintf(`"c%d":"%d"`, ch, i/2))
			if i%2 == 0 {
				values = append(values, fmt.Sprintf(`"c%d":{"type":"b","data":""}`, ch))
			}
		}
		body := fmt.Sprintf(`{"thread_id":"t","checkpoint_id":"%d"%s,"checkpoint":{"type":"json","data":"e30="},"metadata":{"run_id":"r%d"},
			"channel_versions":{%s},"channel_values":{%s}}`, i, parent, i/4, strings.Join(versions, ","), strings.Join(values, ","))
		if r := b.send("PUT", "/v1/checkpoints", body); r.status != 204 {
			t.Fatalf("%d %.300s", r.status, r.body)
		}
		parent = fmt.Sprintf(`,"parent_checkpoint_id":"%d"`, i)
	}
	for run, left := range []int{channels, 0} {
		erased, parts, cursor := 0, 0, ""
		for more := true; more; more = cursor != "" {
			r := b.send("POST", "/v1/checkpoints/delete_for_runs", fmt.Sprintf(`{"run_ids":["r%d"],"cursor":"%s"}`, run, cursor), "Prefer: parts")
			var done struct {
				Erased int
				Next   string `json:"next_cursor"`
			}
			if err := json.Unmarshal([]byte(r.body), &done); err != nil || r.status != 200 {
				t.Fatalf("run %d, part %d: %d %s", run, parts, r.status, r.body)
			}
			erased, parts, cursor = erased+done.Erased, parts+1, done.Next
		}
		if erased != checkpoints/2 || parts < 2 {
			t.Errorf("of run %d went %d checkpoints in %d parts", run, erased, parts)
		}
		got := b.send("POST", "/v1/checkpoints/get", `{"thread_id":"t"}`)
		if n := strings.Count(got.body, `"type":"b"`); n != left {
			t.Errorf("behind run %d the latest has %d values: %d %.200s", run, n, got.status, got.body)
		}
	}
}
