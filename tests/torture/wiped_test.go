package torture

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// TestKillLeavesNothingOfWhatWasErased kills a process that writes to a large file, again and again. The next process
// knows from the file and its log which pages may have something to wipe, and does not look at the others. Nothing is
// left of what was ever said by a note whose deletion was acknowledged, neither when the next process has wiped nor
// when it has closed the file, and the one after it knows the pages, too.
func TestKillLeavesNothingOfWhatWasErased(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "loci.db")
	s, m, err := openMemory("sqlite:" + path)
	if err != nil {
		t.Fatal(err)
	}
	var own []loci.ID
	for n := range 700 {
		stored, err := m.StoreFact(t.Context(), loci.NewFact{Content: fmt.Sprint("filler ", n, strings.Repeat(" and more", 900))})
		if err != nil {
			t.Fatal(err)
		}
		own = append(own, stored.ID)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	l := &ledger{notes: map[loci.ID]*state{}, saved: map[string]bool{}, named: map[loci.ID][]string{}}
	l.later = true // it reads all notes before it writes one
	for i := range min(*cycles, 24) {
		cycle(t, "sqlite:"+path, false, l)
		s, m, err := openMemory("sqlite:" + path)
		if err != nil {
			t.Fatal(err)
		}
		if i%4 != 3 { // else it is only opened, and closed
			if err := m.EraseFact(t.Context(), own[i]); err != nil {
				t.Fatal(err)
			}
		}
		leaves(t, path, l.erased, i)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		leaves(t, path, l.erased, i)
		if i%3 == 2 {
			if s, m, err = openMemory("sqlite:" + path); err != nil {
				t.Fatal(err)
			}
			if err := m.EraseFact(t.Context(), own[100+i]); err != nil {
				t.Fatal(err)
			}
			leaves(t, path, l.erased, i)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(l.erased) < 20 {
		t.Errorf("only %d texts were erased: the test shows little", len(l.erased))
	}
}

// leaves requires that a file and its log have none of some texts. What was erased right before may be wiped behind the
// answer, on a machine that is busy.
func leaves(t *testing.T, path string, erased []string, cycle int) {
	t.Helper()
	found := ""
	for range 600 {
		found = ""
		for _, end := range []string{"", "-wal"} {
			data, err := os.ReadFile(path + end)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			for _, name := range erased {
				if bytes.Contains(data, []byte(name+" begins.")) {
					found = name + " in " + filepath.Base(path+end)
				}
			}
		}
		if found == "" {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("cycle %d: there is still %s", cycle, found)
}
