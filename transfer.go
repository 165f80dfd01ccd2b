package loci

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/intake"
	"github.com/loci-memory/loci/internal/jsonform"
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
	progress func(done int64) // may be nil
	end      exportLine
	Parts    int64 // of the records written: those that an import counts with another, such as the blocks of a file
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
	if err != nil {
		return r.Body
	}
	data, err := jsonform.Marshal(body)
	if err != nil || !jsonform.SameNames(data, r.Body) { // it was made elsewhere, and stays as it was written
		return r.Body
	}
	return data
}

// Export writes the memories in and below the handle's namespace to w, those of some namespaces after those of others,
// with the links between what it wrote, and returns how many an import of it counts. Features add theirs, such as
// checkpoints. Of some kinds nothing else is read; none are all. What means something only together comes with any of
// its kinds. It holds no more than a page of records and the earlier states of one of them. progress may be nil.
func (m *Memory) Export(ctx context.Context, w io.Writer, progress func(int64), kinds ...Kind) (n int64, err error) {
	out := bufio.NewWriter(w)
	now := m.engine.now()
	x := &Exporter{m: m, enc: jsonform.Lines{W: out}, progress: progress, end: exportLine{Type: "end"}}
	left := func(k Kind) bool { return len(kinds) > 0 && !slices.Contains(kinds, k) }
	alone := slices.DeleteFunc(slices.Clone(m.engine.memoryKinds()), left)
	reach := Filter{Within: []Namespace{m.view.Namespace}, Kinds: alone, At: now, NotLive: true}
	head := exportLine{Type: "header", Format: ExportFormat, Version: ExportVersion, ExportedAt: now}
	if err := x.enc.Encode(head); err != nil {
		return 0, err
	}
	if err := x.Each(ctx, m, reach, NewestFirst, x.Write); err != nil {
		return x.end.Records - x.Parts, err
	}
	for _, f := range m.engine.transferers() {
		if !slices.ContainsFunc(f.Kinds(), func(k FeatureKind) bool { return !left(k.Kind) }) {
			continue
		}
		if err := f.Lines(ctx, m, x); err != nil {
			return x.end.Records - x.Parts, err
		}
	}
	// Links come in a second run over the records, since either end of one may be the last record of all.
	links := func(ctx context.Context, r *Record) error { return x.links(ctx, reach, r) }
	if err := x.Each(ctx, m, reach, NewestFirst, links); err != nil {
		return x.end.Records - x.Parts, err
	}
	if err := x.enc.Encode(x.end); err != nil {
		return x.end.Records - x.Parts, err
	}
	return x.end.Records - x.Parts, out.Flush()
}

// Each calls do for each record that a filter selects within reach of a handle, page by page, in the given order.
func (x *Exporter) Each(
	ctx context.Context, m *Memory, f Filter, order Order, do func(context.Context, *Record) error,
) error {
	if err := m.inView(f); err != nil || f.Kinds != nil && len(f.Kinds) == 0 { // none, not all of them
		return err
	}
	page := Page{Limit: intake.Page(m.engine.opts.Content.MaxBytes), Order: order}
	return m.eachPage(ctx, f, page, func(records []Record) error {
		for i := range records {
			if err := do(ctx, &records[i]); err != nil {
				return err
			}
		}
		if x.progress != nil {
			x.progress(x.end.Records - x.Parts)
		}
		return nil
	})
}

// Write writes a record and its earlier states.
func (x *Exporter) Write(ctx context.Context, r *Record) error {
	x.end.Records++
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
		if err := x.enc.Encode(exportLine{
			Type: "revision", ID: r.ID, Version: int(v.Version), UpdatedAt: v.UpdatedAt,
			ReplacedAt: v.ReplacedAt, Text: v.Text, Tags: v.Tags, Attributes: v.Attributes,
		}); err != nil {
			return err
		}
	}
	return nil
}

// links writes the links from a record to others in reach. A link out of reach would lead nowhere in another store.
func (x *Exporter) links(ctx context.Context, reach Filter, r *Record) error {
	all, err := x.m.engine.store.Links(ctx, x.m.view.Tenant, r.ID)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(l Link) bool { return l.From != r.ID })
	for part := range slices.Chunk(all, intake.Page(x.m.engine.opts.Content.MaxBytes)) {
		var ends []ID
		for _, l := range part {
			ends = append(ends, l.To)
		}
		there, err := x.m.present(ctx, reach, ends)
		if err != nil {
			return err
		}
		for _, l := range part {
			if _, ok := there[l.To]; !ok {
				continue
			}
			x.end.Links++
			if err := x.enc.Encode(exportLine{
				Type: "link", From: l.From, LinkType: l.Type, To: l.To, CreatedAt: l.At,
			}); err != nil {
				return err
			}
		}
	}
	return nil
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
