package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cores"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/tree"
)

// While a large directory is moved, and while it is deleted, others go on to write, and
// nothing of either is lost. With -v it shows how long each write waited; LOCI_LONG=1 takes
// 100,000 files.
func TestWritesBesideALargeDirectory(t *testing.T) {
	defer cores.Spare()() // as a server does
	files := locitest.Long(1_000, 100_000)
	b := newBench(t, locitest.OpenSQLite(t), nil)
	m := locitest.Bind(t, b.engine, "user", "a.b@example.org")
	filed := fillDirectory(t, m, "/many", files)
	saved := 0
	for _, c := range []struct{ name, method, path, body string }{
		{"a move", http.MethodPost, "/v1/files/move", `{"path":"/many","target_path":"/moved"}`},
		{"a delete", http.MethodDelete, "/v1/files?path=/moved", ""},
	} {
		done := make(chan time.Duration, 1)
		requests := 0
		go func() {
			begin := time.Now()
			const again = http.StatusServiceUnavailable
			for status := again; status == again; requests++ {
				if status = statusOf(t, b, c.method, c.path, c.body); status >= 300 && status != again {
					t.Errorf("%s: %d", c.name, status)
				}
			}
			done <- time.Since(begin)
		}()
		var waits []time.Duration
		var took time.Duration
		for took == 0 {
			begin := time.Now()
			saved++
			r := b.send(http.MethodPost, "/v1/notes", fmt.Sprintf(`{"content":"note number %d"}`, saved))
			if r.status != http.StatusCreated {
				t.Fatalf("beside %s: %d %s", c.name, r.status, r.body)
			}
			waits = append(waits, time.Since(begin))
			select {
			case took = <-done:
			default:
			}
		}
		slices.Sort(waits)
		t.Logf("%s of %d files took %v in %d requests", c.name, files, took.Round(time.Millisecond), requests)
		t.Logf("of %d writes beside it the median waited %v, 99 of 100 at most %v, the longest %v",
			len(waits), waits[len(waits)/2], waits[len(waits)*99/100], waits[len(waits)-1])
		if left := b.send(http.MethodGet, "/v1/files?path=/many", ""); !strings.Contains(left.body, `"files":[]`) {
			t.Errorf("after %s: %.200s", c.name, left.body)
		}
	}
	notes := loci.Filter{Within: []loci.Namespace{m.Namespace()}, Kinds: []loci.Kind{loci.KindFact}}
	if counts, err := m.Count(t.Context(), notes); err != nil || counts.Records != int64(saved) {
		t.Errorf("%d of %d notes are there, %v", counts.Records, saved, err)
	}
	if counts, bytes, err := filed.Totals(t.Context()); err != nil || counts != (tree.Counts{}) || bytes != 0 {
		t.Errorf("%+v with %d bytes are left, %v", counts, bytes, err)
	}
}

// statusOf is what a request is answered with. One that takes longer than a request may is
// answered with 503, and goes on when it is made again.
func statusOf(t *testing.T, b *bench, method, path, body string) int {
	request, err := http.NewRequestWithContext(t.Context(), method, b.URL+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := b.Client().Do(request)
	if err != nil {
		t.Error(err)
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// fillDirectory makes a directory of so many small files.
func fillDirectory(t *testing.T, m *loci.Memory, dir string, files int) *tree.Tree {
	t.Helper()
	filed, err := tree.Of(m, "", "")
	if err != nil {
		t.Fatal(err)
	}
	all := make([]tree.FileContent, files)
	for i := range all {
		all[i] = tree.FileContent{Path: fmt.Sprintf("%s/%06d.md", dir, i), Content: "a line\na line\na line\n"}
	}
	for part := range slices.Chunk(all, 500) {
		if _, err := filed.WriteAll(t.Context(), part, nil); err != nil {
			t.Fatal(err)
		}
	}
	return filed
}
