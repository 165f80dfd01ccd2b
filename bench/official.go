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
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// loCoMoCategories are what the numbers of LoCoMo's questions mean, by its paper.
var loCoMoCategories = map[int]string{1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: adversarial}

// loCoMo is a conversation. It has no sample_id in the older form.
type loCoMo struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           []struct {
		Question string   `json:"question"`
		Answer   answer   `json:"answer"`
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	} `json:"qa"`
}

type loCoMoTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

var (
	loCoMoSession = regexp.MustCompile(`^session_(\d+)$`)
	dialogue      = regexp.MustCompile(`D(\d+):0*(\d+)`) // "D8:6; D9:17" and "D30:05" are there
)

func readLoCoMo(path string, d *Dataset) error {
	var raw json.RawMessage
	if err := d.decodeFile(path, &raw); err != nil {
		return err
	}
	parts := []json.RawMessage{raw}
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		if err := json.Unmarshal(raw, &parts); err != nil {
			return loci.Errorf(loci.Invalid, "%s is not as LoCoMo is published: %w", path, err)
		}
	}
	for i, part := range parts {
		var s loCoMo
		err := json.Unmarshal(part, &s)
		if err == nil && s.Conversation == nil { // its sessions stand beside the questions
			err = json.Unmarshal(part, &s.Conversation)
		}
		if err != nil {
			return loci.Errorf(loci.Invalid, "%s is not as LoCoMo is published: %w", path, err)
		}
		s.ID = cmp.Or(s.ID, fmt.Sprintf("%s#%d", strings.TrimSuffix(filepath.Base(path), ".json"), i+1))
		if err := s.turns(d); err != nil {
			return loci.Errorf(loci.Invalid, "%s: conversation %q: %w", path, s.ID, err)
		}
		for n, qa := range s.QA {
			q := Question{Conv: s.ID, ID: fmt.Sprintf("%s/%d", s.ID, n+1), Category: loCoMoCategories[qa.Category],
				Text: qa.Question, Answer: qa.Answer}
			for _, named := range qa.Evidence {
				for _, id := range dialogue.FindAllStringSubmatch(named, -1) {
					q.Evidence = append(q.Evidence, "D"+id[1]+":"+id[2])
				}
			}
			d.Questions = append(d.Questions, q)
		}
	}
	return nil
}

// turns adds those of a conversation, whose sessions are numbered fields.
func (s *loCoMo) turns(d *Dataset) error {
	var numbers []int
	for name := range s.Conversation {
		if m := loCoMoSession.FindStringSubmatch(name); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				return err
			}
			numbers = append(numbers, n)
		}
	}
	if slices.Sort(numbers); len(numbers) == 0 {
		return errors.New("it has no session_1")
	}
	index := 0
	for _, n := range numbers {
		name := fmt.Sprintf("session_%d", n)
		var said []loCoMoTurn
		var date string
		if err := json.Unmarshal(s.Conversation[name], &said); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if raw, ok := s.Conversation[name+"_date_time"]; ok {
			if err := json.Unmarshal(raw, &date); err != nil {
				return fmt.Errorf("%s_date_time: %w", name, err)
			}
		}
		at, err := readTime(date)
		if err != nil {
			return fmt.Errorf("%s_date_time: %w", name, err)
		}
		for _, t := range said {
			d.add(Turn{Conv: s.ID, ID: t.ID, Text: t.Text, Caption: t.Caption, Session: name, Index: index, Speaker: t.Speaker, Time: at})
			index++
		}
	}
	return nil
}

// add adds a turn that says something.
func (d *Dataset) add(t Turn) {
	if strings.TrimSpace(t.Text) != "" || strings.TrimSpace(t.Caption) != "" {
		d.Turns = append(d.Turns, t)
	}
}

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
			d.add(Turn{Conv: l.ID, ID: id, Text: said.Content, Session: session, Index: index, Speaker: said.Role, Role: said.Role, Time: times[i]})
			index++
		}
	}
	d.Questions = append(d.Questions, q)
	return nil
}

