package embedding_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
)

// A request is what a service got.
type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Format     string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions"`
	Truncate   bool     `json:"truncate"`

	path, key string
	at        time.Time
}

// A service stands for a real one: answer decides what it says to each request.
type service struct {
	*httptest.Server
	mu   sync.Mutex
	seen []request
}

func serve(t *testing.T, answer func(w http.ResponseWriter, q request, n int)) *service {
	t.Helper()
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := request{path: r.URL.Path, key: r.Header.Get("Authorization"), at: time.Now()}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.seen = append(s.seen, q)
		n := len(s.seen)
		s.mu.Unlock()
		answer(w, q, n)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.seen...)
}

// direction is the vector a service makes of a text: the length, and a one.
func direction(text string) []float32 { return []float32{float32(len(text)), 1, 0} }

// floats answers like a server that knows no base64, the last text first.
func floats(w http.ResponseWriter, q request) {
	var parts []string
	for i := len(q.Input) - 1; i >= 0; i-- {
		d := direction(q.Input[i])
		parts = append(parts, fmt.Sprintf(`{"index":%d,"embedding":[%v,%v,%v]}`, i, d[0], d[1], d[2]))
	}
	fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(parts, ","))
}

// encoded answers in base64.
func encoded(w http.ResponseWriter, rows ...[]float32) {
	var parts []string
	for i, row := range rows {
		var raw []byte
		for _, x := range row {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		}
		parts = append(parts, fmt.Sprintf(`{"index":%d,"embedding":%q}`, i, base64.StdEncoding.EncodeToString(raw)))
	}
	fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(parts, ","))
}

const secretKey = "sk-secretsecretsecretsecret"

