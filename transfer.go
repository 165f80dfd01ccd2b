package loci

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// The export format: one JSON object a line. The first line is the header, the
// last one says how many records there are, so that a file cut short is noticed.
const (
	ExportFormat  = "loci.export"
	ExportVersion = 1
)

// maxLine bounds a line of an import.
const maxLine = 16 << 20

// exportLine is a line of an export: a header, a record or the end.
type exportLine struct {
	Type string `json:"type"` // header, record or end

	Format     string    `json:"format,omitempty"`
	Version    int       `json:"version,omitempty"` // of the format in a header, of the record in a record
	ExportedAt time.Time `json:"exported_at,omitzero"`

	ID         ID              `json:"id,omitzero"`
	Kind       Kind            `json:"kind,omitempty"`
	Namespace  Namespace       `json:"namespace,omitempty"` // below the exported one
	Slot       []byte          `json:"slot,omitempty"`
	Live       bool            `json:"live,omitempty"`
	CreatedAt  time.Time       `json:"created_at,omitzero"`
	UpdatedAt  time.Time       `json:"updated_at,omitzero"`
	ExpiresAt  time.Time       `json:"expires_at,omitzero"`
	Text       string          `json:"text,omitempty"`
	Tags       []string        `json:"tags,omitempty"`
	Attributes json.RawMessage `json:"attributes,omitempty"`
	Body       json.RawMessage `json:"body,omitempty"`
	Revisions  []Revision      `json:"revisions,omitempty"`

	Records int64 `json:"records,omitempty"` // in the end line
}

