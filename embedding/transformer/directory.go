package transformer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/oserror"
	"github.com/loci-memory/loci/internal/plainfile"
)

// weightsFile is the one form of weights that is read.
const weightsFile = "model.safetensors"

// maxSmallFile bounds every file but the weights; tokenizers of 250,000 tokens
// have 20 MB.
const maxSmallFile = 64 << 20

// A config is what config.json says of the network.
type config struct {
	ModelType    string   `json:"model_type"`
	HiddenSize   int      `json:"hidden_size"`
	Layers       int      `json:"num_hidden_layers"`
	Heads        int      `json:"num_attention_heads"`
	Intermediate int      `json:"intermediate_size"`
	Vocabulary   int      `json:"vocab_size"`
	Positions    int      `json:"max_position_embeddings"`
	Types        int      `json:"type_vocab_size"`
	Epsilon      *float64 `json:"layer_norm_eps"` // default 1e-12, as in BERT
	Activation   string   `json:"hidden_act"`
	PositionType string   `json:"position_embedding_type"`
}

// A directory is a model's files, checked.
type directory struct {
	path, name      string
	hash            string
	config          config
	cls             bool // the vector is that of the first token, not the mean
	pairs           bool // a cross-encoder: reads two texts and gives one number
	maxTokens       int
	query, document string
	tokenizer       *tokenizer
	tensors         *tensorFile
}

// A reader collects what is wrong with a directory.
type reader struct {
	*directory
	sum      []byte // of the files that were read
	problems []string
}

func (r *reader) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// openDirectory reads everything but the weights, of a cross-encoder if pairs is set.
func openDirectory(path string, pairs bool) (*directory, error) {
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, oserror.Of("local model "+path, err)
	}
	if err != nil || !info.IsDir() {
		return nil, &loci.Error{Code: loci.Invalid, Err: err,
			Msg: fmt.Sprintf("local model %s: there is no such directory", path)}
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("local model: %w", err)
	}
	r := &reader{directory: &directory{path: absolute, name: filepath.Base(absolute), pairs: pairs}}
	supported := "Supported are sentence transformers of the BERT family with a WordPiece tokenizer and weights in model.safetensors."
	r.readConfig()
	if pairs {
		supported = "Supported are cross-encoders of the BERT family that give one number, with a WordPiece tokenizer and weights in model.safetensors."
	} else {
		r.readModules()
		r.readPrompts()
	}
	r.readLimits()
	r.readTokenizer()
	r.readTensors()
	if len(r.problems) > 0 {
		return nil, &loci.Error{Code: loci.Invalid, Msg: fmt.Sprintf("local model %s cannot be used: %s", path, strings.Join(r.problems, "; ")),
			Recovery: supported}
	}
	sum := sha256.Sum256(r.sum)
	r.hash = hex.EncodeToString(sum[:4])
	return r.directory, nil
}

// read reads a JSON file into v and adds it to the hash. It reports whether the
// file is there and as it should be.
func (r *reader) read(name string, required bool, v any) bool {
	path := filepath.Join(r.path, filepath.FromSlash(name))
	data, err := plainfile.Read(path, maxSmallFile)
	if errors.Is(err, fs.ErrNotExist) {
		if required {
			r.problem("%s is missing", name)
		}
		return false
	}
	if _, unfit := errors.AsType[*plainfile.UnfitError](err); unfit {
		r.problem("%s is no file of at most %d bytes", name, maxSmallFile)
		return false
	}
	if err != nil {
		r.problem("%s", oserror.Of(name+" cannot be read", err).Msg)
		return false
	}
	if err := json.Unmarshal(data, v); err != nil {
		r.problem("%s cannot be read: %s", name, jsonform.Fault(err))
		return false
	}
	sum := sha256.Sum256(data)
	r.sum = append(append(r.sum, name...), sum[:]...)
	return true
}

func (r *reader) readConfig() {
	c := &r.config
	if !r.read("config.json", true, c) {
		return
	}
	if c.ModelType != "bert" {
		r.problem("config.json: model_type %q is not supported, only \"bert\"", c.ModelType)
		return
	}
	if _, ok := activations[c.Activation]; !ok {
		r.problem("config.json: hidden_act %q is not supported, only gelu, gelu_new and relu", c.Activation)
	}
	if c.PositionType != "" && c.PositionType != "absolute" {
		r.problem("config.json: position_embedding_type %q is not supported, only \"absolute\"", c.PositionType)
	}
	for name, n := range map[string]int{"hidden_size": c.HiddenSize, "num_hidden_layers": c.Layers, "num_attention_heads": c.Heads,
		"intermediate_size": c.Intermediate, "vocab_size": c.Vocabulary, "max_position_embeddings": c.Positions, "type_vocab_size": c.Types} {
		if n < 1 || n > 1<<20 {
			r.problem("config.json: %s is %d", name, n)
		}
	}
	if r.pairs && c.Types == 1 {
		r.problem("config.json: type_vocab_size is 1: the network does not tell the texts of a pair apart")
	}
	if c.HiddenSize > loci.MaxDims || c.Layers > 200 || c.Heads > 0 && c.HiddenSize%c.Heads != 0 {
		r.problem("config.json: hidden_size %d must be at most %d and a multiple of num_attention_heads %d; layers %d at most 200",
			c.HiddenSize, loci.MaxDims, c.Heads, c.Layers)
	}
	if c.Epsilon == nil {
		epsilon := 1e-12
		c.Epsilon = &epsilon
	}
}

