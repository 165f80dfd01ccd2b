package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
)

// typed is a value as a serializer of LangGraph wrote it.
type typed struct {
	Type string `json:"type" doc:"What the serializer calls it, such as json or msgpack; empty: the channel holds nothing"`
	Data blob   `json:"data" doc:"The bytes, in base64; at most 16 MiB"`
}

// blob is bytes in base64. It has a schema of its own since huma takes no empty text
// for base64, and looks at each character with a regular expression.
type blob []byte

// Schema is what huma asks a type for.
func (blob) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "byte"}
}

func (v typed) value() checkpoint.Typed { return checkpoint.Typed{Type: v.Type, Data: v.Data} }

func showTyped(v checkpoint.Typed) typed { return typed{v.Type, append([]byte{}, v.Data...)} }

// newCheckpoint is one to store.
type newCheckpoint struct {
	ThreadID           string            `json:"thread_id" doc:"1 to 1024 bytes"`
	CheckpointNS       string            `json:"checkpoint_ns,omitempty" doc:"Of a subgraph; absent or empty: of the root graph"`
	CheckpointID       string            `json:"checkpoint_id" doc:"1 to 256 bytes; those of later checkpoints compare greater"`
	ParentCheckpointID string            `json:"parent_checkpoint_id,omitempty" doc:"Of the checkpoint before, in the same thread and namespace"`
	Format             int               `json:"format,omitempty" minimum:"0" doc:"The version of the checkpoint's own format, v of LangGraph"`
	Checkpoint         typed             `json:"checkpoint" doc:"Without the values of channels"`
	Metadata           map[string]any    `json:"metadata,omitempty" doc:"What filters match; run_id is what delete_for_runs matches"`
	MetadataTyped      *typed            `json:"metadata_typed,omitempty" doc:"The metadata with what JSON cannot say"`
	ChannelVersions    map[string]string `json:"channel_versions,omitempty" doc:"Of every channel, as text"`
	ChannelValues      map[string]typed  `json:"channel_values,omitempty" doc:"Those that are new, by channel; of others the value of the same version stays"`
}

// checkpointWrite is what a task wrote.
type checkpointWrite struct {
	TaskID   string `json:"task_id" doc:"1 to 256 bytes"`
	TaskPath string `json:"task_path,omitempty" doc:"Writes are applied in its order"`
	Idx      int    `json:"idx" doc:"The place among the writes of the task; below zero: errors, interrupts and the like, which are written again"`
	Channel  string `json:"channel" doc:"1 to 1024 bytes"`
	Value    typed  `json:"value"`
}

// wireCheckpoint is a checkpoint that was read.
type wireCheckpoint struct {
	ThreadID           string            `json:"thread_id"`
	CheckpointNS       string            `json:"checkpoint_ns" doc:"Empty: of the root graph"`
	CheckpointID       string            `json:"checkpoint_id"`
	ParentCheckpointID string            `json:"parent_checkpoint_id,omitempty" doc:"Absent: there is none, or it was pruned"`
	Format             int               `json:"format,omitempty"`
	Checkpoint         typed             `json:"checkpoint"`
	Metadata           map[string]any    `json:"metadata" nullable:"false"`
	MetadataTyped      *typed            `json:"metadata_typed,omitempty" doc:"If it was stored with some"`
	ChannelVersions    map[string]string `json:"channel_versions" nullable:"false"`
	ChannelValues      map[string]typed  `json:"channel_values" nullable:"false" doc:"Of each channel that holds something; none in a list without values"`

	PendingWrites []checkpointWrite `json:"pending_writes" nullable:"false" doc:"In order of task path, task and idx"`
	CreatedAt     time.Time         `json:"created_at" doc:"When it was first stored"`
}

func showCheckpoint(c *checkpoint.Saved) (wireCheckpoint, error) {
	out := wireCheckpoint{
		CreatedAt:          c.CreatedAt,
		PendingWrites:      []checkpointWrite{},
		ThreadID:           c.Thread,
		CheckpointNS:       c.Namespace,
		CheckpointID:       c.ID,
		ParentCheckpointID: c.Parent,
		Format:             c.Format,
		Checkpoint:         showTyped(c.State),
		ChannelVersions:    c.Versions,
		ChannelValues:      map[string]typed{},
	}
	if err := decode(c.Metadata, &out.Metadata); err != nil {
		return out, err
	}
	if c.TypedMetadata.Type != "" {
		v := showTyped(c.TypedMetadata)
		out.MetadataTyped = &v
	}
	for channel, v := range c.Values {
		out.ChannelValues[channel] = showTyped(v)
	}
	for _, w := range c.Writes {
		out.PendingWrites = append(out.PendingWrites, checkpointWrite{
			TaskID:   w.Task,
			TaskPath: w.TaskPath,
			Idx:      w.Index,
			Channel:  w.Channel,
			Value:    showTyped(w.Value),
		})
	}
	return out, nil
}

