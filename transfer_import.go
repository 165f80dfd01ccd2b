package loci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/intake"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/jsonguard"
)

// An ImportReport says what an import did with each record.
type ImportReport struct {
	Format    string `json:"format"`          // loci.export, or mcp-memory
	Created   int64  `json:"created"`         // new records
	Existing  int64  `json:"existing"`        // what they say is there already
	Conflicts int64  `json:"conflicts"`       // left out: something else is there under their id or key
	Moved     int64  `json:"moved,omitempty"` // ids of the input that stand for others here
	// Skipped names the first 20 of the conflicts: the id in the input, and the id of the record that stayed.
	Skipped []string `json:"skipped,omitempty"`
}

// maxSkipped bounds [ImportReport].Skipped.
const maxSkipped = 20

// Import reads what [Memory.Export] wrote, or the JSONL file of the MCP reference memory server, into the handle's
// namespace. MaxContent must not be below that of the engine that exported.
//
// What is there already is left alone, so that an import may be repeated:
//   - a record with the same id in the same namespace stays. It counts as Existing when it says the same (kind, key,
//     text and attributes; tags and times may differ), else as a conflict;
//   - a live record whose key or words another record of the namespace holds is not stored. When that one says the
//     same it takes the record's place, in links, too; else this is a conflict;
//   - everything else is stored, under its own id. Where another namespace of the tenant holds that, it gets one that
//     follows from the id and its namespace, and whatever in the input names the old id names the new one.
//
// A session is stored whole or not at all: where one of its id is there, it and its messages stay as they are.
// Files of a tree are known by their paths: a file that exists with the same content counts as Existing, one with
// other content as a conflict. So does a directory. Links are stored where both ends are in the handle's namespace
// afterwards. The whole input is checked before anything is written, and the line and field of a fault are named:
// half an import is worse than none. So the whole input is held in memory. When the embedder does not answer,
// everything from there on is stored without vectors; [Engine.Backfill] makes them later. An import that fails after
// it has stored something says how much: that stays.
func (m *Memory) Import(ctx context.Context, r io.Reader, progress func(done int64)) (ImportReport, error) {
	in := importer{
		m: m, takers: map[Kind]Taker{}, rank: map[Kind]int{}, lines: map[ID]int{}, silent: map[*encoder]bool{},
	}
	if err := in.read(r); err != nil {
		return in.report, err
	}
	for _, t := range in.ordered {
		if err := t.Check(); err != nil {
			return in.report, err
		}
	}
	// Owners come after their parts: an import that was stopped half way leaves no
	// session without some of its messages.
	slices.SortStableFunc(in.drafts, func(a, b *Imported) int { return in.rank[a.Kind] - in.rank[b.Kind] })
	return in.report, in.stopped(in.store(ctx, progress))
}

// stopped says how much is stored: what failed knows of the last change alone.
func (in *importer) stopped(err error) error {
	if err == nil || in.report.Created == 0 {
		return err
	}
	e := *AsError(err)
	e.Msg = fmt.Sprintf("the import stopped behind %d of its memories: %s", in.report.Created, strings.TrimSuffix(e.Msg, "; nothing was stored"))
	e.Recovery = e.Advice() + " What is imported stays, and is left alone when you import it again."
	return &e
}

// An importer is an import under way.
type importer struct {
	m         *Memory
	report    ImportReport
	parse     func(line []byte) error // of the format
	n         int                     // the line
	drafts    []*Imported             // what the kernel stores
	last      *Imported               // whose earlier states follow
	records   int64                   // lines of them
	takers    map[Kind]Taker          // of the features' kinds seen so far
	ordered   []Taker                 // the same, each once
	rank      map[Kind]int            // parts before their owners
	links     []Link
	lines     map[ID]int // where each id of an export was read
	revisions int64      // lines of them
	ended     bool

	ids    map[ID]ID // what ids of the input became, where that differs
	beside bool      // others write here, too: what was settled does not hold until it is stored

	active  Space             // the active space that vectors are made for
	writers []*encoder        // that make them
	silent  map[*encoder]bool // did not answer
}

// read checks the input.
func (in *importer) read(r io.Reader) error {
	var refused error
	err := intake.Lines(r, intake.LineLimit(in.m.engine.opts.Content.MaxBytes), func(n int, line []byte) bool {
		in.n = n
		if in.parse == nil && !in.choose(line) {
			refused = Errorf(Invalid, "line %d: this is neither a Loci export nor the JSONL of the MCP memory server", n)
		} else if err := in.parse(line); err != nil {
			e := *AsError(err)
			e.Msg = fmt.Sprintf("line %d: %s", n, e.Msg)
			refused = &e
		}
		return refused == nil
	})
	var long *intake.TooLongError
	switch {
	case refused != nil:
		return refused
	case errors.As(err, &long):
		return Errorf(TooLarge, "%s", err)
	case err != nil:
		return &Error{Code: Invalid, Msg: "the input cannot be read: " + err.Error(), Err: err}
	case in.parse == nil:
		return Errorf(Invalid, "the input is empty")
	case in.report.Format == ExportFormat && !in.ended:
		return Errorf(Invalid, "the file is cut short: its last line must have type \"end\"")
	}
	return nil
}

