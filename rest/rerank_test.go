package rest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A shortest gives short texts the better chances, unless it is broken.
type shortest struct{ broken bool }

func (*shortest) Model() string { return "shortest" }

func (s *shortest) Rerank(_ context.Context, _ string, texts []string) ([]float64, error) {
	if s.broken {
		return nil, errors.New("broken")
	}
	chances := make([]float64, len(texts))
	for i, text := range texts {
		chances[i] = 1 / float64(1+len(text))
	}
	return chances, nil
}

// Each search over REST takes "rerank", explains what a re-ranker did, and says when it did nothing.
func TestRerank(t *testing.T) {
	s, reranker := locitest.OpenMemory(), &shortest{}
	engine, err := loci.New(s, &loci.Options{Features: locitest.Features(),
		Rerank: loci.RerankOptions{Reranker: reranker}})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, s, func(o *Options) { o.Engine = engine })
	m := locitest.Bind(t, engine, "user", "a.b@example.org")
	locitest.Save(t, m, "zebra crossing, zebra stripes, zebra crossing")
	locitest.Save(t, m, "a zebra")
	fillDirectory(t, m, "/zoo", 1)
	for _, text := range []string{"zebra crossing, zebra stripes, zebra crossing", "a zebra"} {
		b.send(http.MethodPost, "/v1/sessions/s/messages", `{"messages":[{"role":"user","content":"`+text+`"}]}`)
	}
	for _, c := range []struct{ path, body string }{
		{"/v1/search", `{"query":"zebra crossing"`}, {"/v1/sessions/s/search", `{"query":"zebra crossing"`},
	} {
		for _, x := range []struct {
			more   string
			broken bool
			first  string // what stands before the other text
			want   string
			never  string
		}{
			{``, false, "a zebra", `"reranked":0.`, `not_reranked`},
			{`,"rerank":true`, false, "a zebra", `"first_score":0.`, `not_reranked`},
			{`,"rerank":false`, false, "zebra crossing", `"keyword_rank":1`, `reranked`},
			{``, true, "zebra crossing", `"not_reranked":"the re-ranker failed"`, `first_score`},
		} {
			reranker.broken = x.broken
			r := b.send(http.MethodPost, c.path, c.body+x.more+"}")
			long, short := strings.Index(r.body, "zebra crossing, zebra"), strings.Index(r.body, "a zebra")
			if r.status != http.StatusOK || long < 0 || short < 0 || (x.first == "a zebra") != (short < long) {
				t.Errorf("%s %s: %d %s; want %q first", c.path, x.more, r.status, r.body, x.first)
			}
			if !strings.Contains(r.body, x.want) || strings.Contains(r.body, x.never) {
				t.Errorf("%s %s: %s; want %s and no %s", c.path, x.more, r.body, x.want, x.never)
			}
		}
	}
	reranker.broken = true
	for more, want := range map[string]bool{``: true, `,"rerank":false`: false} {
		if r := b.send(http.MethodPost, "/v1/files/search", `{"query":"line"`+more+`}`); strings.Contains(r.body, "not_reranked") != want {
			t.Errorf("of files with %q: %s", more, r.body)
		}
	}
	plain := newBench(t, locitest.OpenMemory(), nil)
	r := plain.send(http.MethodPost, "/v1/search", `{"query":"zebra","rerank":true}`)
	if r.status < 400 || r.status > 499 && r.status != http.StatusNotImplemented || !strings.Contains(r.body, "there is no re-ranker") {
		t.Errorf("without a re-ranker: %d %s", r.status, r.body)
	}
}
