package loci

import "time"

// A Summary stands for the older messages of a session where a model has no room for
// them. The messages stay.
type Summary struct {
	Text      string    `json:"text"`
	Through   int64     `json:"through_seq"`   // it covers the messages up to this one, all but system messages
	Messages  int64     `json:"message_count"` // that it covers
	Epoch     int64     `json:"epoch"`         // grows with each summary of the session
	By        string    `json:"by"`            // the model that wrote it, or "extractive"
	CreatedAt time.Time `json:"created_at"`
}
