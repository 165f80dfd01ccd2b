package backup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/store"
)

// actor is who erases again in the audit log.
const actor = "restore"

// listFormat begins a list of what was erased.
const listFormat = "loci.erased"

// A line is one of such a list.
type line struct {
	Format  string  `json:"format,omitempty"` // of the first line alone
	Version int     `json:"version,omitempty"`
	Tenant  *string `json:"tenant,omitempty"` // nil: any; "" is what the program keeps for itself
	ID      string  `json:"id,omitempty"`
	Whole   bool    `json:"whole,omitempty"` // the tenant with everything of it
	With    bool    `json:"with,omitempty"`  // what goes with the record is in the list, too
	End     bool    `json:"end,omitempty"`   // the last line

	// Of events, as the audit log tells them.
	Type   loci.EventType    `json:"event_type,omitempty"`
	Entity string            `json:"entity_id,omitempty"`
	Events []json.RawMessage `json:"events,omitempty"`
}

// A toll is what is to be erased of a tenant.
type toll struct {
	whole bool
	note  string
	ids   map[loci.ID]bool // true: with those of all that goes with it
}

// An eraser finds out what was erased since a backup, and erases it again.
type eraser struct {
	w     *workshop
	m     *Manifest
	to    string // the store that is restored into
	gone  map[loci.Tenant]*toll
	every map[loci.ID]bool // of any tenant; as in a toll
}

func newEraser(w *workshop, m *Manifest, to string) *eraser {
	return &eraser{w: w, m: m, to: to, gone: map[loci.Tenant]*toll{}, every: map[loci.ID]bool{}}
}

func (e *eraser) of(t loci.Tenant) *toll {
	if e.gone[t] == nil {
		e.gone[t] = &toll{ids: map[loci.ID]bool{}}
	}
	return e.gone[t]
}

var storeURL = regexp.MustCompile(`^(sqlite:|postgres(ql)?://|mongodb(\+srv)?://)`)

// learn takes in a list, or a store that went on since the backup.
func (e *eraser) learn(ctx context.Context, source string) error {
	if storeURL.MatchString(source) {
		return e.compare(ctx, source)
	}
	f, err := os.Open(source)
	if err != nil {
		return refused("the list "+source+" cannot be read", err)
	}
	return errors.Join(e.read(f, source), f.Close())
}

// read takes in a list: objects, as [WriteErased] writes them and the audit log tells them,
// or lines with an id each.
func (e *eraser) read(r io.Reader, name string) error {
	in := bufio.NewReader(r)
	var first byte
	for first <= ' ' {
		var err error
		if first, err = in.ReadByte(); errors.Is(err, io.EOF) {
			return loci.Errorf(loci.Invalid, "the list %s is empty", name)
		} else if err != nil {
			return refused("the list "+name+" cannot be read", err)
		}
	}
	if err := in.UnreadByte(); err != nil {
		return err
	}
	if first == '{' {
		return e.readObjects(in, name)
	}
	lines := bufio.NewScanner(in)
	n := 1
	for ; lines.Scan(); n++ {
		if text := strings.TrimSpace(lines.Text()); text != "" {
			if err := e.take(&line{ID: text}); err != nil {
				return loci.Errorf(loci.Invalid, "line %d of the list %s: %w", n, name, err)
			}
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return loci.Errorf(loci.Invalid, "line %d of the list %s is too long: write one id a line", n, name)
	} else if err != nil {
		return refused("the list "+name+" cannot be read", err)
	}
	return nil
}

// readObjects takes in a list of objects. One that [WriteErased] wrote has an end line.
func (e *eraser) readObjects(r io.Reader, name string) error {
	ours, ended := false, false
	for in, n := json.NewDecoder(r), 1; ; n++ {
		var l line
		switch err := in.Decode(&l); {
		case errors.Is(err, io.EOF) && ours && !ended:
			return loci.Errorf(loci.Invalid, "the list %s was cut off: its last line is missing", name)
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, new(*fs.PathError)):
			return refused("the list "+name+" cannot be read", err)
		case err != nil:
			return loci.Errorf(loci.Invalid, "object %d of the list %s cannot be read: %s", n, name, jsonform.Fault(err))
		}
		ours = ours || l.Format == listFormat
		ended = l.End
		if err := e.take(&l); err != nil {
			return loci.Errorf(loci.Invalid, "object %d of the list %s: %w", n, name, err)
		}
	}
}

