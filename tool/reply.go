package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/secret"
)

// droppedField is where a structured reply says how many results did not fit.
const droppedField = "dropped"

// understood is what a query was taken for. Structured replies have it where there is any.
type understood struct {
	Corrections []loci.Correction `json:"corrections,omitempty"`
	Times       []loci.NamedTime  `json:"times,omitempty"`
	NotReranked string            `json:"not_reranked,omitempty"`
}

// members are the members of its object, each led by a comma.
func (u understood) members() (string, error) {
	data, err := encode(u)
	if err != nil || len(data) <= len("{}") {
		return "", err
	}
	return "," + string(data[1:len(data)-1]), nil
}

// listReply makes the reply of a search: as many whole results, from the first, as fit
// into the cap on text. Its structured form carries the same results under name, in the
// form they have in structured; nil means no structured form.
func (b *base) listReply(
	results []json.RawMessage, name string, structured []json.RawMessage, u understood,
) (Reply, error) {
	n := fitting(results, b.cfg.ReplyCap-len("[]"))
	r := Reply{Text: string(list(results[:n]))}
	if name == "" {
		return r, nil
	}
	more, err := u.members()
	if err != nil {
		return Reply{}, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "{%q:%s", name, list(structured[:n]))
	if dropped := len(results) - n; dropped > 0 {
		fmt.Fprintf(&out, ",%q:%d", droppedField, dropped)
	}
	out.WriteString(more + "}")
	r.Structured = out.Bytes()
	return r, nil
}

// resultsReply makes the reply of a search whose text and structured form are the
// same object: as many whole results, from the first, as fit into the cap.
func (b *base) resultsReply(results []json.RawMessage, u understood) (Reply, error) {
	more, err := u.members()
	if err != nil {
		return Reply{}, err
	}
	frame := len(`{"results":[]}`) + len(more)
	n := fitting(results, b.cfg.ReplyCap-frame)
	end := "}"
	if n < len(results) {
		longest := fmt.Sprintf(",%q:%d}", droppedField, len(results))
		n = fitting(results, b.cfg.ReplyCap-frame-len(longest)+len(end))
		end = fmt.Sprintf(",%q:%d}", droppedField, len(results)-n)
	}
	text := `{"results":` + string(list(results[:n])) + more + end
	return Reply{Text: text, Structured: json.RawMessage(text)}, nil
}

// fitting counts how many values, from the first and joined by commas, have at
// most some bytes.
func fitting(values []json.RawMessage, limit int) int {
	size := 0
	for n, v := range values {
		size += len(v)
		if n > 0 {
			size++ // the comma
		}
		if size > limit {
			return n
		}
	}
	return len(values)
}

// list joins encoded values to an array.
func list(values []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}

// objectReply makes a reply whose text and structured form are the same object.
func objectReply(v any) (Reply, error) {
	data, err := encode(v)
	return Reply{Text: string(data), Structured: data}, err
}

// encode writes compact JSON. Characters that are invisible or turn the direction
// of text are escaped: a stored text cannot hide anything from who reads a reply.
func encode(v any) (json.RawMessage, error) {
	data, err := jsonform.Marshal(v)
	if err != nil {
		return nil, &loci.Error{Code: loci.Internal, Op: "encode reply", Err: err}
	}
	return showHidden(data), nil
}

// showHidden escapes hidden characters in JSON, where they occur in strings only.
func showHidden(data []byte) []byte {
	if !bytes.ContainsFunc(data, hidden) {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case !hidden(r):
			out = append(out, data[:n]...)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		data = data[n:]
	}
	return out
}

// hidden reports characters that are invisible or change the direction of text.
// The joiners U+200C and U+200D are not among them: scripts and emoji need them.
func hidden(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r >= 0x80 && r <= 0x9F, // controls
		r == 0xAD, r == 0x61C, r == 0x180E, r == 0xFEFF,
		r == 0x200B, r == 0x200E, r == 0x200F,
		r >= 0x202A && r <= 0x202E,   // embeddings and overrides
		r >= 0x2060 && r <= 0x206F,   // invisible operators, isolates
		r >= 0xFFF9 && r <= 0xFFFB,   // interlinear annotation
		r >= 0xE0000 && r <= 0xE0FFF: // tags
		return true
	}
	return false
}

// scrub removes known credential formats: what is stored may come from a time or
// a place where they were kept.
func (b *base) scrub(text string) string {
	if b.cfg.KeepSecrets {
		return text
	}
	return secret.Redact(text)
}

// scrubPassage scrubs a part of a text. A secret that the part's border cuts in two
// is known by the whole text alone; then the part is not shown.
func (b *base) scrubPassage(passage, whole string) string {
	clean := b.scrub(whole)
	if clean == whole {
		return passage
	}
	if part := b.scrub(passage); strings.Contains(clean, part) {
		return part
	}
	return secret.Redacted
}

// scrubValue scrubs every string inside a decoded JSON value, keys included.
func (b *base) scrubValue(v any) any {
	switch v := v.(type) {
	case string:
		return b.scrub(v)
	case []any:
		clean := make([]any, len(v))
		for i := range v {
			clean[i] = b.scrubValue(v[i])
		}
		return clean
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, value := range v {
			clean[b.scrub(key)] = b.scrubValue(value)
		}
		return clean
	}
	return v
}

// scrubJSON is scrubValue for JSON text.
func (b *base) scrubJSON(data json.RawMessage) (json.RawMessage, error) {
	if len(data) == 0 {
		return data, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, &loci.Error{Code: loci.Internal, Op: "scrub reply", Err: err}
	}
	return encode(b.scrubValue(v))
}

// round keeps four decimals: more tell a reader nothing and cost tokens.
func round(score float64) float64 { return math.Round(min(max(score, 0), 1)*1e4) / 1e4 }
