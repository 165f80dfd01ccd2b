package mongo

import (
	"encoding/json"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/form"
)

// head are the fields of a record that an update writes, all but its text.
func head(r *loci.Record, hash string) (f fields) {
	f.string("slot_hash", hash)
	if r.Slot != "" {
		f.set("slot", inOrder(r.Slot))
	}
	f.set("version", r.Version)
	f.set("live", r.Live)
	f.set("created_at", r.CreatedAt.UnixMilli())
	f.set("updated_at", r.UpdatedAt.UnixMilli())
	f.time("expires_at", r.ExpiresAt)
	if tags, ok := batch.EncodeTags(r.Tags).([]byte); ok {
		f.bytes("tags", tags)
	}
	f.bytes("attributes", r.Attributes)
	f.bytes("body", r.Body)
	f.string("scope", r.Scope)
	f.string("status", r.Status)
	if !r.Decay.IsZero() {
		f.set("confidence", r.Decay.Confidence)
		f.set("decay_rate", r.Decay.Rate)
		f.time("decay_from", r.Decay.From)
	}
	f.time("ends_at", r.EndsAt)
	f.time("due_at", r.DueAt)
	if r.Sequence != "" {
		f.string("sequence", r.Sequence)
		f.set("position", r.Position)
	}
	return f
}

// headNames are the fields that head may leave out: an update takes away those that it does.
var headNames = []string{
	"slot_hash", "slot", "expires_at", "tags", "attributes", "body", "scope", "status", "confidence", "decay_rate",
	"decay_from", "ends_at", "due_at", "sequence", "position",
}

// whole are the fields of a record that hold its text.
func whole(r *loci.Record, spaces []int64) (f fields) {
	f.cut([]byte(r.Text))
	f.set("text_bytes", int64(len(r.Text)))
	f.string("heading", r.Heading)
	f.bytes("passages", form.EncodeSpans(r.Passages))
	f.set("passage_count", int64(len(r.Passages)))
	if spaces == nil {
		spaces = []int64{}
	}
	f.set("spaces", spaces)
	return f
}

// wholeNames are the fields that whole may leave out.
var wholeNames = []string{"heading", "passages", "pieces"}

// newRecord is the document of a record; spaces are those in which it has vectors.
func newRecord(tenant []byte, r *batch.NewRecord, spaces []int64) fields {
	f := fields{
		{Key: fID, Value: keyed(tenant, r.ID[:])},
		{Key: fTenant, Value: binaryOf(tenant)},
		{Key: "namespace", Value: r.Place},
		{Key: "kind", Value: binaryOf(r.Kind)},
		{Key: "uses", Value: r.Uses},
	}
	f.time("used_at", r.UsedAt)
	f = append(f, head(r.Record, r.Hash)...)
	return append(f, whole(r.Record, spaces)...)
}

// update is a document that makes another state of a record.
func updateOf(set fields, may ...[]string) bson.D {
	given := map[string]bool{}
	for _, e := range set {
		given[e.Key] = true
	}
	var unset fields
	for _, names := range may {
		for _, name := range names {
			if !given[name] {
				unset.set(name, "")
			}
		}
	}
	out := bson.D{{Key: "$set", Value: set}}
	if len(unset) > 0 {
		out = append(out, bson.E{Key: "$unset", Value: unset})
	}
	return out
}

// record reads the document of a record, all but the name of its namespace.
func (d *doc) record() (out loci.Record, namespace int64, err error) {
	out = loci.Record{
		ID:         d.recordID(),
		Kind:       loci.Kind(d.string("kind")),
		Slot:       d.sorted("slot"),
		Version:    d.int("version"),
		Live:       d.bool("live"),
		CreatedAt:  d.time("created_at"),
		UpdatedAt:  d.time("updated_at"),
		ExpiresAt:  d.time("expires_at"),
		Uses:       d.int("uses"),
		UsedAt:     d.time("used_at"),
		Text:       d.string("text"),
		Passages:   form.DecodeSpans(d.bytes("passages")),
		Attributes: []byte(d.string("attributes")),
		Body:       []byte(d.string("body")),
		Scope:      d.string("scope"),
		Status:     d.string("status"),
		Decay: loci.Decay{
			Confidence: d.float("confidence"), Rate: d.float("decay_rate"), From: d.time("decay_from"),
		},
		EndsAt:   d.time("ends_at"),
		DueAt:    d.time("due_at"),
		Sequence: d.string("sequence"),
		Position: d.int("position"),
		Heading:  d.string("heading"),
	}
	if len(out.Attributes) == 0 {
		out.Attributes = nil
	}
	if len(out.Body) == 0 {
		out.Body = nil
	}
	if out.Tags, err = d.tags(); err != nil {
		return out, 0, err
	}
	return out, d.int("namespace"), d.err
}

func (d *doc) tags() (tags []string, err error) {
	if b := d.bytes("tags"); len(b) > 0 {
		err = json.Unmarshal(b, &tags)
	}
	return tags, err
}

// withoutText leaves the text of records unread.
var withoutText = bson.D{{Key: "text", Value: 0}, {Key: "pieces", Value: 0}}
