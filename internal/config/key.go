package config

import (
	"errors"

	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/plainfile"
	"github.com/loci-memory/loci/llm"
)

// maxKeyBytes bounds a file with a key.
const maxKeyBytes = 64 << 10

// A keySource says where the key of a service is: the file counts if both are set.
type keySource struct{ env, file string }

// readKeys says where the keys are, without reading them: they are read when they are
// needed, so that they can be changed while a server runs.
func (c *Config) readKeys(env Environ) {
	c.Embedding.OpenAIKey = c.embeddingKey.ofEmbedder(env)
	c.llm.Key = c.llmKey.ofModel(env, c.llm.Provider)
	if path := c.traceHeaders; path != "" {
		c.Traces.Headers = func() ([]byte, error) { return plainfile.Read(path, maxKeyBytes) }
	}
	if path := c.metricsHeaders; path != "" {
		c.Metrics.Headers = func() ([]byte, error) { return plainfile.Read(path, maxKeyBytes) }
	}
}

func (k keySource) ofEmbedder(env Environ) embedding.Key {
	if k.file != "" {
		return embedding.Key{Source: k.file, Read: k.readFile}
	}
	return embedding.Key{Source: "$" + k.env, Read: func() (string, error) { return env.Get(k.env), nil }}
}

// ofModel returns no key if none is configured and the provider's variable is empty: some
// services want no key.
func (k keySource) ofModel(env Environ, provider string) llm.Key {
	name := k.env
	if name == "" {
		name = map[string]string{llm.OpenAI: "OPENAI_API_KEY", llm.Anthropic: "ANTHROPIC_API_KEY"}[provider]
	}
	switch {
	case k.file != "":
		return llm.Key{Source: "the file of llm.key_file", Read: k.readFile}
	case env.Get(name) != "" || k.env != "":
		// Missing, it fails the calls of the model and no other command.
		return llm.Key{Source: "$" + name, Read: func() (string, error) {
			if key := env.Get(name); key != "" {
				return key, nil
			}
			return "", errors.New("it is empty or not set")
		}}
	}
	return llm.Key{}
}

func (k keySource) readFile() (string, error) {
	data, err := plainfile.Read(k.file, maxKeyBytes)
	return string(data), err
}
