package bench

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

type longMemEval struct {
	ID       string   `json:"question_id"`
	Type     string   `json:"question_type"`
	Question string   `json:"question"`
	Answer   answer   `json:"answer"`
	Dates    []string `json:"haystack_dates"`
	IDs      []string `json:"haystack_session_ids"`
	Sessions [][]struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		HasAnswer bool   `json:"has_answer"`
	} `json:"haystack_sessions"`
	Answers []string `json:"answer_session_ids"`
}

// readLongMemEval reads one question after the other: a file may have gigabytes.
func readLongMemEval(path string, d *Dataset) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return loci.Errorf(loci.Invalid, "%s cannot be read: %w", path, errors.Unwrap(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	in := json.NewDecoder(io.TeeReader(f, sum))
	if start, err := in.Token(); err != nil || start != json.Delim('[') {
		return loci.Errorf(loci.Invalid, "%s is not as LongMemEval is published: it must be a list", path)
	}
	for in.More() {
		var l longMemEval
		if err := in.Decode(&l); err != nil {
			return loci.Errorf(loci.Invalid, "%s is not as LongMemEval is published: %w", path, err)
		}
		if err := l.add(d); err != nil {
			return loci.Errorf(loci.Invalid, "%s: question %q: %w", path, l.ID, err)
		}
	}
	if _, err := in.Token(); err != nil {
		return loci.Errorf(loci.Invalid, "%s ends too soon: %w", path, err)
	}
	return d.note(path, f, sum)
}

// add adds a question with its history, which is a conversation of its own.
func (l *longMemEval) add(d *Dataset) error {
	if len(l.IDs) != len(l.Sessions) || len(l.Dates) != len(l.Sessions) {
		return fmt.Errorf("it has %d sessions, %d ids and %d dates of them", len(l.Sessions), len(l.IDs), len(l.Dates))
	}
	q := Question{Conv: l.ID, ID: l.ID, Category: l.Type, Text: l.Question, Answer: l.Answer,
		Abstain: strings.HasSuffix(l.ID, "_abs")}
	order := make([]int, len(l.Sessions)) // one of the files is not in order of time
	times := make([]string, len(l.Sessions))
	for i := range order {
		var err error
		if times[i], err = readTime(l.Dates[i]); err != nil {
			return err
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(times[a], times[b]) })
	index := 0
	for _, i := range order {
		session := fmt.Sprintf("%s#%d", l.IDs[i], i) // an id may be there twice
		if slices.Contains(l.Answers, l.IDs[i]) {
			q.Sessions = append(q.Sessions, session)
		}
		for n, said := range l.Sessions[i] {
			id := fmt.Sprintf("%s/%d", session, n)
			if said.HasAnswer {
				q.Evidence = append(q.Evidence, id)
			}
			d.add(Turn{Conv: l.ID, ID: id, Text: said.Content, Session: session, Index: index,
				Speaker: said.Role, Role: said.Role, Time: times[i]})
			index++
		}
	}
	d.Questions = append(d.Questions, q)
	return nil
}
