package rest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/intake"
	"github.com/loci-memory/loci/internal/jsonguard"
	"github.com/loci-memory/loci/internal/problem"
)

// The operations of a batch: the requests of the single routes with a name.
type (
	putOperation struct {
		Op string `json:"op" enum:"put"`
		PutItem
	}
	getOperation struct {
		Op string `json:"op" enum:"get"`
		GetItem
	}
	deleteOperation struct {
		Op string `json:"op" enum:"delete"`
		DeleteItem
	}
	searchOperation struct {
		Op string `json:"op" enum:"search"`
		SearchItems
	}
	namespacesOperation struct {
		Op string `json:"op" enum:"namespaces"`
		ListNamespaces
	}
)

// operations are the types of operations by name.
var operations = []struct {
	name string
	typ  reflect.Type
}{
	{"put", reflect.TypeFor[putOperation]()},
	{"get", reflect.TypeFor[getOperation]()},
	{"delete", reflect.TypeFor[deleteOperation]()},
	{"search", reflect.TypeFor[searchOperation]()},
	{"namespaces", reflect.TypeFor[namespacesOperation]()},
}

// operation is one of a batch, not decoded further than its name.
type operation struct {
	op  string
	raw json.RawMessage
}

// UnmarshalJSON is for package json; the schema has been checked by then.
func (o *operation) UnmarshalJSON(data []byte) error {
	var named struct {
		Op string `json:"op"`
	}
	if err := jsonguard.Unmarshal(data, &named); err != nil {
		return err
	}
	o.op, o.raw = named.Op, append(json.RawMessage{}, data...)
	return nil
}

// Schema is for huma: one of the operations, told apart by op.
func (operation) Schema(r huma.Registry) *huma.Schema {
	s := &huma.Schema{Discriminator: &huma.Discriminator{PropertyName: "op", Mapping: map[string]string{}}}
	for _, o := range operations {
		ref := r.Schema(o.typ, true, "")
		s.OneOf = append(s.OneOf, ref)
		s.Discriminator.Mapping[o.name] = ref.Ref
	}
	return s
}

// outcome is what became of one operation of a batch.
type outcome struct {
	Op         string           `json:"op"`
	Item       *wireItem        `json:"item,omitempty" doc:"Of a get; absent: there is none"`
	Items      *[]wireItem      `json:"items,omitempty" doc:"Of a search"`
	Namespaces *[][]string      `json:"namespaces,omitempty" doc:"Of namespaces"`
	Error      *problem.Problem `json:"error,omitempty" doc:"Why the operation was not done"`
}

// maxBatchBytes bounds the operations of a batch, as JSON in which what is not ASCII counts twice, so that all of them
// cost less than a second. A single one may have what its own route takes.
const maxBatchBytes = 1 << 20

// A search looks at each word of its query and, however short that is, at what is stored; a put only writes. So
// batches have 51 searches and lists of namespaces at most, of 64 KiB.
const (
	searchFactor = 16       // for each byte of a put
	leastSearch  = 20 << 10 // bytes that a short one counts as
)

// size is how many bytes an operation counts as.
func (o *operation) size() int {
	size := intake.SizeOfText([]byte(o.raw))
	if o.op == "search" || o.op == "namespaces" {
		return max(leastSearch, searchFactor*size)
	}
	return size
}

type batchInput struct {
	Body struct {
		Operations []operation `json:"operations" nullable:"false" minItems:"1" maxItems:"250" doc:"1 MiB of them together, of which what is not ASCII counts twice; a search or a list of namespaces counts 16 times, and as 20 KiB at least"`
	} `nameHint:"Batch"`
}

type batchOutput struct {
	Body struct {
		Results []outcome `json:"results" nullable:"false" doc:"Of each operation, in their order"`
	} `nameHint:"BatchResults"`
}

func (a *API) batchRoutes() {
	route(a, endpoint{method: http.MethodPost, path: "/v1/items/batch", id: "batch_items", summary: "Do several things with items at once",
		open:   "each operation asks for the scope of its own route",
		writes: true, value: true, detail: "As in LangGraph, operations that read see what was there before the batch; then those that write are done in " +
			"their order, deletes that follow one another at once, each for itself: one that fails does not stop the others. Each needs the scope of its own route. With an " +
			"idempotency key the whole batch may be sent again."},
		func(ctx context.Context, c *caller, in *batchInput) (*batchOutput, error) {
			if err := checkBatch(in.Body.Operations); err != nil {
				return nil, err
			}
			out := &batchOutput{}
			out.Body.Results = make([]outcome, len(in.Body.Operations))
			room := maxAnswer // of those that read, which are done one after another
			until := clock().Add(mostReading)
			read := false
			do := func(i int) {
				one, o, result := *c, in.Body.Operations[i], &out.Body.Results[i]
				one.IdempotencyKey = partKey(c.IdempotencyKey, i)
				looks := o.op == "search" || o.op == "namespaces"
				if looks && read && clock().After(until) {
					result.Op, result.Error = o.op, a.problem(ctx, c.RequestID, noTime())
					return
				}
				if looks { // only those that read, which run alone
					read = true
				}
				if err := a.operate(ctx, &one, o, &room, result); err != nil {
					result.Error = a.problem(ctx, c.RequestID, err)
				}
				result.Op = o.op
			}
			var writes []int
			for i, o := range in.Body.Operations {
				if o.op == "put" || o.op == "delete" {
					writes = append(writes, i)
				} else {
					do(i)
				}
			}
			for len(writes) > 0 {
				n := deletesAt(in.Body.Operations, writes)
				together(writes[:n], do)
				writes = writes[n:]
			}
			return out, ctx.Err() // what its time did not suffice for says so itself; without a client nobody hears it
		})
}

