package processes

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/store/mongo"
	"github.com/loci-memory/loci/store/postgres"
)

// popperEnv makes the test binary a child that takes messages: of each session that it reads
// the name of, half of them at once, and prints what it took.
const popperEnv = "LOCI_PROCESSES_POPS"

const pops = 10 // of a round, by both processes

func popper(url string) error {
	s, err := store.Open(context.Background(), url, nil)
	if err != nil {
		return err
	}
	m, err := bind(s, "pops", "")
	if err != nil {
		return err
	}
	for names := bufio.NewScanner(os.Stdin); names.Scan(); {
		took, failed := make([]string, pops/2), make([]error, pops/2)
		var all sync.WaitGroup
		for i := range took {
			all.Go(func() {
				got, err := session.Of(m).Pop(context.Background(), names.Text())
				if failed[i] = err; err == nil && got.Message != nil {
					took[i] = got.Message.Text()
				}
			})
		}
		all.Wait()
		if err := errors.Join(failed...); err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(took); err != nil {
			return err
		}
	}
	return s.Close()
}

// TestTenPopsFromTwoProcesses: ten callers in two processes take a message each of a
// conversation of ten at the same moment. Each gets another one, and none is left.
func TestTenPopsFromTwoProcesses(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { popTogether(t, "sqlite:"+filepath.Join(t.TempDir(), "loci.db")) })
	t.Run("postgres", func(t *testing.T) {
		d := pgtest.Shared(t).NewDatabase(t)
		if _, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{Role: d.Role}); err != nil {
			t.Fatal(err)
		}
		popTogether(t, d.Server)
	})
	t.Run("mongodb", func(t *testing.T) {
		url := mongotest.Shared(t).Database()
		if _, err := mongo.Migrate(t.Context(), url, false); err != nil {
			t.Fatal(err)
		}
		popTogether(t, url)
	})
}

func popTogether(t *testing.T, url string) {
	s, m, err := open(url, "pops", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	poppers := []*child{startPopper(t, url), startPopper(t, url)}
	for n := range locitest.Long(4, 100) {
		name := fmt.Sprint("s", n)
		var said []session.Message
		var want []string
		for i := range pops {
			want = append(want, fmt.Sprint(i))
			said = append(said, locitest.Spoken(session.MessageHuman, want[i]))
		}
		locitest.AppendTo(t, m, name, said...)
		for _, p := range poppers {
			if _, err := fmt.Fprintln(p.in, name); err != nil {
				t.Fatal(err)
			}
		}
		var took []string
		for _, p := range poppers {
			var some []string
			if err := p.out.Decode(&some); err != nil {
				t.Fatal(err)
			}
			took = append(took, some...)
		}
		slices.Sort(took)
		left, err := session.Of(m).Session(t.Context(), name)
		if err != nil || left.Messages != 0 || !slices.Equal(took, want) {
			t.Fatalf("round %d: took %q, %d are left, %v", n, took, left.Messages, err)
		}
	}
}

// A child is a popper and its ends.
type child struct {
	in  io.WriteCloser
	out *json.Decoder
}

func startPopper(t *testing.T, url string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), popperEnv+"="+url)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	return &child{in, json.NewDecoder(out)}
}
