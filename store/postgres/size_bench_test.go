package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/store/postgres"
)

// BenchmarkSizes says what a note takes: in the database with its indexes, in the image of the
// search index, and in memory while it is searched. Notes as those of BenchmarkFirstSearch.
func BenchmarkSizes(b *testing.B) {
	const size = 10_000
	d, s := durable(b)
	random := rand.New(rand.NewPCG(1, 2))
	space := loci.Space{Model: "bench", Dims: 256}
	tn := locitest.Tenant(b, "sizes")
	text := 0
	for done := 0; done < size; done += 500 {
		var c loci.Change
		for range 500 {
			one := creation(loci.NewID())
			r := &one.Put[0].Record
			var words strings.Builder
			for range 12 + random.IntN(19) {
				fmt.Fprintf(&words, "word%d ", int(20_000*random.Float64()*random.Float64()))
			}
			r.Text = words.String()
			text += len(r.Text)
			r.Passages = []loci.Span{{Start: 0, End: len(r.Text)}}
			row := make([]float32, space.Dims)
			for i := range row {
				row[i] = float32(random.NormFloat64())
			}
			one.Put[0].Vectors = []loci.Vectors{{Space: space, Rows: [][]float32{row}}}
			c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
		}
		if err := s.Apply(context.Background(), tn, c); err != nil {
			b.Fatal(err)
		}
	}
	execute(b, d.Super, "VACUUM ANALYZE")
	one := func(sql string) float64 {
		var n []int64
		query(b, d.Super, sql, &n)
		return float64(n[0]) / size
	}
	const in = "FROM pg_class WHERE relnamespace = 'loci'::regnamespace AND relkind = 'r'"
	b.ReportMetric(float64(text)/size, "B-text/note")
	b.ReportMetric(one("SELECT sum(pg_total_relation_size(oid))::bigint "+in), "B-database/note")
	b.ReportMetric(one("SELECT sum(pg_indexes_size(oid))::bigint "+in), "B-indexes/note")
	held := func(opts *postgres.Options) float64 {
		fresh, err := postgres.Open(context.Background(), d.Server, opts)
		if err != nil {
			b.Fatal(err)
		}
		defer func() {
			if err := fresh.Close(); err != nil {
				b.Error(err)
			}
		}()
		p := loci.Probe{Text: "word7", Space: space, Vector: make([]float32, space.Dims)}
		p.Vector[0] = 1
		everywhere := loci.Filter{Within: []loci.Namespace{{}}}
		if _, err := fresh.Match(context.Background(), tn, p, everywhere, 10); err != nil {
			b.Fatal(err)
		}
		return float64(interface{ Work() store.Work }(fresh).Work().IndexBytes) / size
	}
	b.ReportMetric(held((&postgres.Options{}).Shelve(1<<30, 1<<30, true)), "B-heap/note")
	b.ReportMetric(held((&postgres.Options{}).Shelve(500, 16_384, true)), "B-made/note")
	b.ReportMetric(one("SELECT coalesce(sum(octet_length(data)), 0)::bigint FROM loci.piece"), "B-pieces/note")
	mapped := &postgres.Options{IndexCache: b.TempDir(), IndexCacheSize: 1 << 30}
	b.ReportMetric(held(mapped.Shelve(500, 16_384, true)), "B-mapped/note")
	var tables []string
	const each = "SELECT relname || ' ' || pg_total_relation_size(oid)/10000 "
	query(b, d.Super, each+in+" ORDER BY pg_total_relation_size(oid) DESC", &tables)
	b.Log(tables)
	for range b.N {
	}
}
