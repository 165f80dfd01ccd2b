package embedding

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/remote"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

const (
	defaultTimeout = time.Minute
	maxAttempts    = 6 // of one request, when the service is overloaded or fails
	maxParallel    = 4 // requests of one call that are under way at once
)

// A protocol is what two services do differently.
type protocol interface {
	// request is the value that is sent as JSON.
	request(texts []string) any
	// vectors reads an answer: one row a text, in order.
	vectors(body []byte, texts int) ([][]float32, error)
	// refused turns a status that repeating does not change into an error. again
	// says that the next request will be different and may work.
	refused(f *remote.Failure) (err *loci.Error, again bool)
}

// A service is an embedder that asks a service over HTTP. It cuts what it is given into
// requests the service accepts, repeats what may work the next time, and checks every
// answer.
type service struct {
	protocol
	client    *remote.Client
	model     string       // of the space, such as "openai:text-embedding-3-small"
	dims      atomic.Int64 // 0: not known yet
	timeout   time.Duration
	limiter   *rate.Limiter // nil: none
	maxTexts  int           // of one request
	maxTokens int           // of one request, as estimated; 0: no limit

	mu   sync.Mutex
	rest rest
}

// A rest keeps calls away from a service that is down, so that each write does
// not wait for it again.
type rest struct {
	until time.Time
	last  time.Duration
	err   error
}

// firstRest and longestRest bound how long a service that is down is left alone.
const (
	firstRest   = time.Second
	longestRest = 30 * time.Second
)

func newService(c Config, model string, p protocol, client *remote.Client) *service {
	r := &service{protocol: p, client: client, model: model, timeout: c.Timeout}
	if r.timeout <= 0 {
		r.timeout = defaultTimeout
	}
	if c.RequestsPerMinute > 0 {
		r.limiter = rate.NewLimiter(rate.Limit(float64(c.RequestsPerMinute)/60), max(1, c.RequestsPerMinute/60))
	}
	r.dims.Store(int64(c.Dimensions))
	return r
}

// Model names the space.
func (r *service) Model() string { return r.model }

// Dims is 0 until the service has answered once, unless it is configured or known.
func (r *service) Dims() int { return int(r.dims.Load()) }

// Embed returns one vector of unit length for each text; that of a blank text is
// zero. An error says what to do about it: Unavailable may go by, Invalid and
// TooLarge will not.
func (r *service) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := r.resting(); err != nil {
		return nil, err
	}
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	rows, err := r.embed(limited, texts)
	r.learn(ctx, start, err)
	return rows, err
}

func (r *service) embed(ctx context.Context, texts []string) ([][]float32, error) {
	rows := make([][]float32, len(texts))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for _, batch := range r.batches(texts) {
		group.Go(func() error { return r.fill(groupCtx, texts, batch, rows) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if r.dims.Load() == 0 && len(texts) > 0 { // all of them are blank
		if err := r.fill(ctx, []string{"dimensions"}, []int{0}, make([][]float32, 1)); err != nil {
			return nil, err
		}
	}
	for i := range rows {
		if rows[i] == nil {
			rows[i] = make([]float32, r.dims.Load())
		}
	}
	return rows, nil
}

// batches groups the texts that are not blank into requests, by their place.
func (r *service) batches(texts []string) (batches [][]int) {
	var batch []int
	tokens := 0
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		n := estimateTokens(text)
		if len(batch) == r.maxTexts || r.maxTokens > 0 && len(batch) > 0 && tokens+n > r.maxTokens {
			batches = append(batches, batch)
			batch, tokens = nil, 0
		}
		batch, tokens = append(batch, i), tokens+n
	}
	if len(batch) > 0 {
		batches = append(batches, batch)
	}
	return batches
}

// estimateTokens guesses high: English has four letters a token, other scripts
// one to three bytes. A request that is too large all the same is cut in two.
func estimateTokens(text string) int {
	ascii := 0
	for i := range len(text) {
		if text[i] < 0x80 {
			ascii++
		}
	}
	return ascii/3 + (len(text)-ascii)/2 + 1
}

// fill embeds the texts of a batch. A request that is refused is cut in two: it
// may be too large, and if a single text is to blame the error names it.
func (r *service) fill(ctx context.Context, texts []string, batch []int, rows [][]float32) error {
	part := make([]string, len(batch))
	for i, place := range batch {
		part[i] = texts[place]
	}
	got, err := r.post(ctx, part)
	var refusal *refusedError
	switch {
	case err == nil:
		for i, place := range batch {
			rows[place] = got[i]
		}
		return nil
	case !errors.As(err, &refusal):
		return err
	case !refusal.divisible:
		return refusal.err
	case len(batch) == 1:
		e := *refusal.err
		e.Msg += textNumber(batch[0], texts)
		return &e
	}
	half := len(batch) / 2
	if err := r.fill(ctx, texts, batch[:half], rows); err != nil {
		return err
	}
	return r.fill(ctx, texts, batch[half:], rows)
}

// check makes rows unit vectors, or says what is wrong with them.
func (r *service) check(rows [][]float32, texts int) error {
	if len(rows) != texts {
		return r.broken("%d vectors for %d texts", len(rows), texts)
	}
	for _, row := range rows {
		if len(row) < 1 || len(row) > loci.MaxDims {
			return r.broken("a vector of %d dimensions; 1 to %d are possible", len(row), loci.MaxDims)
		}
		r.dims.CompareAndSwap(0, int64(len(row)))
		if want := r.Dims(); len(row) != want {
			return r.broken("a vector of %d dimensions in place of %d: set embedding.dimensions to what the model gives", len(row), want)
		}
		if !normalize(row) {
			return r.broken("a vector without a direction (zeros, or no numbers)")
		}
	}
	return nil
}

func (r *service) broken(format string, args ...any) error {
	e := loci.Errorf(loci.Unavailable, format, args...)
	e.Msg = r.model + " at " + r.client.Host() + " returned " + e.Msg
	return e
}

// resting returns the error of a service that was down a moment ago.
func (r *service) resting() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.rest.until) {
		return r.rest.err
	}
	return nil
}

// learn begins or ends a rest. A caller that has gone says nothing about the service, and
// neither does a deadline that was too short for any service.
func (r *service) learn(caller context.Context, start time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.rest = rest{}
	case !errors.Is(err, loci.ErrUnavailable) || errors.Is(caller.Err(), context.Canceled):
	case caller.Err() != nil && time.Since(start) < firstRest:
	default:
		r.rest.last = min(max(2*r.rest.last, firstRest), longestRest)
		r.rest.until, r.rest.err = time.Now().Add(r.rest.last), err
	}
}