// Export writes everything in and below the handle's namespace to w, newest
// first, and returns the number of records. progress may be nil.
func (m *Memory) Export(ctx context.Context, w io.Writer, progress func(done int64)) (n int64, err error) {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(exportLine{Type: "header", Format: ExportFormat, Version: ExportVersion, ExportedAt: m.engine.now()}); err != nil {
		return 0, err
	}
	f := Filter{Within: []Namespace{m.view.Namespace}, At: m.engine.now(), NotLive: true}
	for cursor := ""; ; {
		records, next, err := m.engine.store.Records(ctx, m.view.Tenant, f, Page{Limit: 500, Cursor: cursor})
		if err != nil {
			return n, err
		}
		for i := range records {
			r := &records[i]
			line := exportLine{Type: "record", ID: r.ID, Kind: r.Kind, Namespace: r.Namespace[len(m.view.Namespace):], Slot: []byte(r.Slot),
				Version: int(r.Version), Live: r.Live, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ExpiresAt: r.ExpiresAt,
				Text: r.Text, Tags: r.Tags, Attributes: r.Attributes, Body: r.Body}
			if r.Version > 1 {
				if line.Revisions, err = m.engine.store.Revisions(ctx, m.view.Tenant, r.ID); err != nil {
					return n, err
				}
				// The record may have been revised since it was read.
				line.Revisions = slices.DeleteFunc(line.Revisions, func(v Revision) bool { return v.Version >= r.Version })
			}
			if err := enc.Encode(line); err != nil {
				return n, err
			}
			n++
		}
		if progress != nil {
			progress(n)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if err := enc.Encode(exportLine{Type: "end", Records: n}); err != nil {
		return n, err
	}
	return n, out.Flush()
}

// An ImportReport says what an import did.
type ImportReport struct {
	Format   string `json:"format"`   // loci.export, or mcp-memory
	Created  int64  `json:"created"`  // new records
	Existing int64  `json:"existing"` // records that were there already, untouched
}

// Import reads what [Memory.Export] wrote, or the JSONL file of the MCP reference
// memory server, into the handle's namespace. Ids are kept where they are free.
// It may be repeated: what is there already is left alone. The whole input is
// checked before anything is written; the line and field of a fault are named.
func (m *Memory) Import(ctx context.Context, r io.Reader, progress func(done int64)) (ImportReport, error) {
	var report ImportReport
	var drafts []imported
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	var parse func(line []byte) ([]imported, error)
	ended := false
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if parse == nil {
			if report.Format, parse = m.importFormat(line, &ended, &drafts); parse == nil {
				return report, Errorf(Invalid, "line %d: neither a Loci export nor the JSONL of the MCP memory server", n)
			}
		}
		more, err := parse(line)
		if err != nil {
			e := *AsError(err)
			e.Msg = fmt.Sprintf("line %d: %s", n, e.Msg)
			return report, &e
		}
		drafts = append(drafts, more...)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return report, Errorf(TooLarge, "line %d is longer than %d bytes", n+1, maxLine)
	case err != nil:
		return report, &Error{Code: Invalid, Msg: "the input cannot be read: " + err.Error(), Err: err}
	case parse == nil:
		return report, Errorf(Invalid, "the input is empty")
	case report.Format == ExportFormat && !ended:
		return report, Errorf(Invalid, "the file is cut short: its last line must have type \"end\"")
	}
	const batch = 200
	for start := 0; start < len(drafts); start += batch {
		part := drafts[start:min(start+batch, len(drafts))]
		created, err := m.importBatch(ctx, part)
		if err != nil {
			return report, err
		}
		report.Created += created
		report.Existing += int64(len(part)) - created
		if progress != nil {
			progress(report.Created + report.Existing)
		}
	}
	return report, nil
}

// importFormat looks at the first line.
func (m *Memory) importFormat(line []byte, ended *bool, drafts *[]imported) (string, func([]byte) ([]imported, error)) {
	var head exportLine
	if json.Unmarshal(line, &head) != nil {
		return "", nil
	}
	switch head.Type {
	case "header":
		if head.Format == ExportFormat {
			return ExportFormat, func(line []byte) ([]imported, error) { return m.importLine(line, ended, len(*drafts)) }
		}
	case "entity", "relation":
		return MCPMemoryFormat, m.importMCP
	}
	return "", nil
}

// importLine checks a line of an export.
func (m *Memory) importLine(line []byte, ended *bool, soFar int) ([]imported, error) {
	var in exportLine
	if err := json.Unmarshal(line, &in); err != nil {
		return nil, Errorf(Invalid, "not JSON of an export: %v", err)
	}
	switch {
	case *ended:
		return nil, Errorf(Invalid, "nothing may follow the line of type \"end\"")
	case in.Type == "header" && in.Format == ExportFormat && in.Version == ExportVersion:
		return nil, nil
	case in.Type == "header":
		return nil, Errorf(Unsupported, "format %s version %d: this build reads %s up to version %d", in.Format, in.Version, ExportFormat, ExportVersion)
	case in.Type == "end":
		*ended = true
		if in.Records != int64(soFar) {
			return nil, Errorf(Invalid, "records is %d but %d were read: the file is damaged", in.Records, soFar)
		}
		return nil, nil
	case in.Type != "record":
		return nil, Errorf(Invalid, "type %q: must be header, record or end", in.Type)
	}
	r := Record{ID: in.ID, Kind: in.Kind, Namespace: m.view.Namespace.Child(in.Namespace...), Version: int64(in.Version), Live: in.Live,
		Text: m.engine.redact(in.Text), Attributes: in.Attributes, Body: in.Body}
	var err error
	switch {
	case r.ID.IsZero():
		err = Errorf(Invalid, "id is missing")
	case r.Version < 1:
		err = Errorf(Invalid, "version is %d; it must be at least 1", r.Version)
	case in.CreatedAt.IsZero():
		err = Errorf(Invalid, "created_at is missing")
	case len(r.Text) > m.engine.opts.MaxContent:
		err = Errorf(TooLarge, "text has %d bytes; the limit is %d", len(r.Text), m.engine.opts.MaxContent)
	case r.Kind != KindFact && r.Kind != KindItem:
		err = Errorf(Unsupported, "kind %q is not known to this build", r.Kind)
	}
	for _, t := range []struct {
		field   string
		to      *time.Time
		written time.Time
	}{{"created_at", &r.CreatedAt, in.CreatedAt}, {"updated_at", &r.UpdatedAt, in.UpdatedAt}, {"expires_at", &r.ExpiresAt, in.ExpiresAt}} {
		if err == nil {
			*t.to, err = importTime(t.field, t.written)
		}
	}
	if err == nil {
		err = r.Namespace.Validate()
	}
	if err == nil {
		r.Tags, err = m.engine.tags(in.Tags)
	}
	if err == nil {
		r.Attributes, err = m.redactAttributes(r.Attributes)
	}
	if err == nil {
		err = m.importSlot(&r, len(in.Slot) > 0)
	}
	r.Passages = m.engine.passages(r.Text)
	history, historyErr := m.importHistory(&in)
	if err == nil {
		err = historyErr
	}
	return []imported{{r, history}}, err
}

// importTime brings a time to the form of stores. One outside of the years that
// can be written again would spoil every later export.
func importTime(field string, t time.Time) (time.Time, error) {
	if t.IsZero() {
		return time.Time{}, nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	if t.Year() < 1 || t.Year() > 9999 {
		return t, Errorf(Invalid, "%s is in the year %d; it must be 1 to 9999", field, t.Year())
	}
	return t, nil
}

// importSlot makes sure that the kind can read the record, and computes its slot
// anew: redaction may have changed what the slot is made of, and only a live
// record may hold one.
func (m *Memory) importSlot(r *Record, held bool) error {
	switch r.Kind {
	case KindItem:
		var body itemBody
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return Errorf(Invalid, "body is not that of an item: %v", err)
		}
		if len(r.Attributes) == 0 {
			return Errorf(Invalid, "attributes of the item are missing")
		}
		if err := checkKey(body.Key); err != nil {
			return err
		}
		r.Slot, r.Live = itemSlot(body.Key), true
	case KindFact:
		var body factBody
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return Errorf(Invalid, "body is not that of a fact: %v", err)
		}
		if held && r.Live {
			r.Slot = m.engine.factSlot(r, &body)
		}
	}
	return nil
}

