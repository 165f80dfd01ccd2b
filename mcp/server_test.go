package mcp

import (
	"context"
	"errors"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tool"
)

// TestAServerNeedsToolsAndACaller: a mistake shows at the start.
func TestAServerNeedsToolsAndACaller(t *testing.T) {
	echo := &tool.Tool{Name: "echo", InputSchema: anyObject}
	p := principal(t, "u-1")
	for name, o := range map[string]Options{
		"no tools":     {Principal: p},
		"no principal": {Tools: []*tool.Tool{echo}},
		"same name":    {Principal: p, Tools: []*tool.Tool{echo, echo}},
		"bad schema":   {Principal: p, Tools: []*tool.Tool{{Name: "x", InputSchema: []byte(`{"type":"array"}`)}}},
	} {
		if _, err := New(o); !errors.Is(err, loci.ErrInvalid) {
			t.Errorf("%s: got %v, want an Invalid error", name, err)
		}
	}
	o := Options{Tools: []*tool.Tool{echo}, Identify: func(context.Context, Origin) (loci.Principal, error) {
		return p, nil
	}}
	if _, err := New(o); err != nil {
		t.Error(err)
	}
}
