// Package checkpoint keeps LangGraph's checkpoints, the values of their channels and the
// writes of their tasks. Name [Feature] in loci.Options.Features.
package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// Limits of checkpoints.
const (
	MaxValue    = 16 << 20 // bytes of one serialised value
	MaxPut      = 64 << 20 // bytes of all values of one put
	MaxMetadata = 1 << 20  // bytes of the metadata that filters match
	MaxChannels = 10_000   // channels of one checkpoint, writes of one call
	MaxNames    = 2 << 20  // bytes of the names and versions of the channels of one checkpoint: each is stored four times
	MaxWrites   = 17 << 20 // bytes of the writes of one call, each with its names, 512 bytes at least, beside its value
)

// writeCost is what a write counts beside its value at least.
const writeCost = 512

// EmptyType is the type of a value that says a channel holds nothing. It is not stored.
const EmptyType = "empty"

// A Typed is a serialised value: what a serializer of LangGraph makes of an object. Loci
// keeps the bytes as they are and looks for nothing in them, not even credentials.
type Typed struct {
	Type string `json:"type"` // such as "msgpack" or "json"
	Data []byte `json:"data"`
}

// A Checkpoint is the state of a graph between two steps, as LangGraph saves it.
type Checkpoint struct {
	Thread    string `json:"thread_id"`
	Namespace string `json:"checkpoint_ns"` // "" of the root graph, else of a subgraph
	ID        string `json:"checkpoint_id"` // later ones compare greater, byte by byte
	Parent    string `json:"parent_checkpoint_id,omitempty"`

	// Format is the version of the checkpoint's own format ("v" of LangGraph). Below 4
	// what a step sent to tasks is read from the writes of the parent, which pruning
	// then keeps. 0: not known.
	Format int `json:"format,omitempty"`

	// State is the checkpoint without the values of its channels.
	State Typed `json:"checkpoint"`

	// Metadata is what filters match, a JSON object; TypedMetadata, when not empty, is
	// the metadata as the serializer wrote it, with what JSON cannot say.
	Metadata      json.RawMessage `json:"metadata"`
	TypedMetadata Typed           `json:"metadata_typed,omitzero"`

	// Versions are those of all channels, as text.
	Versions map[string]string `json:"channel_versions"`

	// Values are those of channels. To put a checkpoint, only those that changed need
	// to be given; a value of EmptyType says that the channel holds nothing now. A
	// checkpoint that was read has all that are not empty.
	Values map[string]Typed `json:"channel_values"`
}

// A Write is what a task wrote to a channel before the next checkpoint.
type Write struct {
	Task     string `json:"task_id"`
	TaskPath string `json:"task_path,omitempty"`

	// Index is the place among the writes of the task. What is there already stays, so
	// that a repeated call changes nothing; an index below zero names a place that may be
	// overwritten, as LangGraph does for errors, interrupts and the like.
	Index int `json:"idx"`

	Channel string `json:"channel"`
	Value   Typed  `json:"value"`
}

// Saved is a checkpoint as it was read.
type Saved struct {
	Checkpoint
	Writes    []Write   `json:"pending_writes"` // in order of task path, task and index
	CreatedAt time.Time `json:"created_at"`     // when it was first stored
}

// A Handle keeps the state of LangGraph graphs in the namespace of a [loci.Memory],
// neither above nor below it. Searches never find any of it.
//
// A checkpoint is a record, and so is each value of a channel: one that does not
// change between two checkpoints is stored once, and both refer to it.
type Handle struct{ m *loci.Memory }

// Of returns the checkpoints of a handle's namespace.
func Of(m *loci.Memory) *Handle { return &Handle{m} }

// body is the part of a checkpoint that only this package reads.
type body struct {
	Thread       string             `json:"thread"`
	Namespace    string             `json:"ns,omitempty"`
	ID           string             `json:"id"`
	Parent       string             `json:"parent,omitempty"`
	Format       int                `json:"format,omitempty"`
	Type         string             `json:"type"`
	MetadataType string             `json:"metadata_type,omitempty"`
	Metadata     []byte             `json:"metadata,omitempty"`
	Versions     map[string]string  `json:"versions,omitempty"`
	Values       map[string]loci.ID `json:"values,omitempty"` // by channel: the record of its value
	Copied       bool               `json:"copied,omitempty"` // it came with a copy in parts, which may not have ended
}

// valueBody belongs to the value of a channel. Such a record never changes.
type valueBody struct {
	Channel string `json:"channel"`
	Version string `json:"version"`
	Type    string `json:"type"`
}

type writeBody struct {
	ID       string `json:"id"` // of the checkpoint
	Task     string `json:"task"`
	TaskPath string `json:"path,omitempty"`
	Index    int    `json:"idx"`
	Channel  string `json:"channel"`
	Type     string `json:"type"`
}

