package checkpoint

import "github.com/loci-memory/loci"

// The kinds of records that checkpoints are made of.
const (
	Kind       loci.Kind = "checkpoint"
	KindValue  loci.Kind = "checkpoint_value"  // of a channel
	KindWrite  loci.Kind = "checkpoint_write"  // of a task, after a checkpoint
	KindThread loci.Kind = "checkpoint_thread" // a thread and namespace that has checkpoints

	KindCandidates loci.Kind = "checkpoint_candidates" // values of a graph that may have to go
)

// Feature makes an engine keep checkpoints.
type Feature struct{}

// Kinds are the checkpoints of a thread and what belongs to them.
func (Feature) Kinds() []loci.FeatureKind {
	return []loci.FeatureKind{{Kind: KindThread, Shown: "thread", Found: true,
		Change: "Put a checkpoint of the thread, prune it, or delete it."}, {Kind: Kind}, {Kind: KindValue}, {Kind: KindWrite},
		{Kind: KindCandidates}}
}

// Family is that of the checkpoints of a namespace with their threads, values and
// writes: erasing and pruning took parts along.
func (Feature) Family(e *loci.Event) (name string, part, ends bool) {
	ends = e.Type == loci.EventErased || e.Kind == Kind && e.Type == loci.EventUpdated
	return "checkpoints " + string(e.Mark), e.Kind != Kind, ends
}

// Check finds nothing to refuse: there are no options.
func (Feature) Check() error { return nil }