// take takes in one line.
func (e *eraser) take(l *line) error {
	switch {
	case l.Format != "":
		if l.Format != listFormat || l.Version > version {
			return loci.Errorf(loci.Unsupported, "it begins another form of list, or a newer one")
		}
		return nil
	case l.End:
		return nil
	case l.Events != nil:
		for _, raw := range l.Events {
			var one line
			if err := json.Unmarshal(raw, &one); err != nil {
				return loci.Errorf(loci.Invalid, "an event cannot be read: %s", jsonform.Fault(err))
			}
			if err := e.take(&one); err != nil {
				return err
			}
		}
		return nil
	case l.Type != "" && l.Type != loci.EventErased:
		return nil
	case l.Type == loci.EventErased:
		l.ID = l.Entity
	}
	ids := e.every
	if l.Tenant != nil {
		one := Tenant{Name: *l.Tenant, System: *l.Tenant == ""}
		t, err := one.tenant()
		if err != nil {
			return err
		}
		if l.Whole {
			e.of(t).whole = true
			return nil
		}
		ids = e.of(t).ids
	}
	id, err := parseID(l.ID)
	if err == nil {
		ids[id] = l.With
	}
	return err
}

// parseID reads an id, with or without the kind before it, as commands show it.
func parseID(text string) (loci.ID, error) {
	if len(text) > 36 {
		if kind, rest := text[:len(text)-36], text[len(text)-36:]; strings.HasSuffix(kind, "-") {
			text = rest
		}
	}
	return loci.ParseID(text)
}

// compare takes in the records of the backup that a store which went on since has no more.
func (e *eraser) compare(ctx context.Context, url string) (err error) {
	live, err := store.Open(ctx, url, &e.w.opts.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, live.Close()) }()
	opts := e.w.opts.Engine
	opts.Embedder, opts.Quota = nil, nil
	engine, err := loci.New(live, &opts)
	if err != nil {
		return err
	}
	copied, _, err := e.w.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	continued := 0
	for i := range e.m.Tenants {
		one := &e.m.Tenants[i]
		t, err := one.tenant()
		if err != nil {
			return err
		}
		same := false
		there, err := store.Held(ctx, live, []loci.Tenant{t})
		if err == nil && (len(there) > 0 || one.Head.IsZero()) { // to look for one that is not there would make its file
			same, err = continues(ctx, engine, t, one)
		}
		if err != nil {
			return err
		}
		if !same {
			if url == e.to { // it is replaced
				e.of(t).note = "the log of the tenant that it replaces did not go on from the backup: what was erased there is not known"
			} else {
				e.of(t).whole = true
			}
			continue
		}
		continued++
		if err := e.missing(ctx, t, copied, live); err != nil {
			return err
		}
	}
	if continued == 0 && url != e.to {
		return &loci.Error{
			Code: loci.Conflict, Msg: "the store of --erased did not go on from the backup: none of its logs continues one of the backup's",
			Recovery: "Name the store that the backup was made of, or a list of what was erased.",
		}
	}
	return nil
}

// continues reports whether the log of a tenant in a store goes on from that of the backup.
func continues(ctx context.Context, live *loci.Engine, t loci.Tenant, one *Tenant) (bool, error) {
	report, err := live.VerifyEvents(ctx, t, one.Head)
	return err == nil && (report.Found || one.Head.IsZero()), err
}

// missing takes in the records of a tenant that one store has and another has not.
func (e *eraser) missing(ctx context.Context, t loci.Tenant, copied, live loci.Store) error {
	there, err := idsOf(ctx, live, t)
	if err != nil {
		return err
	}
	was, err := idsOf(ctx, copied, t)
	if err != nil {
		return err
	}
	for id := range was {
		if !there[id] {
			e.of(t).ids[id] = true
		}
	}
	return nil
}

var everything = loci.Filter{Within: []loci.Namespace{{}}, NotLive: true}

func idsOf(ctx context.Context, s loci.Store, t loci.Tenant) (map[loci.ID]bool, error) {
	ids := map[loci.ID]bool{}
	for page := (loci.Page{Limit: 1000, NoText: true}); ; {
		records, next, err := s.Records(ctx, t, everything, page)
		if err != nil {
			return nil, err
		}
		for i := range records {
			ids[records[i].ID] = true
		}
		if page.Cursor = next; next == "" {
			return ids, nil
		}
	}
}

