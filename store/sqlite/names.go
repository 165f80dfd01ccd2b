package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci"
)

// unnamed begins the key of a namespace whose name is gone. No namespace has two empty
// labels.
const unnamed = "\x00\x00"

// place is a namespace as the file knows it.
type place struct {
	n     int64
	mark  loci.Mark
	named bool // its name is in the file
}

// place finds or makes the row of a namespace. named: a record is about to be there,
// so that the name comes into the file.
func (t *tx) place(n loci.Namespace, named bool) (p place, err error) {
	key := n.Key()
	if p, ok := t.places[key]; ok && (p.named || !named) {
		return p, nil
	}
	p = place{mark: t.names.Mark(n)}
	var have []byte
	err = t.row("SELECT n, key FROM namespace WHERE mark = ?", []any{[]byte(p.mark)}, &p.n, &have)
	name := key
	if p.named = named || key == ""; !p.named {
		name = unnamed + string(p.mark)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = t.row("INSERT INTO namespace (key, mark) VALUES (?, ?) RETURNING n",
			[]any{[]byte(name), []byte(p.mark)}, &p.n)
	case err != nil:
	case string(have) == key:
		p.named = true
	case named:
		if err = t.exec("UPDATE namespace SET key = ? WHERE n = ?", []byte(key), p.n); err == nil {
			err = t.namesChanged()
		}
	}
	if err == nil {
		t.places[key] = p
	}
	return p, err
}

// namesChanged lets the others know that what they remember of namespaces is out of date.
func (t *tx) namesChanged() error {
	t.unhanded++
	return t.row("UPDATE meta SET value = value + 1 WHERE key = 'names' RETURNING value", nil, &t.named)
}

// unname takes the names of the namespaces from the file that the job may have left
// without a record.
func (t *tx) unname() error {
	for n := range t.left {
		var key, mark []byte
		err := t.row(`SELECT key, mark FROM namespace
			WHERE n = ?1 AND NOT EXISTS (SELECT 1 FROM record WHERE namespace = ?1)`, []any{n}, &key, &mark)
		if errors.Is(err, sql.ErrNoRows) || err == nil && len(mark) == 0 { // the whole tenant has no name to lose
			continue
		}
		if err == nil {
			err = t.exec("UPDATE namespace SET key = ? WHERE n = ?", append([]byte(unnamed), mark...), n)
		}
		if err == nil {
			err = t.namesChanged()
		}
		if err != nil {
			return err
		}
		delete(t.places, string(key))
	}
	return nil
}

// eventsWithin restricts events to places and below them, by their marks.
func (c *conditions) eventsWithin(places []loci.Namespace, names loci.NameKey) {
	var either []string
	var args []any
	for _, n := range places {
		mark := []byte(names.Mark(n))
		if len(mark) == 0 {
			c.add("TRUE") // the whole tenant
			return
		}
		if end := after(mark); end != nil {
			either, args = append(either, "mark >= ? AND mark < ?"), append(args, mark, end)
		} else { // nothing sorts behind it
			either, args = append(either, "mark >= ?"), append(args, mark)
		}
	}
	if len(either) == 0 {
		c.add("FALSE")
		return
	}
	c.add("e.namespace IN (SELECT n FROM namespace WHERE "+strings.Join(either, " OR ")+")", args...)
}

// after is the first of the bytes that sort behind everything with a beginning.
func after(beginning []byte) []byte {
	end := append([]byte(nil), beginning...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// places remembers namespaces by their numbers. A number never gets another name.
type places struct {
	read func(n uint32) (key string, err error)

	mu    sync.Mutex
	named map[uint32]loci.Namespace
}

// mostPlaces are remembered: a search tells some dozens.
const mostPlaces = 4096

func (p *places) tell(n uint32) (loci.Namespace, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, known := p.named[n]; known {
		return at, true, nil
	}
	key, err := p.read(n)
	if errors.Is(err, sql.ErrNoRows) || err == nil && strings.HasPrefix(key, unnamed) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, err
	}
	if p.named == nil || len(p.named) >= mostPlaces {
		p.named = map[uint32]loci.Namespace{}
	}
	at := slices.Clip(loci.NamespaceFromKey(key))
	p.named[n] = at
	return at, true, nil
}

func (p *places) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.named = nil
}

func (f *file) placeNamed(n uint32) (string, error) {
	var key []byte
	err := f.readRow(context.Background(), "SELECT key FROM namespace WHERE n = ?", []any{n}, &key)
	return string(key), err
}
