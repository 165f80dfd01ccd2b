package tree

import (
	"context"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
)

// A Replacement is what [Tree.ReplaceOnce] did.
type Replacement struct {
	FileInfo
	Line int64 `json:"line"` // where the replaced text began, from 1
}

// OccurrencesError is the cause of an error of [Tree.ReplaceOnce]: the text does not occur
// exactly once.
type OccurrencesError struct {
	Lines []int64 // where each begins, from 1; none: there is no such text
}

// Error says how many there are.
func (o *OccurrencesError) Error() string {
	return fmt.Sprintf("the text occurs %d times", len(o.Lines))
}

// Unwrap returns EINVAL.
func (o *OccurrencesError) Unwrap() error { return EINVAL }

// maxOccurrences bounds the lines that an [OccurrencesError] lists.
const maxOccurrences = 100

// ReplaceOnce replaces a text that occurs exactly once in a file, as it is written.
// Any other number of occurrences changes nothing and is an error whose cause is an
// [*OccurrencesError]; it lists 100 lines at most. An empty old is EINVAL. ENOENT, EISDIR,
// EFBIG or ENOSPC.
func (t *Tree) ReplaceOnce(ctx context.Context, path, old, content string) (Replacement, error) {
	path, err := CleanPath(path)
	if err == nil {
		err = checkText(content)
	}
	if err == nil && old == "" {
		err = errorf(loci.Invalid, EINVAL, "Name the text to replace.", "the text to replace must not be empty")
	}
	if err != nil {
		return Replacement{}, err
	}
	return editTree(ctx, t, "replace in file", []string{path, old, content}, func(ed *edit) (r Replacement, id loci.ID, err error) {
		e, err := ed.present(path)
		if err != nil {
			return r, loci.ID{}, err
		}
		err = ed.rewrite(e, func(text string) (string, error) {
			at := apart(text, old)
			if len(at) != 1 {
				o := &OccurrencesError{occurrences(text, old)}
				return "", &loci.Error{Code: loci.Invalid, Msg: o.Error(), Err: o, Recovery: "Read the file, and name a text that occurs once."}
			}
			r.Line = 1 + int64(strings.Count(text[:at[0]], "\n"))
			return substitute(text, at, len(old), content), nil
		})
		r.FileInfo, id, err = ed.done(e, err)
		return r, id, err
	})
}

// occurrences lists the lines at which a text begins, also where one overlaps another.
func occurrences(text, sought string) (lines []int64) {
	line, from := int64(1), 0
	for at := range places(text, sought) {
		line += int64(strings.Count(text[from:at], "\n"))
		lines = append(lines, line)
		if from = at; len(lines) == maxOccurrences {
			break
		}
	}
	return lines
}