// threadBody belongs to the record there is for each thread and namespace. Whatever
// adds a checkpoint or takes one away writes it, so that no checkpoint ever refers
// to a value that another call is erasing.
type threadBody struct {
	Thread    string      `json:"thread"`
	Namespace string      `json:"ns,omitempty"`
	Source    loci.Source `json:"source,omitzero"` // who put its first checkpoint

	Copied bool     `json:"copied,omitempty"` // it came with a copy in parts, which may not have ended
	Copy   *copying `json:"copy,omitempty"`   // at the root graph: the copy into this thread that has not ended

	Collect *collecting `json:"collect,omitempty"` // values that may have to go
}

// Put stores a checkpoint, replacing one of the same id. Channels without a value
// keep the one of the same version: that of the parent, or else the latest there is.
func (c *Handle) Put(ctx context.Context, in Checkpoint) error {
	if err := in.check(); err != nil {
		return err
	}
	leave, err := c.turn(ctx, in.Thread, in.Namespace)
	if err != nil {
		return err
	}
	defer leave()
	_, err = loci.Commit(ctx, c.m, "put checkpoint", in, func(now time.Time) (loci.Decision[bool], error) {
		return c.decidePut(ctx, &in, now)
	})
	return err
}

func (in *Checkpoint) check() error {
	if err := checkPlace(in.Thread, in.Namespace, in.ID, false); err != nil {
		return err
	}
	if err := checkName("parent_checkpoint_id", in.Parent, MaxID, true); err != nil {
		return err
	}
	if err := in.checkMetadata(); err != nil {
		return err
	}
	if err := checkTyped("checkpoint", in.State, false); err != nil {
		return err
	}
	if len(in.Versions) > MaxChannels {
		return loci.Errorf(loci.TooLarge, "channel_versions has %d channels; the limit is %d", len(in.Versions), MaxChannels)
	}
	names := 0
	for channel, version := range in.Versions {
		names += len(channel) + len(version)
	}
	if names > MaxNames {
		return loci.Errorf(loci.TooLarge, "the names and versions in channel_versions have %d bytes together; the limit is %d: use shorter names", names, MaxNames)
	}
	for _, channel := range slices.Sorted(maps.Keys(in.Versions)) {
		if err := checkName("channel_versions: a channel", channel, MaxChannelBytes, false); err != nil {
			return err
		}
		if err := checkName("channel_versions: the version of a channel", in.Versions[channel], MaxVersionBytes, false); err != nil {
			return err
		}
	}
	total := len(in.State.Data) + len(in.TypedMetadata.Data)
	for _, channel := range slices.Sorted(maps.Keys(in.Values)) {
		if _, ok := in.Versions[channel]; !ok {
			return loci.Errorf(loci.Invalid, "channel_values has %q, but channel_versions does not: give its version", channel)
		}
		if err := checkTyped("channel_values: a value", in.Values[channel], false); err != nil {
			return err
		}
		total += len(in.Values[channel].Data)
	}
	if total > MaxPut {
		return loci.Errorf(loci.TooLarge, "the checkpoint and its values have %d bytes; the limit is %d: keep large things elsewhere and references to them in the state", total, MaxPut)
	}
	return nil
}

func (in *Checkpoint) checkMetadata() error {
	if len(in.Metadata) > MaxMetadata || len(in.TypedMetadata.Data) > MaxMetadata {
		return loci.Errorf(loci.TooLarge, "metadata has %d bytes; the limit is %d", max(len(in.Metadata), len(in.TypedMetadata.Data)), MaxMetadata)
	}
	if len(in.Metadata) > 0 {
		if err := loci.CheckJSON("metadata", in.Metadata); err != nil {
			return err
		}
		v, err := loci.DecodeJSON(in.Metadata)
		if _, ok := v.(map[string]any); err != nil || !ok {
			return loci.Errorf(loci.Invalid, "metadata must be a JSON object")
		}
	}
	return checkTyped("metadata_typed", in.TypedMetadata, true)
}

