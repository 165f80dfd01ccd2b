package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
)

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
			d.add(Turn{Conv: s.ID, ID: t.ID, Text: t.Text, Caption: t.Caption, Session: name, Index: index,
				Speaker: t.Speaker, Time: at})
			index++
		}
	}
	return nil
}
