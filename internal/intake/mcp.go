package intake

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/jsonguard"
)

// An MCPNote is what a line of the file of the MCP reference memory server says in words, so that search finds it as it finds any note.
type MCPNote struct {
	Field    string // of the line that it comes from; "": the whole line
	Content  string
	Metadata map[string]any // what it came from
}

// An mcpLine is a line of the file: an entity with its observations, or a relation between
// two entities.
type mcpLine struct {
	Type         string   `json:"type"`
	Name         string   `json:"name"`
	EntityType   string   `json:"entityType"`
	Observations []string `json:"observations"`
	From         string   `json:"from"`
	To           string   `json:"to"`
	RelationType string   `json:"relationType"`
}

// MCPNotes turns such a line into notes: one for each observation, and one for a relation. An
// error says what is wrong with the line.
func MCPNotes(data []byte) ([]MCPNote, error) {
	var in mcpLine
	if err := jsonguard.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("not JSON of an entity or a relation: %s", jsonform.Fault(err))
	}
	switch in.Type {
	case "entity":
		return in.entity()
	case "relation":
		if in.From == "" || in.To == "" || in.RelationType == "" {
			return nil, errors.New("from, to or relationType of the relation is missing")
		}
		words := strings.ReplaceAll(in.RelationType, "_", " ")
		return []MCPNote{{
			Content:  in.From + " " + words + " " + in.To + ".",
			Metadata: map[string]any{"from": in.From, "relation": in.RelationType, "to": in.To},
		}}, nil
	}
	return nil, fmt.Errorf("type %q: must be entity or relation", in.Type)
}

func (in *mcpLine) entity() (notes []MCPNote, err error) {
	if strings.TrimSpace(in.Name) == "" {
		return nil, errors.New("name of the entity is missing")
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
		notes = append(notes, MCPNote{
			Field: fmt.Sprintf("observations[%d]", i), Content: content,
			Metadata: map[string]any{"entity": in.Name, "entity_type": in.EntityType},
		})
	}
	return notes, nil
}
