package sqlite

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
)

// filesWith lists the files below dir that hold any of the byte strings.
func filesWith(t *testing.T, dir string, canaries [][]byte) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for i, c := range canaries {
			if at := bytes.Index(data, c); at >= 0 {
				found = append(found, fmt.Sprintf("%s: canary %d (%q…) at byte %d, page %d", filepath.Base(path), i, c[:min(8, len(c))], at, at/4096+1))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func canary(t *testing.T) string {
	t.Helper()
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

var testTenant = func() loci.Tenant {
	t, err := loci.NewTenant(DefaultTenant)
	if err != nil {
		panic(err)
	}
	return t
}()

// eraseRun stores, changes and erases records at random until pages have been split and merged
// many times. It returns what must not be found any more; the labels of namespaces come
// separately.
func eraseRun(t *testing.T, s *Store, seed uint64) (gone, labels [][]byte) {
	t.Helper()
	ctx := context.Background()
	rng := mrand.New(mrand.NewPCG(seed, 1))
	type kept struct {
		id       loci.ID
		version  int64
		place    loci.Namespace
		label    []byte // of its own; empty: it shares a namespace
		canaries [][]byte
	}
	var live []kept
	at := time.UnixMilli(1_700_000_000_000).UTC()
	record := func(id loci.ID, place loci.Namespace, version int64) (loci.Put, [][]byte) {
		text := ""
		mark := canary(t)
		for n := 1 + rng.IntN(20); n > 0; n-- {
			text += mark + " "
		}
		if rng.IntN(10) == 0 { // with overflow pages
			text = string(bytes.Repeat([]byte(mark+" "), 300))
		}
		row := make([]float32, 32)
		for i := range row {
			row[i] = rng.Float32()*2 - 1
		}
		slot := canary(t)
		r := loci.Record{
			ID:         id,
			Kind:       []loci.Kind{loci.KindFact, listedKind}[id[15]%2],
			Namespace:  place,
			Slot:       slot,
			Version:    version,
			Live:       true,
			CreatedAt:  at,
			UpdatedAt:  at,
			Text:       text,
			Passages:   []loci.Span{{Start: 0, End: len(text)}},
			Attributes: []byte(`{"m":"` + mark + `"}`),
		}
		return loci.Put{
				Record:    r,
				Vectors:   []loci.Vectors{{Space: loci.Space{Model: "m", Dims: 32}, Rows: [][]float32{row}}},
				Revisions: 3,
			},
			[][]byte{[]byte(mark), []byte(slot), vector.Quantize(row)}
	}
	apply := func(c loci.Change) {
		t.Helper()
		if err := s.Apply(ctx, testTenant, c); err != nil {
			t.Fatal(err)
		}
	}
	// The payload and the nonce of its event go with the record.
	event := func(id loci.ID, place loci.Namespace) ([]loci.Event, [][]byte) {
		payload, nonce := []byte(`{"p":"`+canary(t)+`"}`), make([]byte, 16)
		mustRead(t, nonce)
		return []loci.Event{
				{
					ID:        loci.NewID(),
					Type:      loci.EventCreated,
					Kind:      loci.KindFact,
					Entity:    id,
					Namespace: place,
					At:        at,
					Actor:     "a",
					Payload:   payload,
					Nonce:     nonce,
				},
			}, [][]byte{
				payload,
				nonce,
			}
	}
	for range 400 {
		switch n := rng.IntN(10); {
		case n < 5 || len(live) == 0:
			id := loci.NewID()
			if rng.IntN(2) == 0 {
				mustRead(t, id[:])
			}
			k := kept{id: id, version: 1, place: loci.Namespace{"u"}}
			if rng.IntN(2) == 0 { // one of its own, of any length
				own := canary(t)
				k.label = []byte(own)
				k.place = k.place.Child(own, strings.Repeat("x", 1+rng.IntN(200)))
			}
			put, canaries := record(id, k.place, 1)
			events, told := event(id, k.place)
			apply(loci.Change{Put: []loci.Put{put}, Events: events})
			k.canaries = slices.Concat(canaries, told)
			live = append(live, k)
		case n < 8:
			k := &live[rng.IntN(len(live))]
			k.version++
			put, canaries := record(k.id, k.place, k.version)
			events, told := event(k.id, k.place)
			apply(loci.Change{Put: []loci.Put{put}, Events: events})
			k.canaries = append(append(k.canaries, canaries...), told...)
		default:
			i := rng.IntN(len(live))
			gone = append(gone, live[i].canaries...)
			if len(live[i].label) > 0 {
				labels = append(labels, live[i].label)
			}
			f := s.files[testTenant]
			// Without waiting for the wiping each time: one at the end covers all.
			if err := f.do(ctx, &job{done: make(chan error, 1), more: rng.IntN(2) == 0, run: func(tx *tx) error {
				return tx.eraseAll([]loci.Erase{{ID: live[i].id, Version: live[i].version}}, nil)
			}}); err != nil {
				t.Fatal(err)
			}
			live = append(live[:i], live[i+1:]...)
		}
	}
	return gone, labels
}

func mustRead(t *testing.T, b []byte) {
	t.Helper()
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
}

// TestEraseLeavesNoBytes erases records in files whose pages were split and
// merged at random, and scans every file for what they said.
func TestEraseLeavesNoBytes(t *testing.T) {
	t.Parallel()
	for seed := range seeds(eraseSeeds) {
		dir := t.TempDir()
		s, err := Open(filepath.Join(dir, "x.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		gone, labels := eraseRun(t, s, seed)
		if gone = append(gone, labels...); len(labels) == 0 {
			t.Fatal("no label was to go")
		}
		f := s.files[testTenant]
		f.startScrub()
		<-f.scrub.done
		if found := filesWith(t, dir, gone); len(found) > 0 {
			t.Errorf("seed %d: of %d erased byte strings %d are still on disk, such as %s", seed, len(gone), len(found), found[0])
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if findings, err := reopenCheck(dir); err != nil || len(findings) > 0 {
			t.Errorf("seed %d: check after wiping: %v %v", seed, findings, err)
		}
	}
}

// seeds is how many random files a test makes; the long run makes ten times as many.
func seeds(n uint64) uint64 {
	if os.Getenv("LOCI_LONG") != "" {
		return 10 * n
	}
	return n
}

func reopenCheck(dir string) ([]string, error) {
	s, err := Open(filepath.Join(dir, "x.db"), nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	return s.Check(context.Background(), testTenant)
}

// TestEraseNeedsTheWiping shows that the test above would notice: without the wiping, copies
// stay in the gaps of pages.
func TestEraseNeedsTheWiping(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		dir := t.TempDir()
		s, err := Open(filepath.Join(dir, "x.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.acquire(context.Background(), testTenant)
		if err != nil {
			t.Fatal(err)
		}
		f.scrub.mu.Lock()
		f.scrub.stopped = true // no pass will start
		f.scrub.mu.Unlock()
		s.release(f)
		gone, labels := eraseRun(t, s, seed)
		if len(filesWith(t, dir, labels)) == 0 { // they are in the log, which the pass cuts
			t.Fatal("no leftovers of labels without wiping: the scan finds nothing that it should")
		}
		if err := f.truncateLog(context.Background()); err != nil {
			t.Fatal(err)
		}
		found := filesWith(t, dir, gone)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			return
		}
	}
	t.Error("no leftovers in 60 files without wiping: the scan finds nothing that it should")
}

// TestUnfinishedWipingGoesOn closes a store before anything was wiped, as a process that ends
// does. The next process that opens it does the wiping.
func TestUnfinishedWipingGoesOn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for seed := range uint64(60) {
		dir := t.TempDir()
		s, err := Open(filepath.Join(dir, "x.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.acquire(ctx, testTenant)
		if err != nil {
			t.Fatal(err)
		}
		f.scrub.mu.Lock()
		f.scrub.stopped = true
		f.scrub.mu.Unlock()
		s.release(f)
		gone, labels := eraseRun(t, s, seed)
		gone = append(gone, labels...)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if len(filesWith(t, dir, gone)) == 0 {
			continue // nothing was left by chance: this file proves nothing
		}
		if s, err = Open(filepath.Join(dir, "x.db"), nil); err != nil {
			t.Fatal(err)
		}
		if f, err = s.acquire(ctx, testTenant); err != nil {
			t.Fatal(err)
		}
		if err := f.awaitScrub(ctx, false); err != nil {
			t.Fatal(err)
		}
		s.release(f)
		if found := filesWith(t, dir, gone); len(found) > 0 {
			t.Errorf("seed %d: after opening again %d erased byte strings are still there, such as %s", seed, len(found), found[0])
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("no leftovers in 60 files without wiping")
}

// TestEraseWaitsForTheWiping: when an erase returns, nothing is left to wipe.
func TestEraseWaitsForTheWiping(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	for n := range erasesInARow {
		id := save(t, s, fmt.Sprint("note ", n))
		err := s.Apply(ctx, testTenant, loci.Change{Erase: []loci.Erase{{ID: id, Version: 1}}})
		if n%50 == 9 {
			save(t, s, "and all that is left")
			err = s.EraseTenant(ctx, testTenant)
		}
		if err != nil {
			t.Fatal(err)
		}
		var pending int64
		if err := s.files[testTenant].readRow(ctx, "SELECT value FROM meta WHERE key = 'scrub'", nil, &pending); err != nil {
			t.Fatal(err)
		}
		if pending != 0 {
			t.Fatalf("erase %d returned before its leftovers were wiped", n)
		}
	}
}

// Lists have few lengths: the powers of two.
func TestListsArePadded(t *testing.T) {
	t.Parallel()
	for n, want := range []int{0, 1, 2, 4, 4, 8, 8, 8, 8, 16} {
		values := make([]any, n)
		for i := range values {
			values[i] = i
		}
		got := padded(values)
		if len(got) != want {
			t.Errorf("of %d values it makes %d; want %d", n, len(got), want)
		}
		for i := n; i < len(got); i++ {
			if got[i] != n-1 {
				t.Errorf("of %d values the one at %d is %v; want the last", n, i, got[i])
			}
		}
	}
}
