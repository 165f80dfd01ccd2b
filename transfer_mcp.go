package loci

import (
	"cmp"
	"strings"

	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/jsonguard"
)

// MCPMemoryFormat names the JSONL file of the MCP reference memory server.
const MCPMemoryFormat = "mcp-memory"

// mcpLine is a line of that file: an entity with its observations, or a relation
// between two entities.
type mcpLine struct {
	Type         string   `json:"type"`
	Name         string   `json:"name"`
	EntityType   string   `json:"entityType"`
	Observations []string `json:"observations"`
	From         string   `json:"from"`
	To           string   `json:"to"`
	RelationType string   `json:"relationType"`
}

// importMCP turns a line into notes: one for each observation, and one for a
// relation, in words, so that search finds them as it finds any note. What they
// came from is kept as metadata.
func (m *Memory) importMCP(line []byte) ([]*Imported, error) {
	var in mcpLine
	if err := CheckJSON("the line", line); err != nil {
		return nil, err
	}
	if err := jsonguard.Unmarshal(line, &in); err != nil {
		return nil, Errorf(Invalid, "not JSON of an entity or a relation: %s", jsonform.Fault(err))
	}
	switch in.Type {
	case "entity":
		return m.importEntity(&in)
	case "relation":
		if in.From == "" || in.To == "" || in.RelationType == "" {
			return nil, Errorf(Invalid, "from, to or relationType of the relation is missing")
		}
		words := strings.ReplaceAll(in.RelationType, "_", " ")
		r, err := m.importNote(in.From+" "+words+" "+in.To+".", map[string]any{"from": in.From, "relation": in.RelationType, "to": in.To})
		if err != nil {
			return nil, err
		}
		return []*Imported{{Record: *r, History: []Revision{}}}, nil
	}
	return nil, Errorf(Invalid, "type %q: must be entity or relation", in.Type)
}

func (m *Memory) importEntity(in *mcpLine) (records []*Imported, err error) {
	if strings.TrimSpace(in.Name) == "" {
		return nil, Errorf(Invalid, "name of the entity is missing")
	}
	texts := in.Observations
	if len(texts) == 0 { // an entity known by name alone is still known
		texts = []string{""}
	}
	for i, text := range texts {
		content := in.Name + " (" + in.EntityType + "): " + text
		if in.EntityType == "" {
			content = in.Name + ": " + text
		}
		if text == "" {
			content = in.Name + " is a known " + cmp.Or(in.EntityType, "entity") + "."
		}
		r, err := m.importNote(content, map[string]any{"entity": in.Name, "entity_type": in.EntityType})
		if err != nil {
			return nil, Errorf(AsError(err).Code, "observations[%d]: %s", i, err)
		}
		records = append(records, &Imported{Record: *r, History: []Revision{}})
	}
	return records, nil
}

// importNote drafts a note with an id that follows from what it says, so that the
// same file may be imported again.
func (m *Memory) importNote(content string, metadata map[string]any) (*Record, error) {
	d, err := m.draft(NewFact{Content: content, Metadata: metadata})
	if err != nil {
		return nil, err
	}
	r := &d.Record
	now := m.engine.now()
	r.ID = DerivedID(ID{}, MCPMemoryFormat, r.Namespace.Key(), r.Text, string(r.Attributes))
	r.CreatedAt, r.UpdatedAt = now, now
	body := d.body
	body.ValidFrom, body.ConfirmedAt, body.Source = now, now, Source{Kind: "import", Client: MCPMemoryFormat}
	return r, setFact(r, body)
}