// choose looks at the first line and chooses the format.
func (in *importer) choose(line []byte) bool {
	var head exportLine
	if json.Unmarshal(line, &head) != nil {
		return false
	}
	switch {
	case head.Type == "header" && head.Format == ExportFormat:
		in.report.Format, in.parse = ExportFormat, in.exportLine
	case head.Type == "entity" || head.Type == "relation":
		in.report.Format, in.parse = MCPMemoryFormat, func(line []byte) error {
			records, err := in.m.importMCP(line)
			in.drafts = append(in.drafts, records...)
			return err
		}
	}
	return in.parse != nil
}

// exportLine checks a line of an export.
func (in *importer) exportLine(data []byte) error {
	var line exportLine
	if err := CheckJSON("the line", data); err != nil {
		return err
	}
	if err := jsonguard.Unmarshal(data, &line); err != nil {
		return Errorf(Invalid, "not JSON of an export: %s", jsonform.Fault(err))
	}
	if in.ended {
		return Errorf(Invalid, "nothing may follow the line of type \"end\"")
	}
	switch line.Type {
	case "header":
		if line.Version < 1 {
			return Errorf(Invalid, "version is %d; it must be 1 to %d", line.Version, ExportVersion)
		}
		if line.Format != ExportFormat || line.Version != ExportVersion {
			return Errorf(Unsupported, "format %s version %d: this build reads %s up to version %d", line.Format, line.Version, ExportFormat, ExportVersion)
		}
		return nil
	case "record":
		return in.record(&line)
	case "revision":
		return in.revision(&line)
	case "link":
		return in.link(&line)
	case "end":
		in.ended = true
		return in.complete(&line)
	}
	return Errorf(Invalid, "type %q: must be header, record, revision, link or end", line.Type)
}

// complete compares what was read with what the end line says was written.
func (in *importer) complete(line *exportLine) error {
	for _, c := range []struct {
		field      string
		said, read int64
	}{
		{"records", line.Records, in.records}, {"revision_lines", line.RevisionLines, in.revisions},
		{"links", line.Links, int64(len(in.links))},
	} {
		if c.said != c.read {
			return Errorf(Invalid, "%s is %d but %d were read: the file is damaged", c.field, c.said, c.read)
		}
	}
	return nil
}

func (in *importer) record(line *exportLine) error {
	if at, ok := in.lines[line.ID]; ok {
		return Errorf(Invalid, "id %s was in line %d already", line.ID, at)
	}
	d, err := in.m.importRecord(line)
	if err != nil {
		return err
	}
	d.Line = in.n
	taker, err := in.taker(d.Kind)
	if err != nil {
		return err
	}
	kept := false
	if taker != nil {
		kept, err = taker.Take(d)
	} else {
		err = in.m.importOwn(d, len(line.Slot) > 0)
	}
	if err != nil {
		return err
	}
	for _, v := range line.Revisions {
		if err := in.m.importRevision(d, v); err != nil {
			return err
		}
	}
	in.records++
	in.lines[d.ID], in.last = in.n, d
	if !kept {
		in.drafts = append(in.drafts, d)
	}
	return nil
}

// revision adds an earlier state to the record before it.
func (in *importer) revision(line *exportLine) error {
	if in.last == nil || in.last.ID != line.ID {
		return Errorf(Invalid, "id %s is not that of the record before it", line.ID)
	}
	in.revisions++
	return in.m.importRevision(in.last, Revision{Version: int64(line.Version), UpdatedAt: line.UpdatedAt,
		ReplacedAt: line.ReplacedAt, Text: line.Text, Tags: line.Tags, Attributes: line.Attributes})
}

func (in *importer) link(line *exportLine) error {
	l := Link{From: line.From, Type: line.LinkType, To: line.To}
	if l.Type.check() != nil {
		return Errorf(Unsupported, "link_type %q is not known to this build", l.Type)
	}
	if l.From.IsZero() || l.To.IsZero() || line.CreatedAt.IsZero() {
		return Errorf(Invalid, "from, to or created_at of the link is missing")
	}
	var err error
	l.At, err = CheckTime("created_at", line.CreatedAt)
	in.links = append(in.links, l)
	return err
}

// CheckTime brings a time to the form of stores. One outside of the years that
// can be written again would spoil every later export.
func CheckTime(field string, t time.Time) (time.Time, error) {
	if t.IsZero() {
		return time.Time{}, nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	if t.Year() < 1 || t.Year() > 9999 {
		return t, Errorf(Invalid, "%s is in the year %d; it must be 1 to 9999", field, t.Year())
	}
	return t, nil
}
