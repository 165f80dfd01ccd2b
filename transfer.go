package loci

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/intake"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/leg"
)

// The export format: one JSON object a line. The first line is the header, then come the records, each
// followed by its earlier states, then the links between them. The last line says how many of each there
// are, so that a file cut short or a line lost is noticed.
const (
	ExportFormat  = "loci.export"
	ExportVersion = 1
)

// exportLine is a line of an export.
type exportLine struct {
	Type string `json:"type"` // header, record, revision, link or end

	Format     string    `json:"format,omitempty"`
	Version    int       `json:"version,omitempty"` // of the format in a header, else of the record
	ExportedAt time.Time `json:"exported_at,omitzero"`

	ID         ID              `json:"id,omitzero"` // of the record, in its revisions, too
	Kind       Kind            `json:"kind,omitempty"`
	Namespace  Namespace       `json:"namespace,omitempty"` // below the exported one
	Slot       []byte          `json:"slot,omitempty"`
	Live       bool            `json:"live,omitempty"`
	From       ID              `json:"from,omitzero"` // in a link
	LinkType   LinkType        `json:"link_type,omitempty"`
	To         ID              `json:"to,omitzero"`
	CreatedAt  time.Time       `json:"created_at,omitzero"`
	UpdatedAt  time.Time       `json:"updated_at,omitzero"`
	ReplacedAt time.Time       `json:"replaced_at,omitzero"` // in a revision
	ExpiresAt  time.Time       `json:"expires_at,omitzero"`
	Sequence   string          `json:"sequence,omitempty"`
	Position   int64           `json:"position,omitempty"`
	Text       string          `json:"text,omitempty"`
	Tags       []string        `json:"tags,omitempty"`
	Attributes json.RawMessage `json:"attributes,omitempty"`
	Body       json.RawMessage `json:"body,omitempty"`

	// Revisions are the earlier states as a record line holds them that was not
	// written here: read, but never written, since their number has no bound.
	Revisions []Revision `json:"revisions,omitempty"`

	// In the end line: how many lines of each type came before it.
	Records       int64 `json:"records,omitempty"`
	RevisionLines int64 `json:"revision_lines,omitempty"`
	Links         int64 `json:"links,omitempty"`
}

// exportable refuses a state of a record that Export would write in too long a line: what was imported can be moved on.
func (e *Engine) exportable(text string, attributes, body json.RawMessage) error {
	if size := len(attributes) + len(body); size > intake.Room(e.opts.Content.MaxBytes, len(text)) {
		return Errorf(TooLarge, "text has %d bytes, attributes and body have %d: too much for one memory", len(text), size)
	}
	return nil
}

// An Exporter writes an export.
type Exporter struct {
	m        *Memory
	enc      jsonform.Lines
	walk     *leg.Walk
	begun    ID // a record that an earlier part wrote, and in which it ended
	progress func(done int64)
	part     ExportPart
	end      exportLine
	Parts    int64 // of the records written: those that an import counts with another, such as the blocks of a file
}

// An ExportPart says what goes into an export, and how much of it into one part. Together the parts hold what one
// export does, but what was written between them.
type ExportPart struct {
	Kinds []Kind                                       // nothing else is read; none: all. What means something only together comes with any of its kinds
	Keep  func(context.Context, *Record) (bool, error) // a memory that stands for itself goes into it; nil: all
	// Narrow leaves out of a filter what Keep refuses, so that it is not read; nil: nothing.
	Narrow func(*Filter)

	Cursor       string // of the part before; "" is the start
	Lines, Bytes int    // the part ends when there are so many, with what is under way; 0: no bound
}

// exportedBody is the body of a record, with its times in the form of the export's others: bodies of older builds have
// them without zeros at the end. One that cannot be read stays as it is, for the import to name what is wrong with it.
func exportedBody(r *Record) json.RawMessage {
	var body any
	var err error
	switch r.Kind {
	case KindFact:
		body, err = readFact(r)
	case KindRule:
		body, err = readRule(r)
	case KindEpisode:
		body, err = readEpisode(r)
	default:
		return r.Body
	}
	if data, wrong := jsonform.Marshal(body); err == nil && wrong == nil && jsonform.SameNames(data, r.Body) {
		return data
	}
	return r.Body // it was made elsewhere, and stays as it was written
}

