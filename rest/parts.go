package rest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/jsonform"
)

// mediaParts is a reply of JSON with bytes beside it: four bytes with the length of the
// JSON, big-endian, the JSON, then all parts, one after the other. Where a value
// otherwise has data in base64, it has the place of its bytes among the parts.
const mediaParts = "application/vnd.loci.parts"

const partsDetail = "With `Accept: " + mediaParts + "` the bytes of values come as they are: four bytes with the length of a JSON object, the greatest first, " +
	"that object, then the bytes. The object is the same except for its values, `{\"type\", \"part\": [offset, length]}` in place of data, those of channels with an `id`; " +
	"`sends` are the writes of the parent to its tasks, before format 4. A value whose `id` stands in the header If-None-Match, as an entity tag, " +
	"comes without a part: a value with an id never changes. `metadata_typed` and `channel_versions` may be left out."

type readCheckpoint struct {
	Accept string `header:"Accept" hidden:"true"`
	Known  string `header:"If-None-Match" hidden:"true"`
	Body   getCheckpoint
}

// The parts of a checkpoint.
type (
	partValue struct {
		Type string  `json:"type"`
		ID   string  `json:"id,omitempty"`
		Part *[2]int `json:"part,omitempty"` // offset and length; nil: the caller has it
	}
	partWrite struct {
		TaskID   string    `json:"task_id"`
		TaskPath string    `json:"task_path,omitempty"`
		Idx      int       `json:"idx"`
		Channel  string    `json:"channel"`
		Value    partValue `json:"value"`
	}
	partCheckpoint struct {
		ThreadID           string               `json:"thread_id"`
		CheckpointNS       string               `json:"checkpoint_ns"`
		CheckpointID       string               `json:"checkpoint_id"`
		ParentCheckpointID string               `json:"parent_checkpoint_id,omitempty"`
		Format             int                  `json:"format,omitempty"`
		Checkpoint         partValue            `json:"checkpoint"`
		Metadata           json.RawMessage      `json:"metadata"`
		MetadataTyped      *partValue           `json:"metadata_typed,omitempty"`
		ChannelValues      map[string]partValue `json:"channel_values"`
		PendingWrites      []partWrite          `json:"pending_writes"`
		Sends              []partWrite          `json:"sends"`
		CreatedAt          time.Time            `json:"created_at"`
	}
)

// parts collects the bytes of values.
type parts struct {
	data   [][]byte
	length int
}

func (p *parts) add(v checkpoint.Typed) partValue {
	at := &[2]int{p.length, len(v.Data)}
	p.data, p.length = append(p.data, v.Data), p.length+len(v.Data)
	return partValue{Type: v.Type, Part: at}
}

func (p *parts) writes(list []checkpoint.Write) []partWrite {
	out := make([]partWrite, len(list))
	for i, w := range list {
		out[i] = partWrite{w.Task, w.TaskPath, w.Index, w.Channel, p.add(w.Value)}
	}
	return out
}

// after is an object with the parts it speaks of.
func (p *parts) after(head any) ([]byte, error) {
	data, err := jsonform.Marshal(head)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, 4+len(data)+p.length)
	out = append(binary.BigEndian.AppendUint32(out, uint32(len(data))), data...)
	for _, d := range p.data {
		out = append(out, d...)
	}
	return out, nil
}

// asParts makes the object of a checkpoint, and the parts beside it.
func asParts(f *checkpoint.Fetched) (*partCheckpoint, *parts) {
	p := &parts{}
	head := &partCheckpoint{
		ThreadID: f.Thread, CheckpointNS: f.Namespace, CheckpointID: f.ID, ParentCheckpointID: f.Parent,
		Format:     f.Format,
		Checkpoint: p.add(f.State), Metadata: f.Metadata, ChannelValues: map[string]partValue{}, CreatedAt: f.CreatedAt,
		PendingWrites: p.writes(f.Writes), Sends: p.writes(f.Sends),
	}
	if f.TypedMetadata.Type != "" {
		v := p.add(f.TypedMetadata)
		head.MetadataTyped = &v
	}
	for channel, id := range f.IDs {
		var v partValue
		if value, read := f.Values[channel]; read {
			v = p.add(value)
		}
		v.ID = id.String()
		head.ChannelValues[channel] = v
	}
	return head, p
}

// knownValues reads the ids of values out of a list of entity tags and ignores other
// tags.
func knownValues(header string) (ids []loci.ID) {
	for tag := range strings.SplitSeq(header, ",") {
		if id, err := loci.ParseID(strings.Trim(strings.TrimSpace(tag), `"`)); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// takesParts reports whether an Accept header names the media type of parts.
func takesParts(accept string) bool {
	for one := range strings.SplitSeq(accept, ",") {
		kind, _, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(kind), mediaParts) {
			return true
		}
	}
	return false
}

func (a *API) getCheckpoint(ctx context.Context, c *caller, in *readCheckpoint) (*huma.StreamResponse, error) {
	return within(a, c, func(m *loci.Memory) (*huma.StreamResponse, error) {
		var body []byte
		kind, b := "application/json", &in.Body
		if takesParts(in.Accept) {
			kind = mediaParts
			q := checkpoint.Fetch{Thread: b.ThreadID, Namespace: b.CheckpointNS, ID: b.CheckpointID}
			q.Known = knownValues(in.Known)
			found, err := checkpoint.Of(m).Fetch(ctx, q)
			if err != nil {
				return nil, err
			}
			head, parts := asParts(&found)
			if body, err = parts.after(head); err != nil {
				return nil, err
			}
		} else {
			found, err := checkpoint.Of(m).Get(ctx, b.ThreadID, b.CheckpointNS, b.CheckpointID)
			if err != nil {
				return nil, err
			}
			shown, err := showCheckpoint(&found)
			if err != nil {
				return nil, err
			}
			if body, err = jsonform.Marshal(shown); err != nil {
				return nil, err
			}
			body = append(body, '\n')
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			_, w := humago.Unwrap(hc)
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Vary", "Accept, If-None-Match")
			_, _ = w.Write(body) // whoever went away does not read
		}}, nil
	})
}
