package gloss

import (
	"strings"

	"github.com/loci-memory/loci/internal/retrieval"
)

// Right are the words of a text, folded, that a list of the language it is in has, in whatever form: they are no typing
// errors.
func Right(text string) map[string]bool {
	right := map[string]bool{}
	for _, w := range Words(text, retrieval.WellSpelled) {
		if w.English != "" {
			for word := range strings.FieldsSeq(w.Text) {
				right[word] = true
			}
		}
	}
	return right
}
