package embedding

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding/transformer"
	"github.com/loci-memory/loci/internal/remote"
)

// Specs are the forms of [Config.Spec].
var Specs = []string{"builtin", "lexical", "openai:MODEL", "ollama:MODEL", "local:DIRECTORY", "none"}

// NoPrefix says "none" where an empty prefix means that of the model. No text has a NUL.
const NoPrefix = "\x00"

// A Config names an embedder and what it needs. Only Spec is required. Open ignores what
// another spec would need, so that one Config serves them all.
type Config struct {
	// Spec is one of [Specs]; "" is builtin.
	Spec string

	// Dimensions asks a service for vectors of this length, 1 to 4096; 0: the
	// model's own. Not every model has a choice.
	Dimensions int

	// QueryPrefix and DocumentPrefix are put in front of queries and of texts that
	// are to be found. Empty: what the model is known to want, mostly nothing;
	// [NoPrefix]: nothing in any case.
	QueryPrefix, DocumentPrefix string

	OpenAIURL string // default "https://api.openai.com/v1"; any service with its interface
	OpenAIKey Key    // none: requests go without
	OllamaURL string // default "http://127.0.0.1:11434"

	// Timeout bounds one call of Embed with all its requests and repetitions, also
	// when the caller's context does not; default one minute.
	Timeout time.Duration

	RequestsPerMinute int // sent to a service at most; 0: no limit of ours
}

// A Key says where the key of a service is. It is read for each request, so that it can
// be changed without a restart. No message contains it.
type Key = remote.Key

// Open returns the embedder that c.Spec names, nil for "none". It opens no
// connection: a service may be down, and tells its dimensions with its first
// answer. A local directory is checked; its weights are read by the first call.
func Open(c Config) (loci.Embedder, error) {
	kind, name, named := strings.Cut(c.Spec, ":")
	if c.Dimensions < 0 || c.Dimensions > loci.MaxDims {
		return nil, loci.Errorf(loci.Invalid, "embedding dimensions are %d; they must be 1 to %d, or 0 for the model's own", c.Dimensions, loci.MaxDims)
	}
	switch {
	case c.Spec == "" || c.Spec == "builtin":
		builtin, err := NewBuiltin()
		if err != nil {
			return nil, err // and no embedder: a nil *Static would not be nil to the engine
		}
		return builtin, nil
	case c.Spec == "lexical":
		return NewLexical(), nil
	case c.Spec == "none":
		return nil, nil
	case !named || kind != "openai" && kind != "ollama" && kind != "local":
		return nil, loci.Errorf(loci.Invalid, "embedder %q is not known; it is one of %s", c.Spec, strings.Join(Specs, ", "))
	case strings.TrimSpace(name) != name || name == "" || len(name) > 200:
		return nil, loci.Errorf(loci.Invalid, "embedder %q needs a name of 1 to 200 bytes after the colon, as in %q", c.Spec, kind+":NAME")
	}
	switch kind {
	case "openai":
		return openOpenAI(c, name)
	case "ollama":
		return openOllama(c, name)
	}
	return openLocal(c, name)
}

// CheckSpec reports whether a spec has one of the forms of [Specs], without
// looking at what it names.
func CheckSpec(spec string) error {
	if strings.HasPrefix(spec, "local:") && len(spec) > len("local:") {
		return nil // the directory need not be there when a configuration is read
	}
	_, err := Open(Config{Spec: spec})
	return err
}

// openLocal opens a directory. The model's own files name its prefixes.
func openLocal(c Config, dir string) (loci.Embedder, error) {
	t, err := transformer.Open(dir)
	if err != nil {
		return nil, err
	}
	query, document := t.Prefixes()
	p := knownPrefixes(t.Name())
	if query != "" || document != "" {
		p = prefixes{query: query, document: document}
	}
	return withPrefixes(t, p.configured(c)), nil
}

// space names the vector space of a model: texts with another prefix have other
// vectors. The prefix of queries makes no difference to what is stored.
func space(name string, p prefixes) string {
	if p.document == "" {
		return name
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.document)) // a hash takes everything
	return fmt.Sprintf("%s#%08x", name, h.Sum32())
}
