// Package generations changes the embedder under running processes, kills them in
// the middle, and looks at what search says meanwhile.
package generations

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store"
)

// The test binary is its own child: with these variables set it builds the
// generation of the model in the store and prints a line a step, then its report.
const (
	childEnv = "LOCI_GENERATIONS_STORE"
	modelEnv = "LOCI_GENERATIONS_MODEL"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childEnv); url != "" {
		if err := child(url, os.Getenv(modelEnv)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A mirrored embedder is the lexical one with its dimensions in reverse order:
// whoever mixes the two spaces finds nothing.
type mirrored struct{ *embedding.Lexical }

func (mirrored) Model() string { return "mirrored-1" }

func (m mirrored) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	rows, err := m.Lexical.Embed(ctx, texts)
	for _, row := range rows {
		slices.Reverse(row)
	}
	return rows, err
}

func embedderFor(s loci.Space) (loci.Embedder, error) {
	if s.Model == "mirrored-1" {
		return mirrored{embedding.NewLexical()}, nil
	}
	return embedding.Config{}.ForSpace(s)
}

var models = []string{"lexical-1", "mirrored-1"}

var tenant = func() loci.Tenant {
	t, err := loci.NewTenant("default")
	if err != nil {
		panic(err)
	}
	return t
}()

func open(url, model string) (loci.Store, *loci.Engine, error) {
	s, err := store.Open(context.Background(), url, nil)
	if err != nil {
		return nil, nil, err
	}
	e, err := embedderFor(loci.Space{Model: model, Dims: embedding.NewLexical().Dims()})
	if err != nil {
		return nil, nil, err
	}
	engine, err := loci.New(s, &loci.Options{Features: locitest.Features(), Embedder: e, EmbedderFor: embedderFor})
	return s, engine, err
}

func child(url, model string) error {
	s, e, err := open(url, model)
	if err != nil {
		return err
	}
	report, err := e.Reindex(context.Background(), tenant,
		&loci.ReindexOptions{Progress: func(done, _ int64) { fmt.Println(done) }})
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		return err
	}
	return s.Close()
}

// run starts a child; with a kill time it ends the child after that time. A child that was
// killed has no report.
func run(t *testing.T, url, model string, kill time.Duration) (steps int, report *loci.ReindexReport) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+url, modelEnv+"="+model)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewReader(out); ; steps++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if steps == 0 && kill > 0 { // from the first step on, any moment
			time.AfterFunc(kill, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		}
		if bytes.HasPrefix(line, []byte("{")) {
			report = &loci.ReindexReport{}
			if err := json.Unmarshal(line, report); err != nil {
				t.Fatal(err)
			}
		}
	}
	switch err := cmd.Wait(); {
	case kill > 0 && err != nil && strings.Contains(err.Error(), "killed"):
		return steps, report
	case err != nil:
		t.Fatalf("child: %v", err)
	}
	return steps, report
}

const notes = 2000

func note(n int) string { return fmt.Sprintf("Note%d says thing%d about place%d.", n, n*7, n%13) }

