package embedding

import (
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding/transformer"
)

// RerankerSpecs are the forms of what [OpenReranker] opens.
var RerankerSpecs = []string{"none", "local:DIRECTORY"}

// OpenReranker returns the re-ranker that a spec names, nil for "none" and "". A local
// directory is that of a cross-encoder; it is checked, and its weights are read by the
// first call.
func OpenReranker(spec string) (loci.Reranker, error) {
	if err := CheckRerankerSpec(spec); err != nil || spec == "" || spec == "none" {
		return nil, err
	}
	c, err := transformer.OpenCrossEncoder(strings.TrimPrefix(spec, "local:"))
	if err != nil {
		return nil, err // and no re-ranker: a nil *CrossEncoder would not be nil to the engine
	}
	return c, nil
}

// CheckRerankerSpec reports whether a spec has one of the forms of [RerankerSpecs], without
// looking at what it names.
func CheckRerankerSpec(spec string) error {
	dir, local := strings.CutPrefix(spec, "local:")
	switch {
	case spec == "" || spec == "none":
		return nil
	case !local:
		return loci.Errorf(loci.Invalid, "re-ranker %q is not known; it is one of %s", spec, strings.Join(RerankerSpecs, ", "))
	case strings.TrimSpace(dir) != dir || dir == "":
		return loci.Errorf(loci.Invalid, "re-ranker %q needs a directory after the colon", spec)
	}
	return nil
}