// mostTogether is how many deletes of a batch run at once: the store erases what waits
// together in one go, and wipes once behind all of them.
const mostTogether = 32

// deletesAt is how many of the writes to come may run at once: those up to the next that is
// no delete, which is done alone.
func deletesAt(operations []operation, writes []int) int {
	n := slices.IndexFunc(writes, func(i int) bool { return operations[i].op != "delete" })
	if n < 0 {
		n = len(writes)
	}
	return max(1, n)
}

// together does things at once, a few at a time. A panic is one of the caller's.
func together(each []int, do func(int)) {
	turns := make(chan struct{}, mostTogether)
	var wg sync.WaitGroup
	var panicked atomic.Value
	for _, i := range each {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panicked.Store(fmt.Sprintf("%v\n%s", p, debug.Stack()))
				}
				<-turns
			}()
			do(i)
		})
	}
	wg.Wait()
	if p := panicked.Load(); p != nil {
		panic(p)
	}
}

func checkBatch(operations []operation) error {
	size := 0
	for i := range operations {
		size += operations[i].size()
	}
	if size > maxBatchBytes && len(operations) > 1 {
		return loci.Errorf(loci.TooLarge, "operations have %d bytes, of which what is not ASCII counts twice, and a search or a list "+
			"of namespaces %d times and as %d at least; the limit is %d: send several batches", size, searchFactor, leastSearch, maxBatchBytes)
	}
	return nil
}

// partKey is the idempotency key of one operation of a batch.
func partKey(key string, i int) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return "batch:" + hex.EncodeToString(sum[:]) + ":" + strconv.Itoa(i)
}

// noRoom refuses an operation for what others of its batch have answered.
func noRoom() error {
	return &loci.Error{Code: loci.TooLarge, Msg: fmt.Sprintf(
		"the answers of this batch before it leave no room for its own; the limit of all is %d bytes", maxAnswer),
		Recovery: "Send it in another batch."}
}

// mostReading is how long the searches and lists of namespaces of a batch may take before the next one is left to
// another batch. What one takes grows with what is stored, which no weight of a request can know.
const mostReading = time.Second / 2

var clock = time.Now // tests move it

// noTime refuses an operation for how long others of its batch have taken.
func noTime() error {
	return &loci.Error{Code: loci.TooLarge, Msg: fmt.Sprintf(
		"the searches of this batch before it have taken its time; the limit of all is %v", mostReading),
		Recovery: "Send it in another batch."}
}

// answered takes the bytes of an answer from what is left of a batch's.
func answered(room *int, size int) error {
	if size > *room {
		return noRoom()
	}
	*room -= size
	return nil
}

// size is how many bytes an item holds.
func (it *wireItem) size() int {
	size := len(it.Key) + len(it.Value) + itemBytes
	for _, label := range it.Namespace {
		size += len(label)
	}
	return size
}

// itemBytes is about what an item or a namespace takes beside its texts.
const itemBytes = 128

// operate does one operation of a batch, whose answer has room.
func (a *API) operate(ctx context.Context, c *caller, o operation, room *int, out *outcome) error {
	m, err := a.memory(c)
	if err != nil {
		return err
	}
	switch o.op {
	case "put":
		return part(c, o, loci.ScopeWrite, func(in *putOperation) error { return put(ctx, m, &in.PutItem, true) })
	case "delete":
		return part(c, o, loci.ScopeDelete, func(in *deleteOperation) error { return remove(ctx, m, &in.DeleteItem) })
	case "get":
		return part(c, o, loci.ScopeRead, func(in *getOperation) error {
			it, err := get(ctx, m, &in.GetItem)
			switch {
			case err == nil:
				if err = answered(room, it.size()); err == nil {
					out.Item = &it
				}
			case errors.Is(err, loci.ErrNotFound):
				return nil
			}
			return err
		})
	case "search":
		return part(c, o, loci.ScopeRead, func(in *searchOperation) error {
			if *room < 1 {
				return noRoom()
			}
			items, err := find(ctx, m, &in.SearchItems, *room)
			size := 0
			for i := range items {
				size += items[i].size()
			}
			switch {
			case errors.Is(err, loci.ErrTooMuch) && *room < maxAnswer:
				*room = 0 // nothing is read for those that follow
				return noRoom()
			case err != nil:
				return err
			}
			*room = max(0, *room-size) // what the store held is bounded, and a key or a name adds little to it
			out.Items = &items
			return nil
		})
	}
	return part(c, o, loci.ScopeRead, func(in *namespacesOperation) error {
		found, err := list(ctx, m, &in.ListNamespaces)
		size := 0
		for _, labels := range found {
			for _, label := range labels {
				size += len(label)
			}
			size += itemBytes
		}
		if err = cmp.Or(err, answered(room, size)); err == nil {
			out.Namespaces = &found
		}
		return err
	})
}

// part decodes an operation and does it, if the caller may.
func part[I any](c *caller, o operation, scope loci.Scope, do func(*I) error) error {
	if err := c.Principal.Require(scope); err != nil {
		return err
	}
	var in I
	if err := decode(o.raw, &in); err != nil {
		return loci.Errorf(loci.Invalid, "the operation %s is not as described: %w", o.op, err)
	}
	return do(&in)
}
