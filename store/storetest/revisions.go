package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/loci-memory/loci"
)

var revisionCases = []testCase{
	{"revisions are earlier states, newest first", func(b *bench) {
		first := fullRecord(1)
		b.put(first)
		b.wantRevisions()

		second := next(first)
		second.Text, second.Passages = cut("another text")
		second.Tags, second.Attributes = nil, json.RawMessage(`{"category":"other"}`)
		b.apply(changeOf(loci.Put{Record: second, Revisions: 5}))
		third := next(second)
		third.Tags = []string{"later"}
		b.apply(changeOf(loci.Put{Record: third, SameText: true, Revisions: 5}))

		got, err := b.store.Revisions(b.Context(), b.tenant, first.ID)
		b.must("Revisions", err)
		b.same("revisions", got, []loci.Revision{
			{
				Version: 2, UpdatedAt: second.UpdatedAt, ReplacedAt: third.UpdatedAt,
				Text: second.Text, Attributes: second.Attributes,
			},
			{
				Version: 1, UpdatedAt: first.UpdatedAt, ReplacedAt: second.UpdatedAt,
				Text: first.Text, Tags: first.Tags, Attributes: first.Attributes,
			},
		})
	}},
	{"a put says how many revisions to keep", func(b *bench) {
		r := record(1, "version 1")
		b.put(r)
		for _, step := range []struct {
			keep int
			want []int64
		}{
			{2, []int64{1}}, {2, []int64{2, 1}}, {2, []int64{3, 2}}, {3, []int64{4, 3, 2}}, // 1 is gone for good
			{-1, []int64{4, 3, 2}}, {-7, []int64{4, 3, 2}}, // 5 and 6 were not kept
			{3, []int64{7, 4, 3}}, {1, []int64{8}}, {0, nil}, {1000, []int64{10}}, {1000, []int64{11, 10}},
		} {
			r = next(r)
			r.Text, r.Passages = cut(fmt.Sprintf("version %d", r.Version))
			b.apply(changeOf(loci.Put{Record: r, Revisions: step.keep}))
			b.wantRevisions(step.want...)
		}
	}},
	{"revisions go with the record", func(b *bench) {
		r := record(1, "walrus")
		b.put(r)
		b.apply(changeOf(loci.Put{Record: next(r), Revisions: 5}))
		b.apply(changeOf(loci.Put{Record: next(next(r)), Revisions: 5}))
		b.wantRevisions(2, 1)
		b.apply(erasure(next(next(r))))
		b.wantRevisions()
		b.put(r)
		b.wantRevisions()
		b.apply(changeOf(loci.Put{Record: next(r), Revisions: 5}))
		b.wantRevisions(1)
	}},
	{"an imported record brings all its earlier states", func(b *bench) {
		r := record(1, "version 4")
		r.Version = 4
		var history []loci.Revision
		for _, n := range []int{3, 2, 1} {
			at := r.UpdatedAt.Add(time.Duration(n-4) * time.Hour)
			history = append(history, loci.Revision{
				Version: int64(n), UpdatedAt: at, ReplacedAt: at.Add(time.Hour),
				Text: fmt.Sprintf("version %d", n), Tags: []string{"t"},
			})
		}
		b.apply(changeOf(loci.Put{Record: r, History: history}))
		b.wantRevisions(3, 2, 1)
		got, err := b.store.Revisions(b.Context(), b.tenant, id(1))
		b.must("Revisions", err)
		b.same("revisions", got, history)
	}},
	{"an unknown record has no revisions", func(b *bench) { b.wantRevisions() }},
	{"revisions are not searched", func(b *bench) {
		r := record(1, "walrus")
		b.put(r)
		later := next(r)
		later.Text, later.Passages = cut("telescope")
		b.apply(changeOf(loci.Put{Record: later, Revisions: 5}))
		b.same("hits of a word of an earlier state", b.found(words("walrus")), nil)
	}},
}

// wantRevisions requires the versions of the earlier states of record 1.
func (b *bench) wantRevisions(want ...int64) {
	b.Helper()
	revisions, err := b.store.Revisions(b.Context(), b.tenant, id(1))
	b.must("Revisions", err)
	var got []int64
	for _, r := range revisions {
		got = append(got, r.Version)
		if text := fmt.Sprintf("version %d", r.Version); len(r.Text) > 7 && r.Text[:7] == "version" && r.Text != text {
			b.Errorf("revision %d has the text %q", r.Version, r.Text)
		}
	}
	b.same("versions of the revisions", got, want)
}