func openAI(t *testing.T, s *service, change func(*embedding.Config)) loci.Embedder {
	t.Helper()
	c := embedding.Config{Spec: "openai:m", OpenAIURL: s.URL + "/v1/", OllamaURL: s.URL, Timeout: 30 * time.Second,
		OpenAIKey: embedding.Key{Source: "$THE_VARIABLE", Read: func() (string, error) { return secretKey + "\n", nil }}}
	if change != nil {
		change(&c)
	}
	e, err := embedding.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// wantRows checks that each text has the vector that direction gives, with length one.
func wantRows(t *testing.T, rows [][]float32, texts []string) {
	t.Helper()
	if len(rows) != len(texts) {
		t.Fatalf("%d rows for %d texts", len(rows), len(texts))
	}
	for i, text := range texts {
		want := direction(text)
		length := math.Hypot(float64(want[0]), float64(want[1]))
		for j := range want {
			if d := math.Abs(float64(rows[i][j]) - float64(want[j])/length); !(d < 1e-6) {
				t.Fatalf("row %d is %v, want %v / %v", i, rows[i], want, length)
			}
		}
	}
}

func TestOpenAI(t *testing.T) {
	texts := []string{"one", "three", "a longer text"}
	for name, answer := range map[string]func(w http.ResponseWriter, q request, n int){
		"floats in any order": func(w http.ResponseWriter, q request, _ int) { floats(w, q) },
		"base64": func(w http.ResponseWriter, q request, _ int) {
			var rows [][]float32
			for _, text := range q.Input {
				rows = append(rows, direction(text))
			}
			encoded(w, rows...)
		},
		"refuses base64": func(w http.ResponseWriter, q request, _ int) {
			if q.Format != "" {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"error":{"message":"unknown field encoding_format"}}`)
				return
			}
			floats(w, q)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, answer)
			e := openAI(t, s, nil)
			if e.Dims() != 0 || e.Model() != "openai:m" || len(s.requests()) != 0 {
				t.Errorf("before the first call: %s, %d dimensions, %d requests", e.Model(), e.Dims(), len(s.requests()))
			}
			rows, err := e.Embed(t.Context(), texts)
			if err != nil {
				t.Fatal(err)
			}
			wantRows(t, rows, texts)
			last := s.requests()[len(s.requests())-1]
			if e.Dims() != 3 || last.path != "/v1/embeddings" || last.key != "Bearer "+secretKey || last.Model != "m" || last.Dimensions != 0 {
				t.Errorf("%d dimensions, last request %+v", e.Dims(), last)
			}
		})
	}
}

func TestOpenAIDimensions(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, q request, _ int) { floats(w, q) })
	e := openAI(t, s, func(c *embedding.Config) { c.Dimensions = 3 })
	if e.Dims() != 3 {
		t.Errorf("%d dimensions", e.Dims())
	}
	if _, err := e.Embed(t.Context(), []string{"a"}); err != nil || s.requests()[0].Dimensions != 3 {
		t.Errorf("asked for %d dimensions: %v", s.requests()[0].Dimensions, err)
	}
	_, err := openAI(t, s, func(c *embedding.Config) { c.Dimensions = 4 }).Embed(t.Context(), []string{"a"})
	wantError(t, err, loci.Unavailable, "3 dimensions in place of 4", "embedding.dimensions")
	known, err := embedding.Open(embedding.Config{Spec: "openai:text-embedding-3-small"})
	if err != nil || known.Dims() != 1536 {
		t.Errorf("%d dimensions, %v", known.Dims(), err)
	}
}

// Blank texts are not sent: services refuse them.
func TestBlankTexts(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, q request, _ int) {
		for _, text := range q.Input {
			if strings.TrimSpace(text) == "" {
				t.Error("a blank text was sent")
			}
		}
		floats(w, q)
	})
	for _, texts := range [][]string{{" ", "\n"}, {"", "a", ""}} {
		rows, err := openAI(t, s, nil).Embed(t.Context(), texts)
		if err != nil || len(rows) != len(texts) || len(rows[0]) != 3 || rows[0][0] != 0 || rows[0][1] != 0 {
			t.Errorf("%q: %v, %v", texts, rows, err)
		}
	}
	if rows, err := openAI(t, s, nil).Embed(t.Context(), nil); err != nil || len(rows) != 0 {
		t.Errorf("nothing: %v, %v", rows, err)
	}
}

func TestBatches(t *testing.T) {
	var now, most int
	var mu sync.Mutex
	s := serve(t, func(w http.ResponseWriter, q request, _ int) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		mu.Lock()
		now--
		mu.Unlock()
		tokens := 0
		for _, text := range q.Input {
			tokens += len(text) / 4
		}
		if len(q.Input) > 2048 || tokens > 300_000 {
			t.Errorf("a request of %d texts and about %d tokens", len(q.Input), tokens)
		}
		floats(w, q)
	})
	var texts []string
	for i := range 5000 {
		texts = append(texts, strings.Repeat("x", 1+i%7))
	}
	for range 100 {
		texts = append(texts, strings.Repeat("long ", 10_000))
	}
	rows, err := openAI(t, s, func(c *embedding.Config) { c.Timeout = time.Minute }).Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, rows, texts)
	if most < 2 || most > 4 {
		t.Errorf("%d requests at once", most)
	}
}

func TestOllama(t *testing.T) {
	texts := []string{"one", "three"}
	s := serve(t, func(w http.ResponseWriter, q request, _ int) {
		var rows [][]float32
		for _, text := range q.Input {
			rows = append(rows, direction(text))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"embeddings": rows})
	})
	e := openAI(t, s, func(c *embedding.Config) { c.Spec = "ollama:all-minilm:22m" })
	rows, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, rows, texts)
	q := s.requests()[0]
	if q.path != "/api/embed" || q.Model != "all-minilm:22m" || !q.Truncate || q.key != "" || e.Model() != "ollama:all-minilm:22m" || e.Dims() != 3 {
		t.Errorf("%+v; %s, %d", q, e.Model(), e.Dims())
	}
}

// TestPrefixes: which prefix a document and a query get: the configured one, else the one the
// model is known to want. Only the prefix of documents changes the space.
func TestPrefixes(t *testing.T) {
	const mine = "mine: "
	for _, c := range []struct {
		spec            string
		query, document string
		model           string
		sent            []string // a document, then a query
	}{
		{"openai:plain", "", "", "openai:plain", []string{"text", "text"}},
		{"ollama:nomic-embed-text", "", "", "ollama:nomic-embed-text#", []string{"search_document: text", "search_query: text"}},
		{"openai:intfloat/multilingual-e5-small", "", "", "openai:intfloat/multilingual-e5-small#", []string{"passage: text", "query: text"}},
		{"openai:BAAI/bge-small-en-v1.5", "", "", "openai:BAAI/bge-small-en-v1.5", []string{"text", "Represent this sentence for searching relevant passages: text"}},
		{"ollama:nomic-embed-text", embedding.NoPrefix, embedding.NoPrefix, "ollama:nomic-embed-text", []string{"text", "text"}},
		{"openai:plain", mine, "", "openai:plain", []string{"text", "mine: text"}},
		{"openai:plain", "", mine, "openai:plain#", []string{"mine: text", "text"}},
	} {
		t.Run(c.spec+c.model, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, q request, _ int) {
				if q.path == "/api/embed" {
					fmt.Fprint(w, `{"embeddings":[[1,0]]}`)
					return
				}
				floats(w, q)
			})
			e := openAI(t, s, func(conf *embedding.Config) {
				conf.Spec, conf.QueryPrefix, conf.DocumentPrefix = c.spec, c.query, c.document
			})
			if !strings.HasPrefix(e.Model(), c.model) || strings.Contains(e.Model(), "#") != strings.HasSuffix(c.model, "#") {
				t.Errorf("the space is %s", e.Model())
			}
			if _, err := e.Embed(t.Context(), []string{"text"}); err != nil {
				t.Fatal(err)
			}
			var err error
			if q, ok := e.(loci.QueryEmbedder); ok {
				_, err = q.EmbedQuery(t.Context(), "text")
			} else {
				_, err = e.Embed(t.Context(), []string{"text"})
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, q := range s.requests() {
				if q.Input[0] != c.sent[i] {
					t.Errorf("sent %q, want %q", q.Input[0], c.sent[i])
				}
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		config embedding.Config
		want   string
	}{
		{embedding.Config{Spec: "openai"}, "is not known"},
		{embedding.Config{Spec: "openai:"}, "needs a name"},
		{embedding.Config{Spec: "ollama: x"}, "needs a name"},
		{embedding.Config{Spec: "magic:x"}, "openai:MODEL"},
		{embedding.Config{Spec: "openai:m", Dimensions: 5000}, "1 to 4096"},
		{embedding.Config{Spec: "openai:m", OpenAIURL: "ftp://x"}, "openai.base_url must begin with http"},
		{embedding.Config{Spec: "openai:m", OpenAIURL: "https://me:" + secretKey + "@x/v1"}, "must not hold a user or a password"},
		{embedding.Config{Spec: "openai:m", OpenAIURL: "https://x/v1?key=" + secretKey}, "without ? and #"},
		{embedding.Config{Spec: "ollama:m", OllamaURL: "http://" + secretKey + "\x7f"}, "ollama.base_url is not a URL"},
		{embedding.Config{Spec: "local:/no/such/place"}, "there is no such directory"},
	} {
		_, err := embedding.Open(c.config)
		wantError(t, err, loci.Invalid, c.want)
		if strings.Contains(err.Error(), secretKey) {
			t.Errorf("the key is in %q", err)
		}
	}
	for _, spec := range []string{"lexical", "none", "openai:m", "ollama:m", "local:/no/such/place"} {
		if err := embedding.CheckSpec(spec); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

func TestKeys(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, q request, _ int) {
		if q.key == "" {
			status(401, "")(w, q, 0)
			return
		}
		floats(w, q)
	})
	for name, c := range map[string]struct {
		read func() (string, error)
		want string
	}{
		"none":     {func() (string, error) { return "", nil }, "set $THE_VARIABLE"},
		"no file":  {func() (string, error) { return "", errors.New("no such file") }, "$THE_VARIABLE cannot be read"},
		"two keys": {func() (string, error) { return secretKey + "\r\nX: " + secretKey, nil }, "$THE_VARIABLE has a space"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openAI(t, s, func(conf *embedding.Config) {
				conf.OpenAIKey.Read = c.read
			}).Embed(t.Context(), []string{"a"})
			wantError(t, err, loci.Invalid, c.want)
		})
	}
	_, err := openAI(t, s, func(c *embedding.Config) { c.OpenAIKey = embedding.Key{} }).Embed(t.Context(), []string{"a"})
	wantError(t, err, loci.Invalid, "wants a key")
	// The key is read again for each call.
	key := secretKey
	e := openAI(t, s, func(c *embedding.Config) { c.OpenAIKey.Read = func() (string, error) { return key, nil } })
	for _, key = range []string{"first", "second"} {
		if _, err := e.Embed(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if q := s.requests(); q[len(q)-1].key != "Bearer "+key {
			t.Errorf("sent %s", q[len(q)-1].key)
		}
	}
}

func TestLinkLocalIsNotCalled(t *testing.T) {
	e, err := embedding.Open(embedding.Config{Spec: "ollama:m", OllamaURL: "http://169.254.169.254"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Embed(t.Context(), []string{"a"})
	wantError(t, err, loci.Invalid, "ollama.base_url", "link-local")
}
