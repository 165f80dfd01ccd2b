package loci

import "github.com/loci-memory/loci/internal/intake"

// MCPMemoryFormat names the JSONL file of the MCP reference memory server.
const MCPMemoryFormat = "mcp-memory"

// importMCP turns a line into notes. What they came from is kept as metadata.
func (m *Memory) importMCP(line []byte) (records []*Imported, err error) {
	if err := CheckJSON("the line", line); err != nil {
		return nil, err
	}
	notes, err := intake.MCPNotes(line)
	if err != nil {
		return nil, Errorf(Invalid, "%s", err)
	}
	for _, note := range notes {
		r, err := m.importNote(note.Content, note.Metadata)
		if err != nil && note.Field != "" {
			return nil, Errorf(AsError(err).Code, "%s: %s", note.Field, err)
		}
		if err != nil {
			return nil, err
		}
		records = append(records, &Imported{Record: *r, History: []Revision{}, memory: m})
	}
	return records, nil
}

// importNote drafts a note with an id that follows from what it says, so that the same file may be imported again.
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