// apply erases in the workshop what was erased since, and returns the tenants that are left.
func (e *eraser) apply(ctx context.Context, tenants []loci.Tenant, report *Report) (left []loci.Tenant, err error) {
	s, engine, err := e.w.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for i, t := range tenants {
		one := &e.m.Tenants[i]
		out := Restored{
			Name: one.Name, System: one.System, Rows: one.Rows["record"], Events: one.Events, Head: one.Head,
			Note: e.of(t).note,
		}
		if out.Gone = e.of(t).whole; out.Gone {
			out.Erased, out.Rows = one.Rows["record"], 0
		} else {
			left = append(left, t)
			if out.Erased, err = e.erase(ctx, engine, t); err != nil {
				return nil, err
			}
			out.Rows -= out.Erased
		}
		report.Tenants = append(report.Tenants, out)
	}
	return left, nil
}

// erase erases records of a tenant with what belongs to them, and says how many they were.
func (e *eraser) erase(ctx context.Context, engine *loci.Engine, t loci.Tenant) (erased int64, err error) {
	m, err := engine.Memory(loci.View{Tenant: t, Actor: actor})
	if err != nil {
		return 0, err
	}
	before, err := m.Count(ctx, everything)
	if err != nil {
		return 0, err
	}
	ids := e.of(t).ids
	for id, with := range e.every {
		ids[id] = ids[id] || with
	}
	var parts []loci.ID
	for id, with := range ids {
		err := m.Erase(ctx, id)
		switch code := codeOf(err); {
		case code == loci.Unsupported && with: // a part of something larger
			parts = append(parts, id)
		case code == loci.Unsupported:
			return 0, &loci.Error{
				Code: loci.Unsupported, Err: err,
				Msg:      "record " + id.String() + " is of a file or a checkpoint, and the list does not name all that went with it",
				Recovery: "Give --erased the store that went on, or a list that loci backup erased wrote.",
			}
		case err != nil && code != loci.NotFound:
			return 0, err
		}
	}
	for some := range slices.Chunk(parts, 200) {
		if err := erasePart(ctx, m, some); err != nil {
			return 0, err
		}
	}
	after, err := m.Count(ctx, everything)
	return before.Records - after.Records, err
}

// erasePart erases records that are erased with a whole elsewhere.
func erasePart(ctx context.Context, m *loci.Memory, ids []loci.ID) error {
	f := everything
	f.IDs = ids
	_, err := loci.Commit(ctx, m, "erase again", nil, func(now time.Time) (d loci.Decision[int], err error) {
		records, _, err := m.Records(ctx, f, loci.Page{Limit: len(ids), NoText: true})
		for i := range records {
			r := &records[i]
			d.Change.Erase = append(d.Change.Erase, loci.Erase{ID: r.ID, Version: r.Version})
			d.Change.Events = append(d.Change.Events, m.Event(loci.EventErased, r, now, map[string]any{"version": r.Version}))
		}
		return d, err
	})
	return err
}

func codeOf(err error) loci.Code {
	if err == nil {
		return ""
	}
	return loci.AsError(err).Code
}

// WriteErased compares a backup with a store that went on since, and writes a list of what
// was erased, which a restoration takes. It returns how many records are in it.
func WriteErased(ctx context.Context, dir, from string, w io.Writer, opts Options) (n int64, err error) {
	shop, m, err := unpack(ctx, dir, os.TempDir(), nil, opts)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, shop.close()) }()
	e := newEraser(shop, &m, "")
	if err := e.compare(ctx, from); err != nil {
		return 0, err
	}
	out := json.NewEncoder(w)
	if err := out.Encode(line{Format: listFormat, Version: version}); err != nil {
		return 0, err
	}
	for i := range m.Tenants {
		one := &m.Tenants[i]
		t, err := one.tenant()
		if err != nil {
			return 0, err
		}
		gone := e.of(t)
		if gone.whole {
			if err := out.Encode(line{Tenant: &one.Name, Whole: true}); err != nil {
				return 0, err
			}
			n += one.Rows["record"]
			continue
		}
		for id := range gone.ids {
			if err := out.Encode(line{Tenant: &one.Name, ID: id.String(), With: true}); err != nil {
				return 0, err
			}
			n++
		}
	}
	return n, out.Encode(line{End: true})
}
