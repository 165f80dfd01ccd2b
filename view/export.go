package view

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/loci-memory/loci"
)

// Export writes the memories that a query selects as [loci.Memory.Export] writes all of
// them: those that stand for themselves by kind and state, the others by kind alone and
// whole. Tags, Where and AsOf must not be set. It returns how many an import of it counts.
func Export(
	ctx context.Context, m *loci.Memory, w io.Writer, q Query, progress func(done int64),
) (n int64, err error) {
	if len(q.Tags) > 0 || !q.Where.IsZero() || !q.AsOf.IsZero() {
		return 0, loci.Errorf(loci.Invalid, "an export can be limited only by kind and state")
	}
	if len(q.Kinds) == 0 && len(q.States) == 0 {
		return m.Export(ctx, w, progress)
	}
	if len(q.States) == 0 {
		q.States = States
	}
	f := &filter{out: bufio.NewWriter(w), kept: map[loci.ID]bool{}, whole: map[loci.Kind]bool{}}
	if err := f.choose(ctx, m, q); err != nil {
		return 0, err
	}
	in, out := io.Pipe()
	exported := make(chan error, 1)
	go func() {
		var err error
		n, err = m.Export(ctx, out, progress, f.read...)
		exported <- errors.Join(err, out.CloseWithError(err))
	}()
	err = f.lines(in)
	_ = in.CloseWithError(err) // the export ends, too
	if failed := <-exported; err == nil && failed != nil {
		err = failed
	}
	if err != nil {
		return n - f.left, err
	}
	return n - f.left, f.out.Flush()
}

// A filter lets the lines of an export through that were chosen.
type filter struct {
	out   *bufio.Writer
	kept  map[loci.ID]bool   // records, those written of whole kinds too
	whole map[loci.Kind]bool // kinds of which every record is
	read  []loci.Kind        // what may be among the lines
	left  int64              // records that were not kept
	end   struct {
		Type      string `json:"type"`
		Records   int64  `json:"records,omitempty"`
		Revisions int64  `json:"revision_lines,omitempty"`
		Links     int64  `json:"links,omitempty"`
	}
}

// choose finds what a query selects.
func (f *filter) choose(ctx context.Context, m *loci.Memory, q Query) error {
	if err := checkNames(m, q.Kinds, q.States); err != nil {
		return err
	}
	var single, alone []loci.Kind // as they are named, and as they are kept
	for _, s := range shapes(m) {
		asked := len(q.Kinds) == 0 || slices.Contains(q.Kinds, s.name)
		switch {
		case s.memory && (asked || s.kind == loci.KindFact && slices.Contains(q.Kinds, KindNote)):
			alone = append(alone, s.kind)
			if asked {
				single = append(single, s.name)
			}
			if s.kind == loci.KindFact && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, KindNote)) {
				single = append(single, KindNote)
			}
		case !s.memory && asked && slices.Contains(q.States, Live):
			for _, k := range s.feature.Kinds() { // with an owner go its parts
				f.whole[k.Kind] = true
				f.read = append(f.read, k.Kind)
			}
		}
	}
	if len(single) > 0 {
		q.Kinds = single
		if err := f.keepListed(ctx, m, q); err != nil {
			return err
		}
	}
	if len(f.kept) > 0 {
		f.read = append(f.read, alone...)
	}
	if len(f.read) == 0 {
		f.read = []loci.Kind{""} // nothing is of this kind
	}
	return nil
}

// keepListed keeps every record that a query lists.
func (f *filter) keepListed(ctx context.Context, m *loci.Memory, q Query) error {
	for page := (loci.Page{Limit: 500}); ; {
		entries, next, err := List(ctx, m, q, page)
		if err != nil {
			return err
		}
		for i := range entries {
			f.kept[entries[i].ID] = true
		}
		if page.Cursor = next; next == "" {
			return nil
		}
	}
}

// lines reads an export and writes what is kept of it.
func (f *filter) lines(in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) == 0 || err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		if err := f.line(line); err != nil {
			return err
		}
	}
}

func (f *filter) line(line []byte) error {
	var known struct {
		Type string    `json:"type"`
		Kind loci.Kind `json:"kind"`
		ID   loci.ID   `json:"id"`
		From loci.ID   `json:"from"`
		To   loci.ID   `json:"to"`
	}
	if err := json.Unmarshal(line, &known); err != nil {
		return &loci.Error{Code: loci.Internal, Op: "filter export", Err: err}
	}
	switch known.Type {
	case "record":
		if f.whole[known.Kind] {
			f.kept[known.ID] = true
		}
		if !f.kept[known.ID] {
			f.left++
			return nil
		}
		f.end.Records++
	case "revision":
		if !f.kept[known.ID] {
			return nil
		}
		f.end.Revisions++
	case "link":
		if !f.kept[known.From] || !f.kept[known.To] {
			return nil
		}
		f.end.Links++
	case "end":
		f.end.Type = "end"
		data, err := loci.MarshalJSON(f.end)
		if err != nil {
			return err
		}
		line = append(bytes.TrimSpace(data), '\n')
	}
	_, err := f.out.Write(line)
	return err
}
