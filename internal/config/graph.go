package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/loci-memory/loci/graph"
	"github.com/loci-memory/loci/internal/plainfile"
)

// setGraph takes the path of a file; it is read when the configuration is complete, so
// that one that another layer overrides need not be there.
func setGraph(c *Config, v string) error {
	c.graphFile, c.Graph = v, nil
	return notEmpty(v)
}

// graph reads a graph that stands in the configuration file itself.
func (r *fileReader) graph(s *Setting, n *yaml.Node) {
	var value any
	err := n.Load(&value)
	if err == nil {
		r.c.graphFile = ""
		r.c.Graph, err = graph.Read(value)
	}
	addLines(r.bad, r.at(n), "graph: ", err)
	r.c.origin[s.Key] = r.at(n)
}

// checkGraph reads the file with the graph, and checks what holds between the graph
// and other settings.
func (c *Config) checkGraph(bad *faults) {
	origin := c.origin["graph"]
	if c.graphFile != "" {
		data, err := plainfile.Read(c.graphFile, graph.MaxBytes)
		if err == nil {
			c.Graph, err = graph.Parse(data)
			addLines(bad, c.graphFile, "", err)
		} else {
			bad.add(origin, fmt.Errorf("graph: %w", err))
		}
	}
	for _, id := range c.Graph.IDs() {
		if slices.Contains(c.Agents, id) {
			bad.add(origin, fmt.Errorf(
				"graph: the agent %q is in the setting agents, too: it has one address, so leave it out there", id))
		}
	}
}

// addLines reports each line of an error as a fault of its own; nil has none.
func addLines(bad *faults, where, prefix string, err error) {
	if err == nil {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		bad.add(where, errors.New(prefix+line))
	}
}
