package form

import (
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// TestSpans: the bytes are those that every existing file has, and a span that is cut off ends
// the list.
func TestSpans(t *testing.T) {
	spans := []loci.Span{{Start: 0, End: 5}, {Start: 3, End: 300}}
	data := EncodeSpans(spans)
	if want := []byte{0, 5, 3, 0xa9, 0x02}; !slices.Equal(data, want) {
		t.Errorf("%v; want %v", data, want)
	}
	if got := DecodeSpans(data); !slices.Equal(got, spans) {
		t.Errorf("%v", got)
	}
	for n := range data {
		if got := DecodeSpans(data[:n]); len(got) != min(n/2, 1) {
			t.Errorf("%d bytes gave %v", n, got)
		}
	}
}

// TestSplitVectors: a code is a scale of four bytes and a byte for each dimension.
func TestSplitVectors(t *testing.T) {
	codes := SplitVectors([]byte("abcd12efgh34rest"), 2)
	if len(codes) != 2 || string(codes[0]) != "abcd12" || string(codes[1]) != "efgh34" {
		t.Errorf("%q", codes)
	}
}

// TestFaults finds each fault, and none in a sound record.
func TestFaults(t *testing.T) {
	sound := loci.Record{Version: 1, Text: "some text", Passages: []loci.Span{{Start: 0, End: 9}}, Attributes: []byte(`{}`)}
	if found := Faults(&sound); len(found) > 0 {
		t.Errorf("%v", found)
	}
	for want, spoil := range map[string]func(*loci.Record){
		"has searched text that is not UTF-8":    func(r *loci.Record) { r.Text = "some \xfftex" },
		"has a heading that is not UTF-8":        func(r *loci.Record) { r.Heading = "\xff" },
		"has passage 0 outside of its text":      func(r *loci.Record) { r.Passages[0].End = 10 },
		"has fields that are not JSON":           func(r *loci.Record) { r.Body = []byte("{") },
		"has an impossible version or namespace": func(r *loci.Record) { r.Version = 0 },
	} {
		r := sound
		r.Passages = slices.Clone(sound.Passages)
		spoil(&r)
		if found := Faults(&r); len(found) != 1 || !strings.HasSuffix(found[0], want) {
			t.Errorf("%v; want one that %s", found, want)
		}
	}
}
