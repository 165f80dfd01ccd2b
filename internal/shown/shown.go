// Package shown reads texts in which memories are shown to a model: a context, the
// reply of a search, a list.
package shown

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
)

// most bounds the memories of a text that shows memories; a longer one is stored.
const most = 40

// A Memory is what a line or an element of a text says of a memory.
type Memory struct {
	ID      string // "": it is found by its words
	Content string // with an id: its text or a passage of it; else the line, see [LineContent]
}

// How Loci shows memories to a model: lines below headings, see the context of package loci.
var (
	heading = regexp.MustCompile(`^(# Memory Context|## (Key Facts|Active Rules|Recent Episodes))$`)
	key     = regexp.MustCompile(`^- \[[^\[\]]+\] \[[^\[\]]+\]: .`)
	scores  = regexp.MustCompile(` \((confidence: [01]\.\d\d|maturity: [a-z_]+, effectiveness: [01]\.\d\d)\)$`)
	moment  = regexp.MustCompile(`^- \[\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)\] `)
)

// WithoutKey is what a line says behind its key; the line itself if it has none.
func WithoutKey(line string) string {
	if _, after, keyed := strings.Cut(line, "]: "); keyed && key.MatchString("- "+line) {
		return after
	}
	return line
}

// Memories reads a text that shows memories; nil means that it says something else. isID
// tells ids from other words.
func Memories(text string, isID func(string) bool) []Memory {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
		if all := elements(text, isID); all != nil {
			return all
		}
	}
	var all []Memory
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || heading.MatchString(line) {
			continue
		}
		s, ok := readLine(line, isID)
		if !ok || len(all) == most {
			return nil
		}
		all = append(all, s)
	}
	return all
}

// readLine reads a line of a context, or one of columns: one of them an id, the last
// one the text.
func readLine(line string, isID func(string) bool) (s Memory, ok bool) {
	if columns := strings.Split(line, "\t"); len(columns) > 1 {
		for _, c := range columns[:len(columns)-1] {
			if id := strings.TrimPrefix(c, notePrefix); isID(id) {
				return Memory{id, columns[len(columns)-1]}, true
			}
		}
		return s, false
	}
	if !scores.MatchString(line) && !moment.MatchString(line) && !key.MatchString(line) {
		return s, false
	}
	return Memory{Content: LineContent(line)}, true
}

// LineContent is a line of a context without the parts that change over time.
func LineContent(line string) string {
	if at := moment.FindString(line); at != "" {
		return line[len(at):]
	}
	return strings.TrimPrefix(scores.ReplaceAllString(line, ""), "- ")
}

// notePrefix stands before the ids of notes where a model sees them.
const notePrefix = "note-"

// elements reads the reply of a search: a list of objects, alone or under
// "results", each with the id and the text of a memory.
func elements(text string, isID func(string) bool) []Memory {
	var wrapped struct {
		Results json.RawMessage `json:"results"`
	}
	if json.Unmarshal([]byte(text), &wrapped) == nil && wrapped.Results != nil {
		text = string(wrapped.Results)
	}
	var list []struct {
		ID      string `json:"id"`
		NoteID  string `json:"note_id"`
		Key     string `json:"key"`
		Text    string `json:"text"`
		Content string `json:"content"`
		Passage string `json:"passage"`
		Value   struct {
			Content json.RawMessage `json:"content"`
		} `json:"value"`
	}
	if json.Unmarshal([]byte(text), &list) != nil || len(list) > most {
		return nil
	}
	var all []Memory
	for _, e := range list {
		var value string
		if json.Unmarshal(e.Value.Content, &value) != nil {
			value = string(e.Value.Content)
		}
		id := strings.TrimPrefix(e.NoteID+e.ID+e.Key, notePrefix)
		if !isID(id) {
			return nil
		}
		all = append(all, Memory{id, cmp.Or(e.Text, e.Content, e.Passage, value)})
	}
	return all
}
