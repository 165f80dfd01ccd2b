package session

import (
	"context"

	"github.com/loci-memory/loci"
)

// Show describes a session, or a message.
func (Feature) Show(_ context.Context, m *loci.Memory, r *loci.Record, _ bool) (out loci.Shown, err error) {
	if r.Kind == KindMessage {
		message, err := readMessage(r)
		out.Content = message.Text()
		out.Details = map[string]any{"session_id": r.Sequence, "seq": message.Seq, "type": message.Type}
		return out, err
	}
	s, err := ofRecord(r, m.Now())
	if err != nil {
		return out, err
	}
	body, err := readSession(r)
	out = loci.Shown{Key: s.ID, Metadata: s.Metadata, CreatedAt: s.CreatedAt, Source: body.Source}
	out.Details = map[string]any{"message_count": s.Messages, "last_seq": s.LastSeq}
	if s.Summary != nil {
		out.Content = s.Summary.Text
	}
	return out, err
}
