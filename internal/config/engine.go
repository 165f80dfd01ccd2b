package config

import (
	"log/slog"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/item"
)

// Engine is what the configuration says about an engine, but for its embedder, which
// Config.Embedding chooses.
func (c *Config) Engine(logger *slog.Logger) loci.Options {
	return loci.Options{
		EmbedderFor:    c.Embedding.ForSpace,
		ChunkSize:      c.chunkSize,
		ChunkOverlap:   &c.chunkOverlap,
		VectorWeight:   &c.vectorWeight,
		NeighbourShare: &c.neighbourShare,
		RecallWeights:  c.recallWeights, MaturityWeights: c.maturityWeights, RecallMinConfidence: &c.minConfidence,
		Tokenizer:      c.tokenizer,
		ContextQuotas:  c.contextQuotas,
		MaxContent:     c.MaxContent,
		Revisions:      &c.revisions,
		IdempotencyTTL: c.idempotencyTTL,
		EpisodeTTL:     c.episodeTTL,
		EpisodeCap:     c.episodeCap,
		KeepDuplicates: !c.dedupe,
		Features:       []loci.Feature{item.Feature{}, c.sessions, c.Files, checkpoint.Feature{}},
		KeepSecrets:    !c.redact,
		Logger:         logger,
	}
}