// The requests.
type (
	getCheckpoint struct {
		ThreadID     string `json:"thread_id" doc:"1 to 1024 bytes"`
		CheckpointNS string `json:"checkpoint_ns,omitempty" doc:"Of a subgraph; absent or empty: of the root graph"`
		CheckpointID string `json:"checkpoint_id,omitempty" doc:"Absent: the latest"`
	}
	listCheckpoints struct {
		ThreadID     string         `json:"thread_id,omitempty" doc:"Absent: every thread, those stored last first"`
		CheckpointNS *string        `json:"checkpoint_ns,omitempty" doc:"Empty: of the root graph alone; absent: of every graph"`
		CheckpointID string         `json:"checkpoint_id,omitempty" doc:"Only this one"`
		Before       string         `json:"before,omitempty" doc:"Only those whose id is less than this"`
		Filter       map[string]any `json:"filter,omitempty" doc:"Conditions on the metadata, all of which must hold"`
		Limit        *int           `json:"limit,omitempty" doc:"1 to 1000; absent: 100. A page of large checkpoints ends earlier"`
		Cursor       string         `json:"cursor,omitempty" doc:"The next_cursor of the page before"`
		Values       *bool          `json:"values,omitempty" doc:"Whether channel_values come with them; absent: yes"`
	}
	listedCheckpoints struct {
		Checkpoints []wireCheckpoint `json:"checkpoints" nullable:"false" doc:"Of a thread: the greatest id first"`
		NextCursor  string           `json:"next_cursor,omitempty" doc:"Goes on; absent at the end"`
	}
	putCheckpointWrites struct {
		ThreadID     string            `json:"thread_id" doc:"1 to 1024 bytes"`
		CheckpointNS string            `json:"checkpoint_ns,omitempty" doc:"Of a subgraph; absent or empty: of the root graph"`
		CheckpointID string            `json:"checkpoint_id" doc:"After which the tasks wrote; it need not be stored yet"`
		Writes       []checkpointWrite `json:"writes" nullable:"false" doc:"What is there already stays, unless idx is below zero"`
	}
	copyThread struct {
		ThreadID       string `json:"thread_id" doc:"The thread to copy"`
		TargetThreadID string `json:"target_thread_id" doc:"A thread without checkpoints, or with a copy of that thread that has not ended"`
		Cursor         string `json:"cursor,omitempty" doc:"The next_cursor of the reply before: goes on"`
	}
	pruneThreads struct {
		ThreadIDs []string `json:"thread_ids" nullable:"false" maxItems:"1000"`
		Strategy  string   `json:"strategy,omitempty" enum:"keep_latest,delete" doc:"keep_latest, the default: leave the latest checkpoint of each namespace, and what it is read with"`
		Cursor    string   `json:"cursor,omitempty" doc:"The next_cursor of the reply before: goes on, with the same threads"`
	}
	deleteForRuns struct {
		RunIDs []string `json:"run_ids" nullable:"false" maxItems:"1000" doc:"Of metadata.run_id"`
		Cursor string   `json:"cursor,omitempty" doc:"The next_cursor of the reply before: goes on"`
	}
	oneThread struct {
		Prefer   string `header:"Prefer" hidden:"true"`
		ThreadID string `path:"thread_id" maxLength:"1024"`
		Cursor   string `query:"cursor" doc:"The next_cursor of the reply before: goes on"`
	}
	erasedCheckpoints struct {
		Erased int    `json:"erased" doc:"How many checkpoints went with this request"`
		Next   string `json:"next_cursor,omitempty" doc:"More is left: goes on. Absent: all is done"`
	}
	copiedCheckpoints struct {
		Copied int    `json:"copied" doc:"How many checkpoints are copied by now"`
		Next   string `json:"next_cursor,omitempty" doc:"More is left: goes on. Absent: all is done"`
	}
	erasedOutput struct{ Body erasedCheckpoints }

	// inParts is a request that may do a part of what it asks for.
	inParts[B any] struct {
		Prefer string `header:"Prefer" hidden:"true"`
		Body   B
	}
)