// readModules reads which steps follow the network. Without the list it is the
// mean over the tokens, as in sentence-transformers.
func (r *reader) readModules() {
	var modules []struct{ Path, Type string }
	if !r.read("modules.json", false, &modules) {
		return
	}
	for _, m := range modules {
		switch kind := m.Type[strings.LastIndexByte(m.Type, '.')+1:]; kind {
		case "Normalize":
		case "Transformer":
			if m.Path != "" {
				r.problem("modules.json: the network in a directory of its own (%q) is not supported", m.Path)
			}
		case "Pooling":
			r.readPooling(m.Path)
		default:
			r.problem("modules.json: the module %q is not supported, only Transformer, Pooling and Normalize", kind)
		}
	}
}

func (r *reader) readPooling(dir string) {
	if !filepath.IsLocal(dir) {
		r.problem("modules.json: the path %q leaves the directory", dir)
		return
	}
	name := dir + "/config.json"
	var modes map[string]any
	if !r.read(name, true, &modes) {
		return
	}
	var on []string
	for key, value := range modes {
		if mode, ok := strings.CutPrefix(key, "pooling_mode_"); ok && value == true {
			on = append(on, mode)
		}
	}
	if mode, ok := modes["pooling_mode"].(string); ok { // newer files
		on = append(on, mode)
	}
	switch slices.Sort(on); {
	case len(on) == 1 && (on[0] == "mean_tokens" || on[0] == "mean"):
	case len(on) == 1 && (on[0] == "cls_token" || on[0] == "cls"):
		r.cls = true
	default:
		r.problem("%s: pooling by %s is not supported, only by mean or by cls", name, strings.Join(on, " and "))
	}
}

// readLimits finds where texts are cut, as sentence-transformers does.
func (r *reader) readLimits() {
	var own struct {
		MaxLength *int `json:"max_seq_length"`
		Lower     bool `json:"do_lower_case"`
	}
	var tokenizer struct {
		MaxLength *float64 `json:"model_max_length"` // 1e30 stands for no limit
	}
	r.maxTokens = r.config.Positions
	if !r.pairs { // a cross-encoder is cut where its tokenizer says
		r.read("sentence_bert_config.json", false, &own)
	}
	r.read("tokenizer_config.json", false, &tokenizer)
	if own.MaxLength != nil {
		r.maxTokens = min(r.maxTokens, *own.MaxLength)
	} else if tokenizer.MaxLength != nil && *tokenizer.MaxLength < float64(r.maxTokens) {
		r.maxTokens = int(*tokenizer.MaxLength)
	}
	if own.Lower {
		r.problem("sentence_bert_config.json: do_lower_case is not supported; the tokenizer decides")
	}
	if r.maxTokens < 3 && r.config.Positions > 0 {
		r.problem("the model reads %d tokens of a text; it needs at least 3", r.maxTokens)
	}
}

func (r *reader) readPrompts() {
	var c struct {
		Prompts map[string]string `json:"prompts"`
		Default string            `json:"default_prompt_name"`
	}
	r.read("config_sentence_transformers.json", false, &c)
	r.query = c.Prompts["query"]
	for _, name := range []string{c.Default, "document", "passage"} {
		if p := c.Prompts[name]; p != "" {
			r.document = p
		}
	}
}

// readTensors reads the list of the weights and checks it against the config.
func (r *reader) readTensors() {
	path := filepath.Join(r.path, weightsFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		r.missingWeights()
		return
	}
	file, err := openTensors(path)
	if err != nil {
		r.problem("%s", oserror.Of(weightsFile+" cannot be read", err).Msg)
		return
	}
	if len(r.problems) > 0 {
		return // sizes that follow from a wrong config would only confuse
	}
	r.tensors = file
	r.sum = append(r.sum, file.sample[:]...)
	for _, t := range r.wanted() {
		if err := file.check(t); err != nil {
			r.problem("%s: %v", weightsFile, err)
		}
	}
}

// wanted lists the tensors that the directory's network needs.
func (d *directory) wanted() []wanted {
	list := d.config.tensors()
	if d.pairs {
		h := d.config.HiddenSize
		list = append(list, wanted{poolerLayer + ".weight", []int{h, h}}, wanted{poolerLayer + ".bias", []int{h}},
			wanted{classifierLayer + ".weight", []int{1, h}}, wanted{classifierLayer + ".bias", []int{1}})
	}
	return list
}

// missingWeights says what is there in place of the weights.
func (r *reader) missingWeights() {
	for _, other := range []struct{ pattern, remedy string }{
		{"model.safetensors.index.json", "weights in several files are not supported"},
		{"pytorch_model.bin", "weights of PyTorch are not read: save the model once with safe_serialization=True"},
		{"*.onnx", "ONNX is not supported: take the directory with model.safetensors"},
		{"onnx/*.onnx", "ONNX is not supported: take the directory with model.safetensors"},
	} {
		if found, err := filepath.Glob(filepath.Join(r.path, other.pattern)); err == nil && len(found) > 0 {
			r.problem("%s is missing, and %s", weightsFile, other.remedy)
			return
		}
	}
	r.problem("%s is missing", weightsFile)
}
