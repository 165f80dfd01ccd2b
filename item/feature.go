package item

import (
	"context"
	"encoding/json"

	"github.com/loci-memory/loci"
)

// Feature makes an engine keep items.
type Feature struct{}

// Kinds are the items, each a memory of its own.
func (Feature) Kinds() []loci.FeatureKind {
	return []loci.FeatureKind{{Kind: Kind, Memory: true, Counted: true,
		Change: "Put the item again under its key, or delete it."}}
}

// Show describes an item.
func (Feature) Show(_ context.Context, _ *loci.Memory, r *loci.Record, _ bool) (loci.Shown, error) {
	it, err := FromRecord(r)
	if err != nil {
		return loci.Shown{}, err
	}
	var body body
	err = json.Unmarshal(r.Body, &body)
	return loci.Shown{Key: it.Key, Value: it.Value, Source: body.Source}, err
}

// Check finds nothing to refuse: there are no options.
func (Feature) Check() error { return nil }

// Lines has nothing to write: the kernel writes what stands for itself.
func (Feature) Lines(context.Context, *loci.Memory, *loci.Exporter) error { return nil }

// A taker takes items out of an export.
type taker struct {
	loci.PlainTaker
	m *loci.Memory
}

// Take begins an import.
func (Feature) Take(m *loci.Memory) loci.Taker { return taker{m: m} }

// Take checks an item; the kernel stores it.
func (t taker) Take(d *loci.Imported) (kept bool, err error) {
	if err := d.Namespace.Validate(); err != nil {
		return false, err
	}
	if err := d.Clean(false); err != nil {
		return false, err
	}
	var body body
	if err := json.Unmarshal(d.Body, &body); err != nil {
		return false, loci.Errorf(loci.Invalid, "body is not that of an item: %v", err)
	}
	if len(d.Attributes) == 0 {
		return false, loci.Errorf(loci.Invalid, "attributes of the item are missing")
	}
	if err := checkKey(body.Key); err != nil {
		return false, err
	}
	d.Slot, d.Live = slotOf(body.Key), true
	return false, nil
}
