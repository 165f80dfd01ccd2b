package main

import (
	"github.com/loci-memory/loci/embedding"
)

// maxKeyBytes bounds a file with a key.
const maxKeyBytes = 64 << 10

// openAIKey says where the key is, without reading it: it is read when it is
// needed, so that it can be changed while a server runs.
func (c *config) openAIKey(env environ) embedding.Key {
	if c.keyFile != "" {
		return embedding.Key{Source: c.keyFile, Read: func() (string, error) {
			data, err := readLimited(c.keyFile, maxKeyBytes)
			return string(data), err
		}}
	}
	return embedding.Key{Source: "$" + c.keyEnv, Read: func() (string, error) { return env.get(c.keyEnv), nil }}
}
