package sqlite

import (
	"cmp"
	"strings"
)

// pieces are what many small texts and documents are copied to: a piece of memory for each costs more than its bytes.
type pieces struct {
	texts     strings.Builder
	documents []byte
	most      int // bytes of a piece, usually; 0: mostPiece
}

// Sizes of pieces of memory, in bytes: small pages have no use for large ones.
const leastPiece, mostPiece = 1 << 10, 32 << 10

func (p *pieces) size(before, least int) int {
	return max(least, leastPiece, min(2*before, cmp.Or(p.most, mostPiece)))
}

func (p *pieces) text(v []byte) string {
	if size := p.texts.Cap(); size-p.texts.Len() < len(v) {
		p.texts.Reset()
		p.texts.Grow(p.size(size, len(v)))
	}
	at := p.texts.Len()
	p.texts.Write(v)
	return p.texts.String()[at:]
}

// document copies JSON, which is the caller's from then on; nothing for none.
func (p *pieces) document(v []byte) []byte {
	if len(v) == 0 {
		return nil
	}
	if size := cap(p.documents); size-len(p.documents) < len(v) {
		p.documents = make([]byte, 0, p.size(size, len(v)))
	}
	begin := len(p.documents)
	p.documents = append(p.documents, v...)
	return p.documents[begin:len(p.documents):len(p.documents)]
}
