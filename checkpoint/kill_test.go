//go:build !race

// What a process that is killed leaves behind has nothing to do with races, and `make test` runs it without their detector.

package checkpoint_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/sqlite"
)

// killedCopy names the directory of a store in which a process of this test copies a thread in parts until it is killed.
const killedCopy = "LOCI_TEST_KILLED_COPY"

// TestCopyOfAKilledProcess: of a copy whose process is killed at any moment, between parts or in the middle of one, the
// parts that were acknowledged are there, nobody can take it for a thread, and the next call copies the rest.
func TestCopyOfAKilledProcess(t *testing.T) {
	open := func(dir string) (*loci.Memory, *sqlite.Store) {
		s, err := sqlite.Open(filepath.Join(dir, "x"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u"), s
	}
	if dir := os.Getenv(killedCopy); dir != "" {
		m, _ := open(dir)
		for {
			p, err := checkpoint.Of(m).CopyThreadFrom(t.Context(), "t", "copy", 11)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Printf("\ncopied %d\n", p.Checkpoints); p.Next == "" {
				return
			}
		}
	}
	dir := t.TempDir()
	m, s := open(dir)
	const checkpoints = 60
	locitest.CheckpointHistory(t, m, "t", "", checkpoints, locitest.PlainState)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	unfinished := 0
	for round := range 12 {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCopyOfAKilledProcess$")
		child.Env = append(os.Environ(), killedCopy+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		acked, parts, most := 0, 0, rand.IntN(25)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if n, _ := fmt.Sscanf(lines.Text(), "copied %d", &acked); n == 1 {
				if parts++; parts > most {
					time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
					_ = child.Process.Kill()
				}
			}
		}
		_ = child.Wait()
		m, s := open(dir)
		before := stored(t, m, s)[checkpoint.Kind] - checkpoints
		if before < int64(acked) {
			t.Fatalf("round %d: %d checkpoints were acknowledged, %d are there", round, acked, before)
		}
		if _, err := checkpoint.Of(m).Get(t.Context(), "copy", "", ""); err != nil {
			locitest.WantCode(t, err, loci.Conflict)
			unfinished++
		}
		if n, err := checkpoint.Of(m).CopyThread(t.Context(), "t", "copy"); err == nil && n != checkpoints {
			t.Errorf("round %d: %d checkpoints are copied", round, n)
		} else if err != nil {
			locitest.WantCode(t, err, loci.Conflict) // it had ended
		}
		wantCopy(t, m, "t", "copy")
		if n, err := checkpoint.Of(m).DeleteThread(t.Context(), "copy"); n != checkpoints || err != nil {
			t.Errorf("round %d: %d were deleted, %v", round, n, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if unfinished == 0 {
		t.Error("no copy was stopped")
	}
}
