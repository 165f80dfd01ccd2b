package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
)

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
			d.Questions = append(d.Questions, Question{
				Conv: conv, ID: fmt.Sprintf("%s/%s/%d", conv, category, n+1), Category: category, Text: q.Question,
				Answer:  cmp.Or(q.Answer, q.Ideal, q.Response, q.Summary),
				Abstain: category == "abstention", Evidence: numbersIn(q.Sources),
			})
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