// Export writes the memories in and below the handle's namespace to w, those of some namespaces after those of others,
// with the links between what it wrote, and returns how many an import of it counts. Features add theirs, such as
// checkpoints. It holds no more than a page of records and the earlier states of one of them. progress may be nil.
func (m *Memory) Export(ctx context.Context, w io.Writer, progress func(int64), kinds ...Kind) (n int64, err error) {
	n, _, err = m.ExportPart(ctx, w, progress, ExportPart{Kinds: kinds})
	return n, err
}

// ExportPart writes a part of an export, and returns how many an import counts of it, and the cursor of the next part;
// "": it was the last one. Parts cost what they hold.
func (m *Memory) ExportPart(
	ctx context.Context, w io.Writer, progress func(int64), part ExportPart,
) (n int64, next string, err error) {
	walk, from, err := leg.Begin(w, part.Cursor, part.Lines, part.Bytes)
	if err != nil {
		return 0, "", Errorf(Invalid, "cursor is not one that an export returned")
	}
	now := m.engine.now()
	x := &Exporter{m: m, enc: jsonform.Lines{W: walk}, walk: walk, progress: progress, part: part,
		end: exportLine{Type: "end", Records: from.Counts[0], RevisionLines: from.Counts[1], Links: from.Counts[2]}}
	if part.Keep == nil {
		x.part.Keep = func(context.Context, *Record) (bool, error) { return true, nil }
	}
	left := func(k Kind) bool { return len(part.Kinds) > 0 && !slices.Contains(part.Kinds, k) }
	alone := slices.DeleteFunc(slices.Clone(m.engine.memoryKinds()), left)
	reach := Filter{Within: []Namespace{m.view.Namespace}, Kinds: alone, At: now, NotLive: true}
	if part.Narrow != nil {
		part.Narrow(&reach)
	}
	if part.Cursor == "" {
		err = x.enc.Encode(exportLine{Type: "header", Format: ExportFormat, Version: ExportVersion, ExportedAt: now})
	}
	stages := []func() error{func() error { return x.Each(ctx, m, reach, NewestFirst, x.own) }}
	for _, f := range m.engine.transferers() {
		if slices.ContainsFunc(f.Kinds(), func(k FeatureKind) bool { return !left(k.Kind) }) {
			stages = append(stages, func() error { return f.Lines(ctx, m, x) })
		}
	}
	// Links come in a second run over the records, since either end of one may be the last record of all.
	if len(reach.Kinds) > 0 { // none would be all of them
		stages = append(stages, func() error {
			page := Page{Limit: 500, MaxBytes: 32 << 20, NoText: part.Keep == nil}
			links := func(records []Record) error { return x.links(ctx, reach, records) }
			walk.AtOnce = 16 // which may have thousands of links each
			return m.eachPage(ctx, walk, reach, page, links)
		})
	}
	if err == nil {
		end := func() error { return x.enc.Encode(x.end) }
		next, err = walk.Run(from.Stage, [3]*int64{&x.end.Records, &x.end.RevisionLines, &x.end.Links}, stages, end)
	}
	return x.end.Records - from.Counts[0] - x.Parts, next, err
}

// own writes a memory that stands for itself.
func (x *Exporter) own(ctx context.Context, r *Record) error {
	if kept, err := x.part.Keep(ctx, r); err != nil || !kept {
		return err
	}
	return x.Write(ctx, r)
}