// decidePut makes the change: the checkpoint, the values that are new, and the
// thread's record.
func (c *Handle) decidePut(ctx context.Context, in *Checkpoint, now time.Time) (d loci.Decision[bool], err error) {
	thread, old, err := c.before(ctx, in)
	if err != nil {
		return d, err
	}
	var parent *body
	if in.Parent != "" && in.Parent != in.ID {
		found, err := c.body(ctx, in.Thread, in.Namespace, in.Parent)
		if err != nil {
			return d, err
		}
		if found != nil {
			parent = &found.body
		}
	}
	body := body{
		Thread: in.Thread, Namespace: in.Namespace, ID: in.ID, Parent: in.Parent,
		Format: in.Format, Type: in.State.Type, MetadataType: in.TypedMetadata.Type,
		Metadata: in.TypedMetadata.Data, Versions: in.Versions,
	}
	fresh, err := c.assign(ctx, &body, in.Values, old, parent, now)
	if err != nil {
		return d, err
	}
	r := &loci.Record{
		ID: c.m.NewID(), Kind: Kind, Namespace: c.m.Namespace(), Version: 1,
		CreatedAt: now, UpdatedAt: now, Slot: slotOf(in.Thread, in.Namespace, in.ID),
		Sequence: runOf(in.Metadata), Text: string(in.State.Data), Attributes: in.Metadata,
	}
	typ := loci.EventCreated
	if old != nil {
		typ = loci.EventUpdated
		r.ID, r.Version, r.CreatedAt = old.record.ID, old.record.Version+1, old.record.CreatedAt
	}
	if err := loci.SetBody(r, body); err != nil {
		return d, err
	}
	size := len(r.Text)
	for i := range fresh {
		size += len(fresh[i].Text)
		d.Change.Put = append(d.Change.Put, loci.Put{Record: fresh[i]})
	}
	d.Change.Put = append(d.Change.Put, loci.Put{Record: *r})
	d.Change.Events = []loci.Event{c.m.Event(typ, r, now, map[string]any{"version": r.Version, "bytes": size, "values": len(fresh)})}
	d.Record = r.ID
	if err := c.takeOver(ctx, &d.Change, thread, &body, parent, now); err != nil {
		return d, err
	}
	if old != nil {
		if err := c.forsake(ctx, &d.Change, thread, &old.body, &body, now); err != nil {
			return d, err
		}
	}
	d.Embed = loci.EmbedSoon // the name of a new thread
	return d, c.mark(&d.Change, thread, in.Thread, in.Namespace, now, false)
}

// assign settles for each channel which record holds its value, and returns the
// records that are new.
func (c *Handle) assign(
	ctx context.Context, body *body, values map[string]Typed, old *stored, parent *body, now time.Time,
) (fresh []loci.Record, err error) {
	body.Values = map[string]loci.ID{}
	had, err := c.oldValues(ctx, old)
	if err != nil {
		return nil, err
	}
	for _, channel := range slices.Sorted(maps.Keys(body.Versions)) {
		version := body.Versions[channel]
		v, given := values[channel]
		switch same, ok := old.value(channel, version); {
		case given && v.Type == EmptyType:
		case given && ok && had[same] != nil && had[same].Text == string(v.Data) && had[same].typed().Type == v.Type:
			body.Values[channel] = same // the same call again
		case given:
			r, err := c.valueRecord(body, channel, v, now)
			if err != nil {
				return nil, err
			}
			fresh = append(fresh, *r)
			body.Values[channel] = r.ID
		case ok:
			body.Values[channel] = same
		case parent != nil && parent.Versions[channel] == version:
			if id, ok := parent.Values[channel]; ok {
				body.Values[channel] = id
			}
		default:
			// Neither new nor of the parent: a copy of a checkpoint that has another
			// parent, or the parent was pruned.
			id, err := c.latestValue(ctx, body.Thread, body.Namespace, channel, version)
			if err != nil {
				return nil, err
			}
			if !id.IsZero() {
				body.Values[channel] = id
			}
		}
	}
	return fresh, nil
}

func (c *Handle) valueRecord(body *body, channel string, v Typed, now time.Time) (*loci.Record, error) {
	id := c.m.NewID()
	r := &loci.Record{
		ID: id, Kind: KindValue, Namespace: c.m.Namespace(), Version: 1,
		CreatedAt: now, UpdatedAt: now, Text: string(v.Data),
		Slot: slotOf(body.Thread, body.Namespace, channel, body.Versions[channel]) + string(id[:]),
	}
	return r, loci.SetBody(r, valueBody{Channel: channel, Version: body.Versions[channel], Type: v.Type})
}

// runOf is the run that made a checkpoint, in the form in which records are found by
// it; "" when the metadata name none.
func runOf(metadata json.RawMessage) string {
	var known struct {
		Run any `json:"run_id"`
	}
	if len(metadata) == 0 || json.Unmarshal(metadata, &known) != nil {
		return ""
	}
	run, _ := known.Run.(string)
	return runSequence(run)
}

func runSequence(run string) string {
	if len(run) > loci.MaxLabelBytes {
		sum := sha256.Sum256(append(binary.BigEndian.AppendUint32(nil, uint32(len(run))), run...))
		return hex.EncodeToString(sum[:])
	}
	return run
}

