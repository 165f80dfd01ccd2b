package main

import (
	"context"
	"encoding/json"

	"github.com/loci-memory/loci/mcp"
	"github.com/loci-memory/loci/observe"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/tool"
)

// watching makes the metrics of loci serve, and traces if somebody takes them.
func (a *app) watching() (*observe.Watch, error) {
	o := observe.Options{
		Version: buildVersion().Version, Load: func() observe.Load { return observe.Load(a.running.Load()) },
	}
	if s, ok := a.store.(interface{ Work() store.Work }); ok { // memories in the process commit nothing
		o.CommitSizes, o.Work = store.CommitSizes(), func() observe.Work { return observe.Work(s.Work()) }
	}
	w := &observe.Watch{Metrics: observe.New(o)}
	var err error
	w.Traces, err = a.traces(w.Metrics)
	return w, err
}

// counting begins to send metrics where the configuration says so. stop ends it.
func (a *app) counting() (stop func(), err error) {
	o := a.cfg.Metrics
	if o.Endpoint == "" {
		return func() {}, nil
	}
	o.Logger = a.logger()
	return a.watch.Metrics.Push(o)
}

// traces begins to send traces where the configuration says so; nil: it does not.
func (a *app) traces(metrics *observe.Metrics) (*observe.Traces, error) {
	o := a.cfg.Traces
	if o.Endpoint == "" {
		return nil, nil //nolint:nilnil // nil makes no traces
	}
	o.Version, o.Logger, o.Metrics = buildVersion().Version, a.logger(), metrics
	return observe.OpenTraces(o)
}

// traced makes the calls of tools that come over standard input parts of traces.
func traced(o *mcp.Options, traces *observe.Traces) {
	if traces == nil {
		return
	}
	w := &observe.Watch{Traces: traces}
	o.Call = func(ctx context.Context, t *tool.Tool, c tool.Caller, args json.RawMessage) (tool.Reply, error) {
		return t.Call(w.Watched(ctx), c, args)
	}
}
