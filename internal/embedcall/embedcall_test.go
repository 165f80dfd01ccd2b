package embedcall

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// counting embeds a text as its length.
type counting struct {
	dims  int
	mu    sync.Mutex // calls that nobody waits for any longer run beside later ones
	calls [][]string
	embed func(texts []string) ([][]float32, error) // nil: lengths
}

func (c *counting) Model() string { return "counting" }
func (c *counting) Dims() int     { return c.dims }

func (c *counting) Embed(_ context.Context, texts []string) ([][]float32, error) {
	c.mu.Lock()
	c.calls = append(c.calls, slices.Clone(texts))
	c.mu.Unlock()
	if c.embed != nil {
		return c.embed(texts)
	}
	rows := make([][]float32, len(texts))
	for i, text := range texts {
		rows[i] = []float32{float32(len(text)), 1}
	}
	c.dims = 2
	return rows, nil
}

func rows(n int, row ...float32) func([]string) ([][]float32, error) {
	return func([]string) ([][]float32, error) { return slices.Repeat([][]float32{row}, n), nil }
}

// TestVectorsAreChecked: nothing that does not fit the texts or the dimensions gets through.
func TestVectorsAreChecked(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for name, c := range map[string]struct {
		dims  int
		embed func([]string) ([][]float32, error)
		want  string
	}{
		"too few":     {2, rows(1, 1, 2), "returned 1 vectors for 2 texts"},
		"too many":    {2, rows(3, 1, 2), "returned 3 vectors for 2 texts"},
		"too short":   {2, rows(2, 1), "returned a vector of 1 dimensions; it promised 2"},
		"too long":    {2, rows(2, 1, 2, 3), "returned a vector of 3 dimensions; it promised 2"},
		"empty":       {0, rows(2), "returned a vector of 0 dimensions"},
		"beyond most": {MaxDims + 1, rows(2, make([]float32, MaxDims+1)...), "returned a vector of 4097 dimensions"},
		"no number":   {2, rows(2, 1, nan), "returned a vector that is not finite"},
		"infinite":    {2, rows(2, inf, 1), "returned a vector that is not finite"},
		"an error":    {2, func([]string) ([][]float32, error) { return nil, errors.New("busy") }, "busy"},
		"a panic":     {2, func([]string) ([][]float32, error) { panic("oops") }, "it panicked: oops"},
	} {
		_, err := For(&counting{dims: c.dims, embed: c.embed}).Vectors(t.Context(), []string{"a", "b"}, time.Minute)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	got, err := For(&counting{}).Vectors(t.Context(), []string{"a", "bb"}, time.Minute)
	if err != nil || len(got) != 2 || got[1][0] != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

// immediate is counting that waits for nothing.
type immediate struct{ counting }

func (*immediate) Immediate() {}

// An embedder that waits for nothing is not waited for: to hand its call to another goroutine costs
// more than the call. What it returns, and a panic, are as those of others.
func TestImmediate(t *testing.T) {
	e := &immediate{counting{dims: 2}}
	c := For(e)
	if n := testing.AllocsPerRun(100, func() { _, _ = c.Vectors(t.Context(), []string{"a"}, time.Minute) }); n > 8 {
		t.Errorf("a call allocates %v times", n)
	}
	e.embed = rows(1, 1)
	if _, err := c.Vectors(t.Context(), []string{"a"}, time.Minute); err == nil {
		t.Error("a vector that is too short was taken")
	}
	e.embed = func([]string) ([][]float32, error) { panic("oops") }
	if _, err := c.Vectors(t.Context(), []string{"a"}, time.Minute); err == nil || !strings.Contains(err.Error(), "it panicked: oops") {
		t.Errorf("a panic is %v", err)
	}
}

// TestInBatches: many texts are cut, and stay in order.
func TestInBatches(t *testing.T) {
	e := &counting{}
	var texts []string
	for n := range 2*Batch + 1 {
		texts = append(texts, strings.Repeat("x", n))
	}
	got, err := For(e).InBatches(t.Context(), texts)
	if err != nil || len(got) != len(texts) || len(e.calls) != 3 || len(e.calls[0]) != Batch || len(e.calls[2]) != 1 {
		t.Fatalf("%d rows of %d calls, %v", len(got), len(e.calls), err)
	}
	for n, row := range got {
		if int(row[0]) != n {
			t.Fatalf("row %d is %v", n, row)
		}
	}
}

func TestLearnDims(t *testing.T) {
	e := &counting{}
	c := For(e)
	for range 2 {
		if err := c.LearnDims(t.Context()); err != nil || e.Dims() != 2 || len(e.calls) != 1 {
			t.Errorf("%d dimensions after %d calls, %v", e.Dims(), len(e.calls), err)
		}
	}
}

// TestStuckCalls: a call that does not end costs its time limit; once many are stuck, later
// calls cost nothing.
func TestStuckCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := &counting{dims: 2, embed: func([]string) ([][]float32, error) { <-release; return nil, nil }}
		c, begun := For(e), time.Now()
		var err error
		for range 20 {
			_, err = c.Vectors(t.Context(), []string{"a"}, time.Second)
		}
		if took := time.Since(begun); took != 16*time.Second {
			t.Errorf("20 calls took %v", took)
		}
		if want := "embedder counting has 16 calls under way that do not end"; err == nil || err.Error() != want {
			t.Errorf("the error is %v", err)
		}
		close(release)
		synctest.Wait()
	})
}

