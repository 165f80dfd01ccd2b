package segment

import (
	"slices"
	"testing"
	"unsafe"
)

// Rows are looked at until each of them was: as long as one was not, a damaged one is refused.
func TestRowsAreLookedAtUntilAllWere(t *testing.T) {
	of64 := origin
	of64.Dims = 64
	whole := large().Encode(of64)
	opened := func(b []byte) *Segment {
		t.Helper()
		s, err := Open(b, of64)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s, rows := opened(aligned(whole)), []int32(nil)
	for i := range int32(len(s.Codes) / 64) {
		rows = append(rows, i)
	}
	at := int(uintptr(unsafe.Pointer(&s.Codes[0])) - uintptr(unsafe.Pointer(&s.blocks[0])))
	hurt := int32(len(rows) / 2)
	b := aligned(whole)
	b[len(whole)-len(s.blocks)+at+int(hurt)*64] ^= 1
	s = opened(b)
	inBlock := func(row int32) bool { return (at+int(row)*64+63)/blockBytes >= (at+int(hurt)*64)/blockBytes }
	before := slices.DeleteFunc(slices.Clone(rows), inBlock)
	for range 3 * callsUntilCounted {
		s.CheckEach(bytesOf(s.Codes), 64, before)
	}
	if !damaged(func() { s.CheckEach(bytesOf(s.Codes), 64, []int32{hurt}) }) || len(before) == 0 || s.codes.all.Load() {
		t.Errorf("the row is read after %d others", len(before))
	}
	s = opened(aligned(whole))
	for n := range 2 * callsUntilCounted {
		if s.codes.all.Load() && n < callsUntilCounted-1 {
			t.Fatal("all were looked at, it says before it counts")
		}
		s.CheckEach(bytesOf(s.Codes), 64, rows)
	}
	if !s.codes.all.Load() {
		t.Error("it never says that all were looked at")
	}
}
