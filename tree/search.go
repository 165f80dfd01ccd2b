package tree

import (
	"context"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// A Query is what [Tree.Search] looks for; text, mode, limit and offset are those
// of [loci.Query].
type Query struct {
	Text   string // must not be empty
	Mode   loci.Mode
	Limit  int
	Offset int

	MinScore float64 // see [loci.Query]
	Rerank   *bool   // see [loci.Query]

	Since, Until time.Time // passages written at or after Since and before Until; zero: at any time

	Path string // search this file, or below this directory; empty: everywhere
}

// A Match is a passage of a file that a search found. A long file may have several.
type Match struct {
	File    FileInfo
	First   int64 // the line the passage begins in, from 1
	Last    int64 // the line it ends in
	Passage string
	Score   float64
	Explain loci.Explain
}

// A Result is what [Tree.Search] returns.
type Result struct {
	Matches     []Match
	KeywordOnly bool   // as in [loci.Result]
	NoWords     bool   // as in [loci.Result]
	NotReranked string // as in [loci.Result]
	Corrections []loci.Correction
	Times       []loci.NamedTime
}

// maxSearchedFiles bounds the files of a directory that is searched by itself.
const maxSearchedFiles = 10_000

// Search finds passages in the current contents of files, as [loci.Memory.Search] does.
// EINVAL: the text is empty; EFBIG: below the path are more than 10,000 files.
func (t *Tree) Search(ctx context.Context, q Query) (Result, error) {
	if strings.TrimSpace(q.Text) == "" {
		return Result{}, errorf(loci.Invalid, EINVAL, "", "query must not be empty")
	}
	sequences, err := t.sequencesBelow(ctx, q.Path)
	if err != nil || sequences != nil && len(sequences) == 0 {
		return Result{}, err
	}
	f := loci.Filter{
		Within: []loci.Namespace{t.m.Namespace()}, Kinds: []loci.Kind{KindBlock},
		Sequences: sequences, At: t.m.Now(),
	}
	result, err := t.m.SearchWhere(ctx, f, loci.Query{Text: q.Text, Mode: q.Mode, Limit: q.Limit, Offset: q.Offset,
		MinScore: q.MinScore, Rerank: q.Rerank, Since: q.Since, Until: q.Until})
	if err != nil {
		return Result{}, err
	}
	files, err := t.filesOf(ctx, result.Matches)
	if err != nil {
		return Result{}, err
	}
	out := Result{KeywordOnly: result.KeywordOnly, NoWords: result.NoWords, NotReranked: result.NotReranked,
		Corrections: result.Corrections, Times: result.Times}
	for i := range result.Matches {
		match := &result.Matches[i]
		e := files[match.Record.Sequence]
		if e == nil {
			continue // deleted since it was found
		}
		line := int64(1)
		for _, b := range e.manifest.Blocks {
			if b.N == match.Record.Position {
				line += int64(strings.Count(match.Record.Text[:match.Span.Start], "\n"))
				last := line + int64(strings.Count(strings.TrimRight(match.Passage, "\n"), "\n"))
				out.Matches = append(out.Matches, Match{File: e.info(), First: line, Last: last,
					Passage: match.Passage, Score: match.Score, Explain: match.Explain})
				break
			}
			line += b.Lines
		}
	}
	return out, nil
}

// sequencesBelow lists the sequences of the blocks of the files below a path; nil means
// all.
func (t *Tree) sequencesBelow(ctx context.Context, path string) (sequences []string, err error) {
	if path == "" {
		return nil, nil
	}
	if path, err = CleanPath(path); err != nil || path == "/" {
		return nil, err
	}
	sequences = []string{}
	err = t.Walk(ctx, path, func(f FileInfo) bool {
		if !f.Dir {
			sequences = append(sequences, f.ID.String())
		}
		return len(sequences) <= maxSearchedFiles
	})
	if err == nil && len(sequences) > maxSearchedFiles {
		err = errorf(loci.TooLarge, EFBIG, "Search everywhere, or below a smaller directory.", "more than %d files are below the path", maxSearchedFiles)
	}
	return sequences, err
}

// filesOf reads the entries of the files that matches are in, by their sequence.
func (t *Tree) filesOf(ctx context.Context, matches []loci.Match) (map[string]*entry, error) {
	files := map[string]*entry{}
	f := t.entries()
	for i := range matches {
		sequence := matches[i].Record.Sequence
		if _, seen := files[sequence]; seen {
			continue
		}
		id, err := loci.ParseID(sequence)
		if err != nil {
			return nil, &loci.Error{Code: loci.Internal, Op: "search files", Err: err}
		}
		files[sequence] = nil
		f.IDs = append(f.IDs, id)
	}
	if len(f.IDs) == 0 {
		return files, nil
	}
	records, _, err := t.m.Records(ctx, f, loci.Page{Limit: len(f.IDs)})
	if err != nil {
		return nil, err
	}
	for i := range records {
		e, err := entryOf(&records[i])
		if err != nil {
			return nil, err
		}
		files[records[i].ID.String()] = e
	}
	return files, nil
}
