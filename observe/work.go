package observe

import "github.com/prometheus/client_golang/prometheus"

// Work is what a store has done by itself since it was opened, and what its index takes.
type Work struct {
	Commits []uint64 // by how many writes shared them: up to each of [Options].CommitSizes, and more
	Writes  uint64   // in all commits

	ShardsLoaded  uint64 // parts of the index
	ShardsDropped uint64 // to make room

	IndexBytes int64 // of memory, about
	IndexLimit int64 // of them
}

// work asks for the work of the store whenever somebody looks.
type work struct {
	now   func() Work
	sizes []int

	commits, loaded, dropped, bytes, limit *prometheus.Desc
}

func newWork(now func() Work, sizes []int) *work {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
	return &work{
		now: now, sizes: sizes,
		commits: desc("loci_commit_writes", "How many writes shared a commit."),
		loaded:  desc("loci_index_shards_loaded_total", "Parts of the search index that were loaded."),
		dropped: desc("loci_index_shards_dropped_total", "Parts of the search index that made room for others."),
		bytes:   desc("loci_index_bytes", "Memory that the search index takes, about."),
		limit:   desc("loci_index_limit_bytes", "Memory that the search index may take."),
	}
}

// Describe implements [prometheus.Collector].
func (w *work) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{w.commits, w.loaded, w.dropped, w.bytes, w.limit} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (w *work) Collect(to chan<- prometheus.Metric) {
	now := w.now()
	within, count := map[float64]uint64{}, uint64(0)
	for i, n := range now.Commits {
		count += n
		if i < len(w.sizes) {
			within[float64(w.sizes[i])] = count
		}
	}
	to <- prometheus.MustNewConstHistogram(w.commits, count, float64(now.Writes), within)
	for _, one := range []struct {
		desc  *prometheus.Desc
		kind  prometheus.ValueType
		value float64
	}{
		{w.loaded, prometheus.CounterValue, float64(now.ShardsLoaded)},
		{w.dropped, prometheus.CounterValue, float64(now.ShardsDropped)},
		{w.bytes, prometheus.GaugeValue, float64(now.IndexBytes)},
		{w.limit, prometheus.GaugeValue, float64(now.IndexLimit)},
	} {
		to <- prometheus.MustNewConstMetric(one.desc, one.kind, one.value)
	}
}