// fill stores the notes with the first model, many in each commit.
func fill(t *testing.T, url string) {
	t.Helper()
	source, e, err := open("memory:", models[0])
	if err != nil {
		t.Fatal(err)
	}
	m := bind(t, e)
	for n := range notes {
		if _, err := m.StoreFact(t.Context(), loci.NewFact{Content: note(n)}); err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	if _, err := m.Export(t.Context(), &file, nil); err != nil {
		t.Fatal(err)
	}
	s, e, err := open(url, models[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bind(t, e).Import(t.Context(), &file, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), source.Close()); err != nil {
		t.Fatal(err)
	}
}

func bind(t *testing.T, e *loci.Engine) *loci.Memory {
	t.Helper()
	m, err := e.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "u"}, Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// verify requires that everything is found by similarity, whatever the embedder of the process
// that asks, and returns the active space.
func verify(t *testing.T, url string, check bool) loci.Space {
	t.Helper()
	for _, model := range models {
		s, e, err := open(url, model)
		if err != nil {
			t.Fatal(err)
		}
		active, err := s.ActiveSpace(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		if missing, err := s.Unembedded(t.Context(), tenant, active, loci.ID{}, 10); len(missing) > 0 || err != nil {
			t.Errorf("memories lack vectors of the active space %s: %d or more, %v", active, len(missing), err)
		}
		for range 5 {
			want := note(rand.IntN(notes))
			r, err := bind(t, e).Search(t.Context(), loci.Query{Text: want, Mode: loci.Semantic, Limit: 1})
			if err != nil || len(r.Matches) != 1 || r.Matches[0].Record.Text != want ||
				r.Matches[0].Explain.Similarity < 0.99 {
				t.Errorf("as %s, active %s: %q is not found: %+v, %v", model, active, want, r.Matches, err)
			}
		}
		if check {
			if found, err := s.Check(t.Context(), tenant); len(found) > 0 || err != nil {
				t.Errorf("check: %v, %v", found, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if model == models[1] {
			return active
		}
	}
	return loci.Space{}
}

// TestKilledReindexGoesOn kills the process that builds a generation at any moment, the switch
// and the drop of the old one included. The searched generation is whole all the time, and
// vectors that were made are not made again.
func TestKilledReindexGoesOn(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "loci.db")
	fill(t, url)
	begun := time.Now()
	run(t, url, models[1], 0)
	whole := time.Since(begun)
	target, killed, resumed, since := 0, 0, 0, int64(0)
	for cycle := 0; cycle < 20 || cycle < 200 && (killed == 0 || resumed == 0); cycle++ {
		steps, report := run(t, url, models[target], 1+rand.N(whole))
		active := verify(t, url, cycle%10 == 9)
		if report == nil {
			killed++
			since += int64(steps)
			whole += whole / 8 // the machine may be slower than it was, or faster
			continue
		}
		whole -= whole / 4
		if active.Model != models[target] {
			t.Fatalf("it ended well and %s is searched", active)
		}
		if since > 0 && report.Embedded < notes {
			resumed++
		}
		target, since = 1-target, 0
	}
	t.Logf("%d killed, %d went on where another was killed", killed, resumed)
	if killed == 0 || resumed == 0 {
		t.Errorf("%d killed, %d resumed: nothing was shown", killed, resumed)
	}
	_, report := run(t, url, models[target], 0)
	if active := verify(t, url, true); report == nil || active.Model != models[target] {
		t.Errorf("in the end %s is searched: %+v", active, report)
	}
	s, _, err := open(url, models[target])
	if err != nil {
		t.Fatal(err)
	}
	spaces, err := s.Spaces(t.Context(), tenant)
	if err != nil || len(spaces) != 1 {
		t.Errorf("old vectors are left: %v, %v", spaces, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestProcessesReindexAtOnce runs several processes that build the same generation, while this
// one, with the old configuration, writes and searches.
func TestProcessesReindexAtOnce(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "loci.db")
	fill(t, url)
	s, e, err := open(url, models[0])
	if err != nil {
		t.Fatal(err)
	}
	m := bind(t, e)
	reports := make(chan *loci.ReindexReport)
	for range 3 {
		go func() {
			var report *loci.ReindexReport
			defer func() { reports <- report }() // also when run ends the test
			_, report = run(t, url, models[1], 0)
		}()
	}
	switched := false
	for written, ended := 0, 0; ended < 3; written++ {
		select {
		case report := <-reports:
			ended++
			switched = switched || report != nil && report.Switched
		default:
		}
		text := fmt.Sprintf("Written%d meanwhile%d.", written, written*3)
		if _, err := m.StoreFact(t.Context(), loci.NewFact{Content: text}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{text, note(rand.IntN(notes))} {
			r, err := m.Search(t.Context(), loci.Query{Text: want, Mode: loci.Semantic, Limit: 1})
			if err != nil || len(r.Matches) != 1 || r.Matches[0].Record.Text != want ||
				r.Matches[0].Explain.Similarity < 0.99 {
				t.Fatalf("%q is not found: %+v, %v", want, r.Matches, err)
			}
		}
	}
	if active := verify(t, url, true); !switched || active.Model != models[1] {
		t.Errorf("active is %s", active)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