// PutWrites stores what tasks wrote after a checkpoint, which need not be there yet.
// Calling it again with the same writes changes nothing.
func (c *Handle) PutWrites(ctx context.Context, thread, namespace, id string, writes []Write) error {
	if err := checkPlace(thread, namespace, id, false); err != nil {
		return err
	}
	if err := checkWrites(writes); err != nil {
		return err
	}
	request := map[string]any{"thread": thread, "ns": namespace, "id": id, "writes": writes}
	_, err := loci.Commit(ctx, c.m, "put checkpoint writes", request, func(now time.Time) (loci.Decision[bool], error) {
		return c.decideWrites(ctx, slotOf(thread, namespace, id), id, writes, now)
	})
	return err
}

// checkWrites checks the writes of one call, their number and size first.
func checkWrites(writes []Write) error {
	if len(writes) > MaxChannels {
		return loci.Errorf(loci.TooLarge, "writes has %d entries; the limit is %d", len(writes), MaxChannels)
	}
	total := 0
	for i := range writes {
		w := &writes[i]
		total += max(writeCost, len(w.Task)+len(w.TaskPath)+len(w.Channel)) + len(w.Value.Data)
	}
	if total > MaxWrites {
		return loci.Errorf(loci.TooLarge, "the writes have %d bytes, of which each has its names beside its value, and %d at least; the limit is %d: store them in several calls",
			total, writeCost, MaxWrites)
	}
	return eachWrite(writes)
}

// eachWrite checks writes one by one: a checkpoint may have those of many calls.
func eachWrite(writes []Write) error {
	for i := range writes {
		w := &writes[i]
		for _, err := range []error{
			checkName("task_id", w.Task, MaxTaskBytes, false),
			checkName("task_path", w.TaskPath, MaxTaskPathBytes, true),
			checkName("channel", w.Channel, MaxChannelBytes, false),
			checkIndex(w.Index), checkTyped("value", w.Value, false),
		} {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Handle) decideWrites(
	ctx context.Context, prefix, id string, writes []Write, now time.Time,
) (d loci.Decision[bool], err error) {
	stored, err := c.storedWrites(ctx, prefix, writes)
	if err != nil {
		return d, err
	}
	places, size := map[string]int{}, 0
	for _, w := range writes {
		r, err := c.writeRecord(prefix, id, w, now)
		if err != nil {
			return d, err
		}
		old := stored[r.Slot]
		at, twice := places[r.Slot]
		if w.Index >= 0 && (old != nil || twice) {
			continue
		}
		if old != nil {
			r.ID, r.Version, r.CreatedAt = old.ID, old.Version+1, old.CreatedAt
		}
		size += len(r.Text)
		if twice {
			d.Change.Put[at].Record = *r
			continue
		}
		places[r.Slot] = len(d.Change.Put)
		d.Change.Put = append(d.Change.Put, loci.Put{Record: *r})
	}
	if len(d.Change.Put) > 0 {
		first := &d.Change.Put[0].Record
		d.Record = first.ID
		payload := map[string]any{"writes": len(d.Change.Put), "bytes": size}
		d.Change.Events = []loci.Event{c.m.Event(loci.EventCreated, first, now, payload)}
	}
	return d, nil
}

// fewTasks is how many tasks are looked up by themselves; a call of LangGraph has one.
const fewTasks = 8

// storedWrites are the records that the tasks of some writes have after the checkpoint with a
// slot, by their slots: of few tasks no others, which may be many.
func (c *Handle) storedWrites(ctx context.Context, slot string, writes []Write) (map[string]*loci.Record, error) {
	ranges := map[string]bool{}
	for i := range writes {
		ranges[slot+slotOf(writes[i].Task)] = true
	}
	if len(ranges) > fewTasks {
		ranges = map[string]bool{slot: true}
	}
	stored := map[string]*loci.Record{}
	for from := range ranges {
		there, err := c.heads(ctx, KindWrite, loci.SlotsBeginning(from))
		if err != nil {
			return nil, err
		}
		for i := range there {
			stored[there[i].Slot] = &there[i]
		}
	}
	return stored, nil
}

// writeRecord makes the record of a write to the checkpoint with a slot.
func (c *Handle) writeRecord(slot, id string, w Write, now time.Time) (*loci.Record, error) {
	r := &loci.Record{
		ID: c.m.NewID(), Kind: KindWrite, Namespace: c.m.Namespace(), Version: 1, CreatedAt: now,
		UpdatedAt: now, Slot: slot + slotOf(w.Task) + indexSlot(w.Index), Text: string(w.Value.Data),
	}
	return r, loci.SetBody(r, writeBody{
		ID: id, Task: w.Task, TaskPath: w.TaskPath, Index: w.Index, Channel: w.Channel, Type: w.Value.Type,
	})
}
