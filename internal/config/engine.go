package config

import (
	"cmp"
	"log/slog"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/item"
)

// Engine is what the configuration says about an engine, except its embedder, which
// Config.Embedding chooses.
func (c *Config) Engine(logger *slog.Logger) loci.Options {
	o := c.engine
	o.EmbedderFor, o.Logger = c.Embedding.ForSpace, logger
	o.Features = []loci.Feature{item.Feature{}, c.sessions, c.Files, checkpoint.Feature{}}
	o.Content = loci.ContentOptions{MaxBytes: c.MaxContent, KeepDuplicates: !c.dedupe, KeepSecrets: !c.redact}
	// A zero in a configuration means zero, and not the default.
	o.Passages.Overlap = cmp.Or(o.Passages.Overlap, loci.None)
	o.Search.VectorWeight = cmp.Or(o.Search.VectorWeight, loci.None)
	o.Search.NeighbourShare = cmp.Or(o.Search.NeighbourShare, loci.None)
	o.Search.ContextShare = cmp.Or(o.Search.ContextShare, loci.None)
	o.Recall.MinConfidence = cmp.Or(o.Recall.MinConfidence, loci.None)
	o.Retention.Revisions = cmp.Or(o.Retention.Revisions, loci.None)
	return o
}
