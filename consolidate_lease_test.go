package loci_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A process that dies leaves its lease, which runs out; its attempt counts.
func TestConsolidateLease(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, locitest.Quiet(c))
		m := locitest.Bind(t, e, "user", "u")
		id := locitest.Episode(t, m, "home", "something")
		inside := make(chan struct{})
		stuck := completerFunc(func(ctx context.Context, _ loci.Prompt) (loci.Completion, error) {
			close(inside)
			<-ctx.Done()
			panic("killed")
		})
		ctx, kill := context.WithCancel(t.Context())
		dead := make(chan struct{})
		go func() {
			defer close(dead)
			defer func() { recover() }()
			_, _ = e.Consolidate(ctx, locitest.Tenant(t, "t"), loci.ConsolidateOptions{Completer: stuck})
		}()
		<-inside
		f := &fakeModel{t: t, reply: says(`{"new_facts":[]}`)}
		opts := loci.ConsolidateOptions{Completer: f.completer()}
		if r := locitest.Consolidate(t, e, opts); r.Groups != 0 || r.Waiting != 1 {
			t.Errorf("while another one holds it: %+v", r)
		}
		kill()
		<-dead
		c.Advance(300*time.Second - time.Millisecond)
		if r := locitest.Consolidate(t, e, opts); r.Groups != 0 {
			t.Errorf("before the lease is over: %+v", r)
		}
		c.Advance(time.Millisecond)
		if r := locitest.Consolidate(t, e, opts); r.Consolidated != 1 || episodeNow(t, m, id).Attempts != 1 {
			t.Errorf("after it: %+v, %+v", r, episodeNow(t, m, id))
		}
	})
}

type completerFunc func(context.Context, loci.Prompt) (loci.Completion, error)

func (completerFunc) Model() string { return "func" }

func (f completerFunc) Complete(ctx context.Context, p loci.Prompt) (loci.Completion, error) {
	return f(ctx, p)
}

// Two at once: each episode is asked about once.
func TestConsolidateTwoAtOnce(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, locitest.Quiet(c))
		for u := range 6 {
			for n := range 3 {
				locitest.Episode(t, locitest.Bind(t, e, "user", fmt.Sprint(u)), "home", fmt.Sprint("thing ", n))
			}
		}
		f := &fakeModel{t: t, reply: func(prompt string) (int, string) {
			_, data, _ := strings.Cut(prompt, "<episodes>\n")
			var line struct{ ID string }
			if err := json.NewDecoder(strings.NewReader(data)).Decode(&line); err != nil {
				t.Error(err)
			}
			return http.StatusOK, fmt.Sprintf(`{"new_facts":[{"content":"fact of %s","evidence":[%q]}]}`, line.ID, line.ID)
		}}
		opts := loci.ConsolidateOptions{Completer: f.completer()}
		var total atomic.Int64
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				r, err := e.Consolidate(t.Context(), locitest.Tenant(t, "t"), opts)
				if err != nil {
					t.Error(err)
				}
				total.Add(int64(r.Consolidated))
			})
		}
		both.Wait()
		facts := locitest.AllFacts(t, locitest.Bind(t, e))
		if total.Load() != 18 || len(facts) != 6 || f.calls.Load() != 6 {
			t.Errorf("%d consolidated, %d facts, %d calls", total.Load(), len(facts), f.calls.Load())
		}
	})
}

// An episode that is forgotten while the model reads it is no longer evidence.
func TestConsolidateForgottenMeanwhile(t *testing.T) {
	e := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(locitest.NewClock()))
	m := locitest.Bind(t, e, "user", "u")
	gone, kept := locitest.Episode(t, m, "home", "private"), locitest.Episode(t, m, "home", "public")
	answer := completerFunc(func(ctx context.Context, _ loci.Prompt) (loci.Completion, error) {
		if err := m.Erase(ctx, gone); err != nil {
			return loci.Completion{}, err
		}
		return loci.Completion{Text: fmt.Sprintf(`{"new_facts":[{"content":"private","evidence":[%q]},{"content":"public","evidence":[%q]}]}`, gone, kept)}, nil
	})
	r := locitest.Consolidate(t, e, loci.ConsolidateOptions{Completer: answer})
	facts := locitest.AllFacts(t, m)
	if len(facts) != 1 || facts[0].Content != "public" || r.Consolidated != 1 || !r.Usage.Estimated {
		t.Errorf("%+v, %+v", r, facts)
	}
}

// An answer that comes after the lease has gone to another attempt is worth nothing.
func TestConsolidateLateAnswer(t *testing.T) {
	c := locitest.NewClock()
	e := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(c))
	m := locitest.Bind(t, e, "user", "u")
	id := locitest.Episode(t, m, "home", "something")
	r := locitest.Consolidate(t, e,
		loci.ConsolidateOptions{Completer: completerFunc(func(context.Context, loci.Prompt) (loci.Completion, error) {
			c.Advance(301 * time.Second)
			locitest.Consolidate(t, e, loci.ConsolidateOptions{
				Completer: completerFunc(func(context.Context, loci.Prompt) (loci.Completion, error) {
					return oneFact(id, "in time")
				})})
			return oneFact(id, "late")
		})})
	facts := locitest.AllFacts(t, m)
	if len(facts) != 1 || facts[0].Content != "in time" || r.Consolidated != 0 || r.Created != 0 {
		t.Errorf("%+v, %+v", r, facts)
	}
}

// TestConsolidateTakenOver: an answer is not used either while another worker, which has taken over, waits for
// its own.
func TestConsolidateTakenOver(t *testing.T) {
	c := locitest.NewClock()
	e := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(c))
	m := locitest.Bind(t, e, "user", "u")
	id := locitest.Episode(t, m, "home", "something")
	asked, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	second := completerFunc(func(context.Context, loci.Prompt) (loci.Completion, error) {
		close(asked)
		<-release
		return oneFact(id, "in time")
	})
	r := locitest.Consolidate(t, e,
		loci.ConsolidateOptions{Completer: completerFunc(func(context.Context, loci.Prompt) (loci.Completion, error) {
			c.Advance(301 * time.Second)
			go func() {
				defer close(done)
				_, _ = e.Consolidate(t.Context(), locitest.Tenant(t, "t"), loci.ConsolidateOptions{Completer: second})
			}()
			<-asked
			return oneFact(id, "late")
		})})
	close(release)
	<-done
	facts := locitest.AllFacts(t, m)
	if len(facts) != 1 || facts[0].Content != "in time" || r.Consolidated != 0 || r.Created != 0 {
		t.Errorf("%+v, %+v", r, facts)
	}
}