// asking can do more than counting.
type asking struct {
	counting
	known float64
	row   []float32
}

func (a *asking) Knows(string) float64 { return a.known }

func (a *asking) EmbedQuery(context.Context, string) ([]float32, error) { return a.row, nil }

func (a *asking) EmbedWeighed(_ string, weight func(string) float64) []float32 {
	return []float32{float32(weight("a")), 1}
}

func TestQuery(t *testing.T) {
	plain := &counting{}
	if row, known, err := For(plain).Query(t.Context(), "abc"); err != nil || known != 1 || row[0] != 3 {
		t.Errorf("of an embedder that knows nothing else: %v, %v, %v", row, known, err)
	}
	able := &asking{counting: counting{dims: 2}, known: 0.5, row: []float32{7, 8}}
	if row, known, err := For(able).Query(t.Context(), "abc"); err != nil ||
		known != 0.5 || row[0] != 7 || len(able.calls) > 0 {
		t.Errorf("%v, %v, %v", row, known, err)
	}
	for _, known := range []float64{-0.1, 1.1, math.NaN()} {
		able.known = known
		if _, _, err := For(able).Query(t.Context(), "abc"); err == nil || !strings.Contains(err.Error(), "it must be 0 to 1") {
			t.Errorf("knows %v: %v", known, err)
		}
	}
	able.known, able.row = 1, []float32{7}
	if _, _, err := For(able).Query(t.Context(), "abc"); err == nil {
		t.Error("a short vector got through")
	}
}

// TestReweigh: weighing gives up rather than fail, since the vector without weights is there.
func TestReweigh(t *testing.T) {
	if For(&counting{}).Reweigh("abc") != nil {
		t.Error("an embedder without weights has some")
	}
	again := For(&asking{counting: counting{dims: 2}}).Reweigh("abc")
	if row := again(func(string) float64 { return 0.5 }); len(row) != 2 || row[0] != 0.5 {
		t.Errorf("the row is %v", row)
	}
	if row := again(func(string) float64 { return math.NaN() }); row != nil {
		t.Errorf("without a number: %v", row)
	}
	if row := again(func(string) float64 { panic("oops") }); row != nil {
		t.Errorf("after a panic: %v", row)
	}
}

// TestInPassing: a write that must not wait gets the vectors of whole items, a few a call,
// until its patience ends. An embedder that fails rests, and is asked again later.
func TestInPassing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &counting{dims: 2}
		c := For(e)
		many := slices.Repeat([]string{"a"}, 20)
		items := [][]string{{"a", "bb"}, {}, {"ccc"}, many, {"dddd"}}
		made, complete, err := c.InPassing(t.Context(), items)
		if err != nil || !complete || len(made) != len(items) {
			t.Fatalf("%d items, %v, %v", len(made), complete, err)
		}
		for i, item := range items {
			if len(made[i]) != len(item) {
				t.Errorf("item %d has %d rows for %d texts", i, len(made[i]), len(item))
			}
		}
		if made[4][0][0] != 4 {
			t.Errorf("the rows of another item: %v", made[4])
		}
		for _, call := range e.calls {
			if len(call) > passingBatch && len(call) != len(many) {
				t.Errorf("a call of %d texts", len(call))
			}
		}

		slow := 0
		e.embed = func(texts []string) ([][]float32, error) {
			slow++
			time.Sleep(passingPatience * 2 / 3)
			return rows(len(texts), 1, 2)(texts)
		}
		made, complete, err = c.InPassing(t.Context(), [][]string{many, many, many})
		if complete || len(made) != 1 || err == nil {
			t.Errorf("%d items in time, complete: %v, %v", len(made), complete, err)
		}
		synctest.Wait() // for the call that was given up
		asked := slow
		made, complete, err = c.InPassing(t.Context(), items)
		if complete || len(made) != 0 || err != nil || slow != asked {
			t.Errorf("an embedder that rests was asked: %d items, %v, %v", len(made), complete, err)
		}
		time.Sleep(passingRest)
		synctest.Wait()
		e.embed = nil
		if _, complete, err = c.InPassing(t.Context(), items); !complete || err != nil {
			t.Errorf("after its rest: %v, %v", complete, err)
		}
	})
}
