package index

import (
	"runtime"
	"testing"
)

// A list in pages has what was added, where it was added: it is not copied as it grows.
func TestPagesStayWhereTheyAre(t *testing.T) {
	const many = 5*pageSize + 3
	var list paged[uint32]
	var held []*uint32
	for n := range uint32(many) {
		list.add(3 * n)
		if n >= pageSize {
			held = append(held, list.at(n))
		}
	}
	if list.len() != many {
		t.Errorf("%d values are there, not %d", list.len(), many)
	}
	for n := range uint32(many) {
		if *list.at(n) != 3*n || n >= pageSize && list.at(n) != held[n-pageSize] {
			t.Fatalf("value %d is %d, or elsewhere than it was", n, *list.at(n))
		}
	}
}

// To grow to a size takes hardly more memory than the size.
func TestPagesAreMadeOnce(t *testing.T) {
	const many, size = 64 * pageSize, 32
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var list paged[[size]byte]
	for range many {
		list.add([size]byte{})
	}
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > many*size*5/4 {
		t.Errorf("%d bytes were made for %d", made, many*size)
	}
	runtime.KeepAlive(list)
}

// Words of one hash are two words, whether they come together or one after another; one that comes again is the same.
func TestWordsOfOneHash(t *testing.T) {
	var l lexicon
	take := func(passage uint32, words ...string) (numbers []uint32) {
		l.sequence = l.sequence[:0]
		for _, w := range words {
			l.ahead = append(l.ahead, ahead{spelling: w, hash: 7, placed: true})
		}
		l.takeAhead(passage)
		return append(numbers, l.sequence...)
	}
	first, second := take(0, "walrus", "otter", "walrus"), take(1, "otter", "heron", "walrus")
	again := first[0] == first[2] && second[0] == first[1] && second[2] == first[0]
	if first[0] == first[1] || !again || second[1] <= first[1] {
		t.Errorf("the words are %v and %v", first, second)
	}
	for n, want := range map[uint32]string{first[0]: "walrus", first[1]: "otter", second[1]: "heron"} {
		if got := l.vocabulary.at(n).spelling; got != want {
			t.Errorf("word %d is %q, not %q", n, got, want)
		}
	}
	if uses := l.vocabulary.at(first[0]).uses; uses != 3 {
		t.Errorf("a word that came three times came %d times", uses)
	}
}