type beamBatch struct {
	Number int    `json:"batch_number"`
	Anchor string `json:"time_anchor"`
	Turns  [][]struct {
		Role    string `json:"role"`
		ID      int    `json:"id"`
		Anchor  string `json:"time_anchor"`
		Content string `json:"content"`
	} `json:"turns"`
}

type beamQuestion struct {
	Question string          `json:"question"`
	Answer   answer          `json:"answer"`
	Ideal    answer          `json:"ideal_answer"`
	Response answer          `json:"ideal_response"`
	Summary  answer          `json:"ideal_summary"`
	Sources  json.RawMessage `json:"source_chat_ids"` // numbers, in lists or objects of lists
}

// readBEAM reads the chats of a directory, or the directory of one chat.
func readBEAM(path string, d *Dataset) error {
	chats, err := filepath.Glob(filepath.Join(path, "*", "chat.json"))
	if err != nil {
		return loci.Errorf(loci.Invalid, "%s: %w", path, err)
	}
	if _, err := os.Stat(filepath.Join(path, "chat.json")); err == nil {
		chats = []string{filepath.Join(path, "chat.json")}
	}
	if len(chats) == 0 {
		return loci.Errorf(loci.Invalid, "%s has no chat.json, and no directory with one", path)
	}
	slices.SortFunc(chats, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	for _, chat := range chats {
		if err := readBEAMChat(chat, d); err != nil {
			return err
		}
	}
	return nil
}

func readBEAMChat(path string, d *Dataset) error {
	conv := filepath.Base(filepath.Dir(path))
	var raw []json.RawMessage
	if err := d.decodeFile(path, &raw); err != nil {
		return err
	}
	batches, err := beamBatches(raw)
	if err != nil {
		return loci.Errorf(loci.Invalid, "%s is not as BEAM is published: %w", path, err)
	}
	at := ""
	index := 0
	for n := range batches {
		for _, turns := range batches[n].Turns {
			for _, said := range turns {
				if anchor := cmp.Or(said.Anchor, batches[n].Anchor); anchor != "" {
					if at, err = readTime(anchor); err != nil {
						return loci.Errorf(loci.Invalid, "%s: message %d: %w", path, said.ID, err)
					}
				}
				d.add(Turn{Conv: conv, ID: strconv.Itoa(said.ID), Text: said.Content, Session: fmt.Sprintf("batch %d", n+1),
					Index: index, Speaker: said.Role, Role: said.Role, Time: at})
				index++
			}
		}
	}
	var asked map[string][]beamQuestion
	questions := filepath.Join(filepath.Dir(path), "probing_questions", "probing_questions.json")
	if err := d.decodeFile(questions, &asked); err != nil {
		return err
	}
	for _, category := range slices.Sorted(maps.Keys(asked)) {
		for n, q := range asked[category] {
			d.Questions = append(d.Questions, Question{Conv: conv, ID: fmt.Sprintf("%s/%s/%d", conv, category, n+1), Category: category,
				Text: q.Question, Answer: cmp.Or(q.Answer, q.Ideal, q.Response, q.Summary), Abstain: category == "abstention",
				Evidence: numbersIn(q.Sources)})
		}
	}
	return nil
}

// beamBatches are those of a chat: a list, or in the longest chats a list of plans, each an
// object of lists.
func beamBatches(raw []json.RawMessage) (all []beamBatch, err error) {
	for _, r := range raw {
		var one beamBatch
		if err := json.Unmarshal(r, &one); err == nil && one.Turns != nil {
			all = append(all, one)
			continue
		}
		var plans map[string][]beamBatch
		if err := json.Unmarshal(r, &plans); err != nil {
			return nil, err
		}
		for _, plan := range slices.Sorted(maps.Keys(plans)) {
			all = append(all, plans[plan]...)
		}
	}
	return all, nil
}

// numbersIn are all numbers of a value, as they are written.
func numbersIn(raw json.RawMessage) (out []string) {
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	for {
		token, err := in.Token()
		if err != nil {
			return out
		}
		if n, ok := token.(json.Number); ok {
			out = append(out, n.String())
		}
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
			out.Turns = append(out.Turns, Turn{Conv: t.Conv, ID: session, Session: session, Index: n, Time: t.Time, at: t.at})
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
