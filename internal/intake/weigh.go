package intake

import (
	"encoding/json"
	"unicode/utf8"
)

// MaxWeight bounds the lines of one request to import, together, so that it costs less than a
// second: 4,000 records, 10,000 links or earlier states, 2 MiB of texts, or a mixture of these. Of texts, what is not ASCII
// counts twice, and a hyphen between two letters of ASCII as six bytes.
const MaxWeight = 20_000

// What a line weighs. A record costs what 2.5 links do, or 525 bytes of text: its words are looked up, and vectors
// are made of them. Words of other letters than those of ASCII are looked up in several languages. Other bytes, such as those of a checkpoint, are only read and stored.
const (
	lineWeight   = 2
	recordWeight = 5
	bytesOfText  = 105  // for a weight of 1
	bytesOfLine  = 2000 // the same
)

// Weight is what a line of an import costs, in parts of [MaxWeight]. An entity of the MCP reference memory
// server is as many records as it has observations, each with its name. One record of an export weighs less than
// MaxWeight whatever it holds: it cannot be divided. What cannot be read weighs as a record, and is refused later.
func Weight(line []byte) int {
	var in struct {
		Type         string            `json:"type"`
		Text         string            `json:"text"`
		Name         string            `json:"name"`
		EntityType   string            `json:"entityType"`
		Observations []json.RawMessage `json:"observations"`
	}
	weight := len(line) / bytesOfLine
	if json.Unmarshal(line, &in) != nil {
		return weight + recordWeight
	}
	switch in.Type {
	case "header", "revision", "link", "end":
		return weight + lineWeight
	case "entity":
		size := wordsOf(string(line))
		if n := len(in.Observations); n > 1 {
			size += (n - 1) * (wordsOf(in.Name) + wordsOf(in.EntityType))
			weight += (n - 1) * recordWeight
		}
		return weight + recordWeight + size/bytesOfText
	}
	return min(weight+recordWeight+wordsOf(in.Text)/bytesOfText, MaxWeight/2)
}

// SizeOfText is how many bytes a text counts as: what is not ASCII counts twice.
func SizeOfText[T string | []byte](text T) int {
	size := len(text)
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			size++
		}
	}
	return size
}

// joinedBytes is what a hyphen between two letters counts as beyond its own byte: the words beside it are one word, too,
// which has its own forms, as a word of as many letters has.
const joinedBytes = 5

// wordsOf is how many bytes a text of an import counts as. Both clients count alike.
func wordsOf(text string) int {
	size := SizeOfText(text)
	for i := 1; i < len(text)-1; i++ {
		if text[i] == '-' && isLetter(text[i-1]) && isLetter(text[i+1]) {
			size += joinedBytes
		}
	}
	return size
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
