package batch

import (
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/dump"
)

// DumpHead is the state as a copy of the tenant takes it along.
func (st *State) DumpHead() dump.Head {
	head := dump.Head{
		Seq: st.Seq, Events: st.Events, ChainStart: st.ChainStart, Namespaces: st.Namespaces, Spaces: st.Spaces,
		Active: st.Active, Chain: st.Head,
	}
	copy(head.NameKey[:], st.NameKey)
	return head
}

// TakeHead makes a tenant of rows that were copied.
func (st *State) TakeHead(t loci.Tenant, head *dump.Head) {
	st.Name, st.Events, st.ChainStart = t.String(), head.Events, head.ChainStart
	st.Namespaces, st.Spaces, st.Active = head.Namespaces, head.Spaces, head.Active
	st.Floor = st.Seq // indexes that showed nothing begin again
	st.Head = head.Chain
}

// Took counts rows that were copied into the tenant.
func (b *Batch) Took(table dump.Table, rows []dump.Row) {
	if table == dump.Records || table == dump.Vectors {
		b.tallies = nil // all are counted when they are there
	}
	if table != dump.Records || b.Used == nil {
		return
	}
	for _, row := range rows {
		b.Used.Add(dump.Sizes(row))
	}
}

// SortKinds writes what EncodeKinds wrote in order.
func SortKinds(b []byte) []byte {
	var kinds []string
	for _, kind := range DecodeKinds(b) {
		kinds = append(kinds, string(kind))
	}
	slices.Sort(kinds)
	return dump.Kinds(kinds)
}
