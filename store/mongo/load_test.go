package mongo_test

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/mongo"
	"github.com/loci-memory/loci/store/storetest"
)

// The index is loaded beside the searches of others.
func TestLoading(t *testing.T) {
	storetest.RunLoading(t, func(t *testing.T) storetest.Loading {
		at, giveBack := database(t)
		t.Cleanup(giveBack)
		return storetest.Loading{Far: 1000, Open: func(
			t *testing.T, part int, reading func(string),
		) (loci.Store, func()) {
			s := openWith(t, at, (&mongo.Options{}).Load(part, reading))
			return s, s.Idle
		}}
	})
}
