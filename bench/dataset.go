package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// A Turn is one memory of a dataset: something said in a conversation. Turns come
// in the order in which they were said.
type Turn struct {
	Conv    string `json:"conv"`    // whose memory it is; required
	ID      string `json:"turn"`    // unique in its conversation; required
	Text    string `json:"text"`    // required, unless there is a caption
	Session string `json:"session"` // the sitting it belongs to
	Index   int    `json:"idx"`     // its place in the conversation, from 0
	Speaker string `json:"speaker"`
	Role    string `json:"role"`    // user or assistant
	Time    string `json:"time"`    // ISO 8601, with or without a time zone
	Caption string `json:"caption"` // of a picture that was shared

	at time.Time
}

// A Question asks for turns of its conversation.
type Question struct {
	Conv     string   `json:"conv"`
	ID       string   `json:"qid"`
	Category string   `json:"category"`
	Text     string   `json:"question"`
	Abstain  bool     `json:"abstain"`  // the conversation does not hold the answer
	Evidence []string `json:"evidence"` // the turns that answer it
	Answer   answer   `json:"answer"`   // in words
	Half     string   `json:"half"`     // that [Injection] may ask alone: one to fit to, one to judge by

	// Sessions are those that answer it; none: those of the evidence.
	Sessions []string `json:"evidence_sessions"`
}

// adversarial is the category of questions that ask for what never happened.
const adversarial = "adversarial"

// counts reports whether the question enters the main figures.
func (q *Question) counts() bool {
	return len(q.Evidence) > 0 && !q.Abstain && q.Category != adversarial
}

// A Dataset is what retrieval is measured on.
type Dataset struct {
	Name      string // the last part of its directory, or what it is published as
	Turns     []Turn
	Questions []Question

	Files      []DataFile // what a published dataset was read from
	Unresolved int        // evidence that no turn has, and that was left out
}

// maxLine bounds a line of a dataset.
const maxLine = 1 << 20

// ReadDataset reads turns.jsonl and questions.jsonl of a directory. Unknown fields are
// ignored. Anything that would make a figure wrong is an Invalid error that names the
// file and the line: JSON that does not parse, a turn that is there twice or says
// nothing, evidence that is not in the conversation.
func ReadDataset(dir string) (*Dataset, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, loci.Errorf(loci.Invalid, "%s: %w", dir, err)
	}
	d := &Dataset{Name: filepath.Base(absolute)}
	turns := map[string]map[string]bool{}
	if d.Turns, err = readObjects(filepath.Join(dir, "turns.jsonl"), func(t *Turn) error { return t.check(turns) }); err != nil {
		return nil, err
	}
	asked := map[[2]string]bool{}
	d.Questions, err = readObjects(filepath.Join(dir, "questions.jsonl"), func(q *Question) error { return q.check(turns, asked) })
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(d.Questions, func(q Question) bool { return q.counts() }) {
		return nil, loci.Errorf(loci.Invalid, "%s: no question has evidence, so there is nothing to measure", filepath.Join(dir, "questions.jsonl"))
	}
	return d, nil
}

func (t *Turn) check(seen map[string]map[string]bool) (err error) {
	switch {
	case t.Conv == "":
		return errors.New(`"conv" is missing`)
	case t.ID == "":
		return errors.New(`"turn" is missing`)
	case strings.TrimSpace(t.Text) == "" && strings.TrimSpace(t.Caption) == "":
		return fmt.Errorf("turn %q of %q has neither text nor caption", t.ID, t.Conv)
	case seen[t.Conv][t.ID]:
		return fmt.Errorf("turn %q of %q is there twice", t.ID, t.Conv)
	}
	if seen[t.Conv] == nil {
		seen[t.Conv] = map[string]bool{}
	}
	seen[t.Conv][t.ID] = true
	t.at, err = parseTime(t.Time)
	return err
}

func (q *Question) check(turns map[string]map[string]bool, asked map[[2]string]bool) error {
	key := [2]string{q.Conv, q.ID}
	switch {
	case q.ID == "":
		return errors.New(`"qid" is missing`)
	case strings.TrimSpace(q.Text) == "":
		return fmt.Errorf("question %q is empty", q.ID)
	case turns[q.Conv] == nil:
		return fmt.Errorf("question %q is about conversation %q, of which there is no turn", q.ID, q.Conv)
	case asked[key]:
		return fmt.Errorf("question %q of %q is there twice", q.ID, q.Conv)
	}
	asked[key] = true
	if q.Category == "" {
		q.Category = "other"
	}
	for _, id := range q.Evidence {
		if !turns[q.Conv][id] {
			return fmt.Errorf("question %q has evidence %q, which is no turn of %q", q.ID, id, q.Conv)
		}
	}
	slices.Sort(q.Evidence)
	q.Evidence = slices.Compact(q.Evidence)
	return nil
}

// parseTime reads a time; without a zone it is taken as UTC, the empty one is zero.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf(`"time" is %q; write it as 2026-01-31T17:30:00`, text)
}

// readObjects reads a JSON object a line; blank lines are passed over.
func readObjects[T any](path string, check func(*T) error) (values []T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, loci.Errorf(loci.Invalid, "%s cannot be read: %w", path, errors.Unwrap(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewReaderSize(f, maxLine)
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, loci.Errorf(loci.Invalid, "%s:%d: the line is longer than %d bytes", path, n, maxLine)
		case err != nil && !errors.Is(err, io.EOF):
			return nil, loci.Errorf(loci.Unavailable, "%s: %w", path, err)
		case len(strings.TrimSpace(string(line))) > 0:
			var value T
			if err := json.Unmarshal(line, &value); err != nil {
				return nil, loci.Errorf(loci.Invalid, "%s:%d: %w", path, n, err)
			}
			if err := check(&value); err != nil {
				return nil, loci.Errorf(loci.Invalid, "%s:%d: %w", path, n, err)
			}
			values = append(values, value)
		}
		if err != nil {
			break
		}
	}
	if len(values) == 0 {
		return nil, loci.Errorf(loci.Invalid, "%s is empty", path)
	}
	return values, nil
}
