package bench

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// officials read the published datasets, each in the form it is published in.
var officials = map[string]func(path string, d *Dataset) error{
	"locomo":      readLoCoMo,
	"longmemeval": readLongMemEval,
	"beam":        readBEAM,
}

// Officials are the names of the published datasets that [ReadOfficial] knows.
func Officials() []string { return slices.Sorted(maps.Keys(officials)) }

// A DataFile is one that a dataset was read from.
type DataFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of its bytes, hexadecimal
}

// ReadOfficial reads a published dataset as it is:
//
//	locomo       the file locomo10.json, or one of a conversation, as the older form has them
//	longmemeval  longmemeval_s.json, _m or _oracle; each question has a history of its own
//	beam         a directory of chats, each a directory with chat.json and probing_questions
//
// Turns that say nothing are left out. Evidence that no turn has, as some published answer
// keys name, is left out and counted in [Dataset].Unresolved. Invalid: a file of another form.
func ReadOfficial(name, path string) (*Dataset, error) {
	read := officials[name]
	if read == nil {
		return nil, loci.Errorf(loci.Invalid, "official is %q; it must be one of %s", name, strings.Join(Officials(), ", "))
	}
	d := &Dataset{Name: name}
	if err := read(path, d); err != nil {
		return nil, err
	}
	turns, asked := map[string]map[string]bool{}, map[[2]string]bool{}
	for i := range d.Turns {
		if err := d.Turns[i].check(turns); err != nil {
			return nil, loci.Errorf(loci.Invalid, "%s: %w", path, err)
		}
	}
	for i := range d.Questions {
		q := &d.Questions[i]
		named := len(q.Evidence)
		q.Evidence = slices.DeleteFunc(q.Evidence, func(id string) bool { return !turns[q.Conv][id] })
		d.Unresolved += named - len(q.Evidence)
		if err := q.check(turns, asked); err != nil {
			return nil, loci.Errorf(loci.Invalid, "%s: %w", path, err)
		}
	}
	if !slices.ContainsFunc(d.Questions, func(q Question) bool { return q.counts() }) {
		return nil, loci.Errorf(loci.Invalid, "%s: no question has evidence, so there is nothing to measure", path)
	}
	return d, nil
}

// decodeFile decodes a JSON file and notes its hash.
func (d *Dataset) decodeFile(path string, into any) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return loci.Errorf(loci.Invalid, "%s cannot be read: %w", path, errors.Unwrap(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	if err := decodeAll(io.TeeReader(f, sum), into); err != nil {
		return loci.Errorf(loci.Invalid, "%s is not as it is published: %w", path, err)
	}
	return d.note(path, f, sum)
}

func decodeAll(r io.Reader, into any) error {
	if err := json.NewDecoder(r).Decode(into); err != nil {
		return err
	}
	return nil
}

// note keeps the hash of a file whose rest was not read yet.
func (d *Dataset) note(path string, rest io.Reader, sum hash.Hash) error {
	if _, err := io.Copy(sum, rest); err != nil {
		return loci.Errorf(loci.Unavailable, "%s: %w", path, err)
	}
	d.Files = append(d.Files, DataFile{path, hex.EncodeToString(sum.Sum(nil))})
	return nil
}

// An answer is text, however a dataset writes it: as a string, a number or a list.
type answer string

func (a *answer) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*a = answer(text)
		return nil
	}
	var many []answer
	if json.Unmarshal(data, &many) == nil {
		words := make([]string, len(many))
		for i := range many {
			words[i] = string(many[i])
		}
		*a = answer(strings.Join(words, " "))
		return nil
	}
	*a = answer(bytes.Trim(data, `"`))
	return nil
}

// readTime reads a date of a published dataset: the forms of these, and those of
// [parseTime]. What it cannot read is an error: a memory at a wrong time is another test.
func readTime(text string) (string, error) {
	plain := strings.Join(strings.Fields(weekday.ReplaceAllString(strings.ReplaceAll(text, " on ", " "), " ")), " ")
	plain = strings.ReplaceAll(strings.ReplaceAll(plain, " ,", ","), ", ", " ")
	if plain == "" {
		return "", nil
	}
	for _, layout := range []string{
		"3:04 pm 2 January 2006", "2006/01/02 15:04", "2006/01/02", "January-2-2006", "January 2 2006", "2 January 2006",
		"January 2 2006 3:04 pm", "2006-01-02 15:04", "January-2006", "January 2006", "01/02/2006", time.RFC1123, time.RFC1123Z,
	} {
		if t, err := time.Parse(layout, plain); err == nil {
			return t.Format(time.RFC3339), nil
		}
		if t, err := time.Parse(strings.ReplaceAll(layout, "pm", "PM"), plain); err == nil {
			return t.Format(time.RFC3339), nil
		}
	}
	if t, err := parseTime(text); err == nil {
		return t.Format(time.RFC3339), nil
	}
	return "", fmt.Errorf("the date %q is of no form that is known", text)
}

var weekday = regexp.MustCompile(`\((?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*\)`)

// add adds a turn that says something.
func (d *Dataset) add(t Turn) {
	if strings.TrimSpace(t.Text) != "" || strings.TrimSpace(t.Caption) != "" {
		d.Turns = append(d.Turns, t)
	}
}

// bySession is the dataset with each session as one memory, which says who said what.
func (d *Dataset) bySession() *Dataset {
	out := &Dataset{Name: d.Name + ", sessions", Files: d.Files, Unresolved: d.Unresolved}
	of := map[[2]string]string{} // the session of a turn
	at := map[[2]string]int{}    // the place of a session in out
	for i := range d.Turns {
		t := &d.Turns[i]
		session := cmp.Or(t.Session, t.ID)
		of[[2]string{t.Conv, t.ID}] = session
		key := [2]string{t.Conv, session}
		n, known := at[key]
		if !known {
			n = len(out.Turns)
			at[key] = n
			whole := Turn{Conv: t.Conv, ID: session, Session: session, Index: n, Time: t.Time, at: t.at}
			out.Turns = append(out.Turns, whole)
		}
		whole := &out.Turns[n]
		whole.Text += t.content(ContextSpeaker, true) + "\n"
	}
	out.Questions = slices.Clone(d.Questions)
	for i := range out.Questions {
		q := &out.Questions[i]
		q.Evidence = slices.Clone(q.Evidence)
		for n, id := range q.Evidence {
			q.Evidence[n] = of[[2]string{q.Conv, id}]
		}
		slices.Sort(q.Evidence)
		q.Evidence = slices.Compact(q.Evidence)
	}
	return out
}

// some keeps n of the questions, evenly spread, and the conversations they ask about.
func (d *Dataset) some(n int) {
	if n <= 0 || n >= len(d.Questions) {
		return
	}
	kept := make([]Question, 0, n)
	wanted := map[string]bool{}
	for i := range n {
		q := d.Questions[i*len(d.Questions)/n]
		kept = append(kept, q)
		wanted[q.Conv] = true
	}
	d.Questions = kept
	d.Turns = slices.DeleteFunc(d.Turns, func(t Turn) bool { return !wanted[t.Conv] })
}
