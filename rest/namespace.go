package rest

import (
	"slices"

	"github.com/loci-memory/loci"
)

// below makes a namespace of a request absolute: what comes from outside always
// lies in the handle's own namespace.
func below(m *loci.Memory, relative []string) loci.Namespace {
	return slices.Concat(m.View().Namespace, loci.Namespace(relative))
}

// relative is the inverse of below, never nil.
func relative(m *loci.Memory, n loci.Namespace) []string {
	return append([]string{}, n[len(m.View().Namespace):]...)
}