// importHistory checks the earlier states of a record.
func (m *Memory) importHistory(in *exportLine) ([]Revision, error) {
	history := []Revision{}
	for i, v := range in.Revisions {
		if v.Version < 1 || v.Version >= int64(in.Version) || i > 0 && v.Version >= in.Revisions[i-1].Version {
			return nil, Errorf(Invalid, "revisions[%d].version is %d: versions must fall and stay below the record's %d", i, v.Version, in.Version)
		}
		v.Text = m.engine.redact(v.Text)
		var err error
		if v.UpdatedAt, err = importTime("updated_at", v.UpdatedAt); err != nil {
			return nil, err
		}
		if v.ReplacedAt, err = importTime("replaced_at", v.ReplacedAt); err != nil {
			return nil, err
		}
		if v.Tags, err = m.engine.tags(v.Tags); err != nil {
			return nil, err
		}
		if v.Attributes, err = m.redactAttributes(v.Attributes); err != nil {
			return nil, err
		}
		history = append(history, v)
	}
	return history, nil
}

// imported is a record to import, with its earlier states.
type imported struct {
	Record
	history []Revision
}

func (m *Memory) redactAttributes(attributes json.RawMessage) (json.RawMessage, error) {
	if len(attributes) == 0 {
		return nil, nil
	}
	v, err := decodeJSON(attributes)
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, Errorf(Invalid, "attributes must be a JSON object")
	}
	if object, err = m.engine.redactJSON(object); err != nil {
		return nil, err
	}
	return encodeJSON(object)
}

// importBatch stores the drafts that are not there yet, in one change.
func (m *Memory) importBatch(ctx context.Context, drafts []imported) (created int64, err error) {
	return commit(ctx, m.plain(), "import", nil, func(now time.Time) (decision[int64], error) {
		var d decision[int64]
		taken := map[string]bool{} // ids and slots given out in this batch
		for i := range drafts {
			r := drafts[i].Record
			present, err := m.settleImport(ctx, &r, taken)
			if err != nil {
				return d, err
			}
			if present {
				continue
			}
			d.reply++
			d.change.Put = append(d.change.Put, Put{Record: r, History: drafts[i].history,
				Vectors: m.engine.embed(ctx, m.view.Tenant, r.Text, r.Passages)})
			d.change.Events = append(d.change.Events, m.event(EventImported, &r, now, map[string]any{"bytes": len(r.Text)}))
		}
		return d, nil
	})
}

// settleImport finds out whether a draft is there already, and gives it an id
// that is free: its own, or, when another namespace holds that one, one derived
// from it, so that a repeated import meets itself. Its slot may be held by a record
// that says the same; then that one is the record.
func (m *Memory) settleImport(ctx context.Context, r *Record, taken map[string]bool) (present bool, err error) {
	holder, err := m.slotHolder(ctx, r)
	if err != nil {
		return false, err
	}
	slot := digest(r.Namespace.Key(), string(r.Kind), r.Slot)
	if holder != nil && holder.ID != r.ID || r.Slot != "" && taken[slot] {
		return true, nil
	}
	for {
		if taken[r.ID.String()] {
			return true, nil
		}
		f := Filter{Within: []Namespace{{}}, IDs: []ID{r.ID}, NotLive: true}
		held, _, err := m.engine.store.Records(ctx, m.view.Tenant, f, Page{Limit: 1})
		if err != nil {
			return false, err
		}
		if len(held) == 0 {
			taken[slot], taken[r.ID.String()] = true, true
			return false, nil
		}
		if held[0].Namespace.Equal(r.Namespace) {
			return true, nil
		}
		r.ID = derivedID(r.ID, r.Namespace.Key())
	}
}