const preferDetail = "A request does a part of what is large: some 10,000 records that are erased, 6,000 that are copied. With `Prefer: parts`, or a cursor, the reply " +
	"says with next_cursor that more is left. Otherwise it is 413, too_large, and the same request goes on, until it succeeds."

// partsOf is the part that a request has done. Whoever neither prefers parts nor has a cursor is told with an error that more is left.
func partsOf(prefer, cursor string, part checkpoint.Part, err error) (n int, next string, _ error) {
	if err != nil || cursor != "" || wantsParts(prefer) {
		return part.Checkpoints, part.Next, err
	}
	n, err = part.Whole()
	return n, "", err
}

// wantsParts reports whether a Prefer header names parts.
func wantsParts(prefer string) bool {
	for one := range strings.SplitSeq(prefer, ",") {
		name, _, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(name), "parts") {
			return true
		}
	}
	return false
}

func (a *API) checkpointRoutes() {
	route(a, endpoint{method: http.MethodPut, path: "/v1/checkpoints", id: "put_checkpoint", summary: "Store a checkpoint", scope: loci.ScopeWrite,
		writes: true, blob: true, status: http.StatusNoContent, detail: "It replaces one of the same id."}, a.putCheckpoint)
	route(a, endpoint{
		method:  http.MethodPost,
		path:    "/v1/checkpoints/get",
		id:      "get_checkpoint",
		summary: "Read a checkpoint",
		scope:   loci.ScopeRead,
		reply:   a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[wireCheckpoint](), true, ""),
		detail:  partsDetail,
	}, a.getCheckpoint)
	route(a, endpoint{method: http.MethodPost, path: "/v1/checkpoints/list", id: "list_checkpoints", summary: "List checkpoints", scope: loci.ScopeRead}, a.listCheckpoints)
	route(a, endpoint{method: http.MethodPost, path: "/v1/checkpoints/writes", id: "put_checkpoint_writes", summary: "Store what tasks wrote", scope: loci.ScopeWrite,
		writes: true, blob: true, status: http.StatusNoContent}, a.putCheckpointWrites)
	route(a, endpoint{method: http.MethodPost, path: "/v1/checkpoints/copy", id: "copy_thread", summary: "Copy the checkpoints of a thread", scope: loci.ScopeWrite,
		writes: true, detail: "Until the copy has ended nobody reads or changes the target; deleting it is allowed. " + preferDetail},
		func(ctx context.Context, c *caller, in *inParts[copyThread]) (*struct{ Body copiedCheckpoints }, error) {
			return within(a, c, func(m *loci.Memory) (out *struct{ Body copiedCheckpoints }, err error) {
				out = &struct{ Body copiedCheckpoints }{}
				b := &in.Body
				part, err := checkpoint.Of(m).CopyThreadPart(ctx, b.ThreadID, b.TargetThreadID, b.Cursor)
				out.Body.Copied, out.Body.Next, err = partsOf(in.Prefer, b.Cursor, part, err)
				return out, err
			})
		})
	type erasing = func(*checkpoint.Handle) (checkpoint.Part, error)
	erase := func(c *caller, prefer, cursor string, do erasing) (*erasedOutput, error) {
		return within(a, c, func(m *loci.Memory) (*erasedOutput, error) {
			out := &erasedOutput{}
			part, err := do(checkpoint.Of(m))
			out.Body.Erased, out.Body.Next, err = partsOf(prefer, cursor, part, err)
			return out, err
		})
	}
	route(a, endpoint{method: http.MethodPost, path: "/v1/checkpoints/prune", id: "prune_threads", summary: "Erase old checkpoints of threads", scope: loci.ScopeDelete,
		writes: true, detail: "A thread that is not there is no error. " + preferDetail},
		func(ctx context.Context, c *caller, in *inParts[pruneThreads]) (*erasedOutput, error) {
			strategy := checkpoint.KeepLatest
			if in.Body.Strategy != "" {
				strategy = checkpoint.PruneStrategy(in.Body.Strategy)
			}
			return erase(c, in.Prefer, in.Body.Cursor, func(k *checkpoint.Handle) (checkpoint.Part, error) {
				return k.PrunePart(ctx, in.Body.ThreadIDs, strategy, in.Body.Cursor)
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/checkpoints/delete_for_runs", id: "delete_checkpoints_for_runs", summary: "Erase the checkpoints that runs made",
		scope: loci.ScopeDelete, writes: true, detail: preferDetail},
		func(ctx context.Context, c *caller, in *inParts[deleteForRuns]) (*erasedOutput, error) {
			return erase(c, in.Prefer, in.Body.Cursor, func(k *checkpoint.Handle) (checkpoint.Part, error) {
				return k.DeleteForRunsPart(ctx, in.Body.RunIDs, in.Body.Cursor)
			})
		})
	route(a, endpoint{method: http.MethodDelete, path: "/v1/threads/{thread_id}/checkpoints", id: "delete_thread_checkpoints", summary: "Erase the checkpoints of a thread",
		scope: loci.ScopeDelete, writes: true, detail: "A thread that is not there is no error. " + preferDetail},
		func(ctx context.Context, c *caller, in *oneThread) (*erasedOutput, error) {
			return erase(c, in.Prefer, in.Cursor, func(k *checkpoint.Handle) (checkpoint.Part, error) {
				return k.DeleteThreadPart(ctx, in.ThreadID, in.Cursor)
			})
		})
}

func (a *API) putCheckpoint(ctx context.Context, c *caller, in *struct{ Body newCheckpoint }) (*struct{}, error) {
	return within(a, c, func(m *loci.Memory) (*struct{}, error) {
		b := &in.Body
		out := checkpoint.Checkpoint{
			Thread:    b.ThreadID,
			Namespace: b.CheckpointNS,
			ID:        b.CheckpointID,
			Parent:    b.ParentCheckpointID,
			Format:    b.Format,
			State:     b.Checkpoint.value(),
			Versions:  b.ChannelVersions,
			Values:    map[string]checkpoint.Typed{},
		}
		if b.MetadataTyped != nil {
			out.TypedMetadata = b.MetadataTyped.value()
		}
		if b.Metadata != nil {
			var err error
			if out.Metadata, err = json.Marshal(b.Metadata); err != nil {
				return nil, err
			}
		}
		for channel, v := range b.ChannelValues {
			out.Values[channel] = v.value()
		}
		return nil, checkpoint.Of(m).Put(ctx, out)
	})
}

func (a *API) listCheckpoints(
	ctx context.Context, c *caller, in *struct{ Body listCheckpoints },
) (*struct{ Body listedCheckpoints }, error) {
	return within(a, c, func(m *loci.Memory) (*struct{ Body listedCheckpoints }, error) {
		b := &in.Body
		q := checkpoint.Query{
			Thread:        b.ThreadID,
			Namespace:     b.CheckpointNS,
			ID:            b.CheckpointID,
			Before:        b.Before,
			Cursor:        b.Cursor,
			WithoutValues: b.Values != nil && !*b.Values,
		}
		var err error
		if q.Where, err = loci.ParseWhere(b.Filter); err != nil {
			return nil, err
		}
		if q.Limit, err = limitOf(b.Limit, loci.MaxSearchLimit); err != nil {
			return nil, err
		}
		page, err := checkpoint.Of(m).List(ctx, q)
		if err != nil {
			return nil, err
		}
		out := &struct{ Body listedCheckpoints }{listedCheckpoints{
			Checkpoints: make([]wireCheckpoint, len(page.Checkpoints)),
			NextCursor:  page.Next,
		}}
		for i := range page.Checkpoints {
			if out.Body.Checkpoints[i], err = showCheckpoint(&page.Checkpoints[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

func (a *API) putCheckpointWrites(
	ctx context.Context, c *caller, in *struct{ Body putCheckpointWrites },
) (*struct{}, error) {
	return within(a, c, func(m *loci.Memory) (*struct{}, error) {
		var writes []checkpoint.Write
		for _, w := range in.Body.Writes {
			writes = append(writes, checkpoint.Write{
				Task:     w.TaskID,
				TaskPath: w.TaskPath,
				Index:    w.Idx,
				Channel:  w.Channel,
				Value:    w.Value.value(),
			})
		}
		b := &in.Body
		return nil, checkpoint.Of(m).PutWrites(ctx, b.ThreadID, b.CheckpointNS, b.CheckpointID, writes)
	})
}
