package page

import (
	"errors"
	"testing"

	"github.com/loci-memory/loci"
)

// What a store counted before it began again is not told, nor is anything after an error.
func TestPartsBeginAgain(t *testing.T) {
	told, whole := int64(0), loci.Counts{}
	count := func(err error) {
		f := loci.Filter{Each: func(_ loci.Kind, _ string, c loci.Counts) { told += c.Records }}
		var parts Parts
		parts.Of(&f)
		for range 2 {
			parts.Forget()
			whole = loci.Counts{}
			Count(&f, &loci.Record{Kind: "fact", Live: true, Text: "abc"}, &whole)
			Add(&f, "fact", "", loci.Counts{Records: 2, Unembedded: 1}, &whole)
		}
		if told != 0 {
			t.Fatal("parts are told before the count is certain")
		}
		if got := parts.Tell(err); !errors.Is(got, err) {
			t.Fatal(got)
		}
	}
	if count(errors.ErrUnsupported); told != 0 {
		t.Errorf("a count that failed tells of %d records", told)
	}
	if count(nil); told != 3 || whole != (loci.Counts{Records: 3, Live: 1, Bytes: 3, Unembedded: 1}) {
		t.Errorf("%d records are told of, and %+v counted", told, whole)
	}
	var parts Parts
	f := loci.Filter{}
	if parts.Of(&f); f.Each != nil || parts.Tell(nil) != nil {
		t.Error("a filter without Each has one")
	}
}
