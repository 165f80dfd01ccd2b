package follow

import (
	"bytes"
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/files"
)

// A moment is a state of a tenant.
type moment struct {
	nameKey loci.NameKey // of the tenant; another one after an erase
	seq     int64        // the tenant's counter
	line    int64        // how often the database went back before
}

// isOf reports whether a moment is one of a tenant as it is.
func (m *moment) isOf(st *batch.State) bool {
	return bytes.Equal(m.nameKey, st.NameKey) && m.line == st.Line
}

// shows reports whether a moment is no earlier than a state.
func (m *moment) shows(st *batch.State) bool { return m.seq >= st.Seq && m.isOf(st) }

// An early search is made while the tenant's counter is on its way, of the index as it stands then. Its hits
// count if the moment that it saw is no earlier than the state that comes: a search behind the look would see
// that moment or a later one.
type early struct {
	moment
	made  bool
	lacks bool // it needs records, which it may not read
	epoch *byte
	hits  []loci.Hit
}

// How many looks pass without an early search after one in vain: searches that need records mostly do so again.
const (
	passAfterNews  = 1
	passAfterLacks = 16
)

var errLate = errors.New("this search has to wait for the tenant's counter")

// search searches. It waits for nobody, neither for the index nor for records: whoever looks may hold a
// connection, for which the one who has the index waits.
func (e *early) search(x *Index, q *Search) {
	*e = early{}
	if !x.mu.TryRLock() {
		return
	}
	defer x.mu.RUnlock()
	fault, err := files.Faultless(func() (err error) {
		if x.index == nil || !x.serves(q) {
			return errLate
		}
		e.hits, err = x.index.Match(q.Probe, q.Filter, q.Limit, func([]loci.ID) ([]loci.Record, error) {
			e.lacks = true
			return nil, errLate
		})
		return err
	})
	e.moment, e.epoch, e.made = x.moment, x.epoch, !e.lacks && fault == nil && err == nil // else the search behind the look meets it
}

// answers reports whether the hits count, now that the tenant's state is known.
func (e *early) answers(x *Index, q *Search, st *batch.State) bool {
	if !e.made || !e.shows(st) {
		return false
	}
	if x.mu.TryRLock() {
		if x.shows(st) {
			raise(&x.seen, int64(max(q.at, q.looked)))
		}
		x.mu.RUnlock()
	}
	return true
}

// passed notes that the index was asked behind a look, which is in vain for some looks to come if the early search
// was, or what it needs was not there: where others write all the time each search would be made twice.
func (e *early) passed(x *Index, served bool) {
	switch pass := x.pass.Load(); {
	case e.lacks:
		x.pass.Store(passAfterLacks)
	case e.made || !served:
		x.pass.Store(max(pass, passAfterNews))
	case pass > 0:
		x.pass.Store(pass - 1)
	}
}
