package loci

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/intake"
)

// errMoved says that another writer took an id after the import had settled what
// every id of the input becomes, or that its vectors are out of date.
var errMoved = errors.New("what the import was made from has changed")

// store settles what each id becomes, then stores the records and their links, and what features keep.
func (in *importer) store(ctx context.Context, progress func(done int64)) error {
	if err := in.settleAll(ctx); err != nil {
		return err
	}
	stored := func(report ImportReport) {
		in.count(report)
		if progress != nil {
			progress(in.report.Created + in.report.Existing + in.report.Conflicts)
		}
	}
	for part := range batches(in.drafts) {
		report, err := in.storeBatch(ctx, part)
		if err != nil {
			return err
		}
		stored(report)
	}
	// Links come after all records: the two ends of one may be in different batches,
	// and only now it is certain which of them are there.
	for part := range slices.Chunk(in.links, 200) {
		if err := in.storeLinks(ctx, part); err != nil {
			return err
		}
	}
	for _, t := range in.ordered {
		if err := t.Store(ctx, stored); err != nil {
			return err
		}
	}
	return nil
}

// batches cuts drafts into changes of up to 200 records and 4 MiB of text, whose vectors may take 100 MiB.
func batches(drafts []*Imported) iter.Seq[[]*Imported] {
	return intake.Batches(drafts, 200, 4<<20, func(d *Imported) int { return len(d.Text) })
}

// settleAll finds out what each id of the input becomes, before the first record
// is stored: a record may name one that comes much later.
func (in *importer) settleAll(ctx context.Context) error {
	in.ids = map[ID]ID{}
	seen := newSettled(map[string]bool{})
	for part := range batches(in.drafts) {
		fates, err := in.settle(ctx, part, seen, in.m.engine.now())
		if err != nil {
			return err
		}
		for i := range fates {
			part[i].fresh = !fates[i].existing && fates[i].conflict == ""
			if old := part[i].ID; fates[i].id != old {
				in.ids[old] = fates[i].id
			}
		}
	}
	in.report.Moved = int64(len(in.ids))
	return nil
}

// became is what an id of the input became.
func (in *importer) became(id ID) ID {
	if to, ok := in.ids[id]; ok {
		return to
	}
	return id
}

// storeBatch stores the drafts that are not there yet, in one change. If somebody took ids in the meantime, all of them
// are settled again; the import then finds what it has stored already.
func (in *importer) storeBatch(ctx context.Context, drafts []*Imported) (report ImportReport, err error) {
	for _, d := range drafts {
		in.m.engine.cutPassages(&d.Record)
	}
	for range maxAttempts {
		vectors, err := in.embed(ctx, drafts) // once, however often the change is decided again
		if err != nil {
			return report, err
		}
		again := false
		report, err = Commit(ctx, in.m, "import", nil, func(now time.Time) (Decision[ImportReport], error) {
			in.beside, again = in.beside || again, true
			return in.decide(ctx, drafts, vectors, now)
		})
		if !errors.Is(err, errMoved) {
			return report, err
		}
		if err := in.settleAll(ctx); err != nil {
			return report, err
		}
	}
	return report, &Error{Code: Conflict, Op: "import", Msg: "others are importing the same memories at the same time", Recovery: "Import again."}
}

// count adds what became of some records.
func (in *importer) count(report ImportReport) {
	in.report.Created += report.Created
	in.report.Existing += report.Existing
	in.report.Conflicts += report.Conflicts
	in.report.Skipped = append(in.report.Skipped, report.Skipped...)
	in.report.Skipped = in.report.Skipped[:min(len(in.report.Skipped), maxSkipped)]
}

// decide makes the change of a batch.
func (in *importer) decide(
	ctx context.Context, drafts []*Imported, vectors [][]Vectors, now time.Time,
) (d Decision[ImportReport], err error) {
	if active, err := in.m.expectedSpace(ctx, false); err != nil || active != in.active {
		return d, cmp.Or(err, errMoved) // the vectors are not of the space they were made for
	}
	fates, err := in.settle(ctx, drafts, newSettled(nil), now)
	if err != nil {
		return d, err
	}
	for i, f := range fates {
		if f.id != in.became(drafts[i].ID) {
			return d, errMoved
		}
		switch {
		case f.conflict != "":
			d.Reply.Conflicts++
			d.Reply.Skipped = append(d.Reply.Skipped, f.conflict)
			continue
		case f.existing:
			d.Reply.Existing++
			continue
		}
		if f.expired != nil {
			gone := in.m.eraseChange([]Record{*f.expired}, now)
			d.Change.Erase = append(d.Change.Erase, gone.Erase...)
			d.Change.Events = append(d.Change.Events, gone.Events...)
		}
		r := drafts[i].Record
		r.ID = f.id
		if err := in.follow(&r); err != nil {
			return d, err
		}
		if wantsVectors(&r) {
			in.lag(vectors[i])
		}
		d.Reply.Created++
		d.Change.Put = append(d.Change.Put, Put{Record: r, History: drafts[i].History, Vectors: vectors[i]})
		d.Change.Events = append(d.Change.Events, in.m.event(EventImported, &r, now, map[string]any{"bytes": len(r.Text)}))
	}
	return d, nil
}

// lag notes which vectors a record is stored without.
func (in *importer) lag(vectors []Vectors) {
	for _, c := range in.writers {
		if !slices.ContainsFunc(vectors, func(v Vectors) bool { return v.Space == c.space() }) {
			in.m.engine.generations(in.m.view.Tenant).Lag(c.makes)
		}
	}
}

// follow makes a fact name what its neighbours became.
func (in *importer) follow(r *Record) error {
	if r.Kind != KindFact {
		return nil
	}
	body, err := readFact(r)
	if err != nil {
		return err
	}
	moved := body
	moved.Supersedes, moved.SupersededBy = in.became(body.Supersedes), in.became(body.SupersededBy)
	if moved == body {
		return nil
	}
	return SetBody(r, moved)
}

// storeLinks stores those of the links whose ends are both there.
func (in *importer) storeLinks(ctx context.Context, links []Link) error {
	var ids []ID
	for _, l := range links {
		ids = append(ids, in.became(l.From), in.became(l.To))
	}
	_, err := Commit(ctx, in.m, "import links", nil, func(time.Time) (d Decision[bool], err error) {
		// An end in another namespace is not the caller's to link to.
		there, err := in.m.present(ctx, in.m.writable(time.Time{}), ids)
		for _, l := range links {
			l.From, l.To = in.became(l.From), in.became(l.To)
			if there[l.From] != nil && there[l.To] != nil {
				d.Change.Links = append(d.Change.Links, l)
			}
		}
		return d, err
	})
	return err
}
