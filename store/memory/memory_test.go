package memory_test

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Target{Open: func(*testing.T) loci.Store { return memory.Open() }})
}

func BenchmarkPages(b *testing.B) {
	storetest.BenchmarkPages(b, func(testing.TB) loci.Store { return memory.Open() })
}