// Each calls do for each record that a filter selects within reach of a handle, in the given order. By slot, which is
// for one namespace and kind, do may call it again: a part may end before each record, or within the list inside. In
// other orders a part ends between pages. Whoever calls it for several namespaces in a row does so in the order of
// their keys, and what it returns goes back as it is.
func (x *Exporter) Each(
	ctx context.Context, m *Memory, f Filter, order Order, do func(context.Context, *Record) error,
) error {
	page := Page{Limit: 500, MaxBytes: 32 << 20, Order: order}
	if err := m.inView(f); err != nil || f.Kinds != nil && len(f.Kinds) == 0 { // none, not all of them
		return err
	}
	if !order.BySlot() {
		return m.eachPage(ctx, x.walk, f, page, func(records []Record) (err error) {
			for i := 0; i < len(records) && err == nil; i++ {
				err = do(ctx, &records[i])
			}
			return err
		})
	}
	slot := func(r *Record) string { return r.Slot }
	return leg.Slots(x.walk, f.Within[0].Key(), slot, func(from, cursor string) ([]Record, string, error) {
		f.Slots.From, page.Cursor = max(f.Slots.From, from), cursor
		page.Limit, page.MaxBytes = x.walk.Room(page.Limit, page.MaxBytes)
		return m.Records(ctx, f, page)
	}, func(r *Record, inside bool) error {
		if inside {
			x.begun = r.ID
		}
		return do(ctx, r)
	})
}

// Write writes a record and its earlier states.
func (x *Exporter) Write(ctx context.Context, r *Record) error {
	if x.begun == r.ID && !r.ID.IsZero() {
		x.begun = ID{}
		return nil
	}
	if x.end.Records++; x.progress != nil {
		x.progress(x.end.Records - x.Parts)
	}
	err := x.enc.Encode(exportLine{
		Type: "record", ID: r.ID, Kind: r.Kind, Namespace: x.m.lineNamespace(r),
		Slot: []byte(r.Slot), Version: int(r.Version), Live: r.Live, CreatedAt: r.CreatedAt,
		UpdatedAt: r.UpdatedAt, ExpiresAt: r.ExpiresAt, Sequence: r.Sequence, Position: r.Position,
		Text: r.Text, Tags: r.Tags, Attributes: r.Attributes, Body: exportedBody(r),
	})
	if err != nil || r.Version == 1 {
		return err
	}
	revisions, err := x.m.engine.store.Revisions(ctx, x.m.view.Tenant, r.ID)
	if err != nil {
		return err
	}
	for _, v := range revisions {
		if v.Version >= r.Version { // the record was revised since it was read
			continue
		}
		x.end.RevisionLines++
		err = x.enc.Encode(exportLine{Type: "revision", ID: r.ID, Version: int(v.Version), UpdatedAt: v.UpdatedAt,
			ReplacedAt: v.ReplacedAt, Text: v.Text, Tags: v.Tags, Attributes: v.Attributes})
		if err != nil {
			return err
		}
	}
	return nil
}

// links writes the links from some records to others in reach. A link out of reach would lead nowhere in another store.
func (x *Exporter) links(ctx context.Context, reach Filter, records []Record) error {
	var from []ID
	for i := range records {
		if kept, err := x.part.Keep(ctx, &records[i]); err != nil {
			return err
		} else if kept {
			from = append(from, records[i].ID)
		}
	}
	all, err := x.m.engine.store.Links(ctx, x.m.view.Tenant, from...)
	all = slices.DeleteFunc(all, func(l Link) bool { return !slices.Contains(from, l.From) })
	for part := range slices.Chunk(all, 500) {
		var ends []ID
		for _, l := range part {
			ends = append(ends, l.To)
		}
		there, err := x.m.present(ctx, reach, ends)
		for i := 0; i < len(part) && err == nil; i++ {
			l, kept := part[i], false
			if r := there[l.To]; r != nil {
				kept, err = x.part.Keep(ctx, r)
			}
			if kept && err == nil {
				x.end.Links++
				err = x.enc.Encode(exportLine{Type: "link", From: l.From, LinkType: l.Type, To: l.To, CreatedAt: l.At})
			}
		}
		if err != nil {
			return err
		}
	}
	return err
}

// present finds the records of up to 1000 ids that a filter selects.
func (m *Memory) present(ctx context.Context, f Filter, ids []ID) (map[ID]*Record, error) {
	if len(ids) == 0 { // no condition at all, to a filter
		return nil, nil
	}
	f.IDs = ids
	records, _, err := m.engine.store.Records(ctx, m.view.Tenant, f, Page{Limit: len(ids)})
	there := make(map[ID]*Record, len(records))
	for i := range records {
		there[records[i].ID] = &records[i]
	}
	return there, err
}
