package mongo_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/internal/storm"
	"github.com/loci-memory/loci/store/mongo"
)

// BenchmarkFirstSearch compares the first search of a server that takes up what another one
// keeps with that of one that reads all records: notes of 12 to 30 words of 20,000, a passage
// and a vector of 256 dimensions each.
func BenchmarkFirstSearch(b *testing.B) {
	at := mongotest.Shared(b).Database()
	if _, err := mongo.Migrate(context.Background(), at, false); err != nil {
		b.Fatal(err)
	}
	s := openWith(b, at, nil)
	sizes := []int{1000, 10_000}
	if os.Getenv("LOCI_LONG") != "" {
		sizes = append(sizes, 100_000)
	}
	space := loci.Space{Model: "bench", Dims: 256}
	random := rand.New(rand.NewPCG(1, 2))
	vector := func() []float32 {
		row := make([]float32, space.Dims)
		for i := range row {
			row[i] = float32(random.NormFloat64())
		}
		return row
	}
	words := func() string {
		var text strings.Builder
		for range 12 + random.IntN(19) {
			fmt.Fprintf(&text, "word%d ", int(20_000*random.Float64()*random.Float64()))
		}
		return text.String()
	}
	for _, size := range sizes {
		tn := locitest.Tenant(b, fmt.Sprint("of ", size))
		for done := 0; done < size; done += 500 {
			var c loci.Change
			for range 500 {
				one := storm.Creation(loci.NewID())
				r := &one.Put[0].Record
				r.Text = words()
				r.Passages = []loci.Span{{Start: 0, End: len(r.Text)}}
				one.Put[0].Vectors = []loci.Vectors{{Space: space, Rows: [][]float32{vector()}}}
				c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
			}
			if err := s.Apply(context.Background(), tn, c); err != nil {
				b.Fatal(err)
			}
		}
		probe := loci.Probe{Text: "word7 word4711", Vector: vector(), Space: space}
		var want []loci.Hit
		first := func(b *testing.B, opts *mongo.Options) time.Duration {
			opts.Logger = slog.New(slog.DiscardHandler)
			fresh, err := mongo.Open(context.Background(), at, opts)
			if err != nil {
				b.Fatal(err)
			}
			begun := time.Now()
			hits, err := fresh.Match(context.Background(), tn, probe, loci.Filter{Within: []loci.Namespace{{}}}, 10)
			took := time.Since(begun)
			if err != nil || len(hits) == 0 || want != nil && fmt.Sprint(hits) != fmt.Sprint(want) {
				b.Fatalf("%v, want %v, %v", hits, want, err)
			}
			want = hits
			if err := fresh.Close(); err != nil {
				b.Fatal(err)
			}
			return took
		}
		measure := func(name string, opts func() *mongo.Options) {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				var sum time.Duration
				for range b.N {
					sum += first(b, opts())
				}
				b.ReportMetric(float64(sum.Microseconds())/1000/float64(b.N), "ms/search")
			})
		}
		dir := b.TempDir()
		none := func() *mongo.Options { return (&mongo.Options{}).Shelve(1<<30, 1<<30, false) }
		mapped := func() *mongo.Options {
			return (&mongo.Options{IndexCache: dir, IndexCacheSize: 8 << 30}).Shelve(500, 16_384, true)
		}
		measure("records", none)
		b.Logf("the first search that also makes the image took %v", first(b, mapped()))
		measure("image", mapped)
		measure("image without a folder", func() *mongo.Options { return (&mongo.Options{}).Shelve(500, 16_384, true) })
	}
}
