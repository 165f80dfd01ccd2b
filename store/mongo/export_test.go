package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/event"
)

// Observe shows every command to a function, from now on.
func Observe(see func(*event.CommandStartedEvent)) {
	observe = func(_ context.Context, e *event.CommandStartedEvent) { see(e) }
}

// Collections are the names of all collections.
var Collections = collections

// Indexes lists the indexes that the steps of the schema make: collection, name and keys.
func Indexes() (all []string) {
	for _, step := range steps {
		for _, x := range step.indexes {
			line := x.collection + "." + x.name
			for _, key := range x.keys {
				line += ":" + key.Key + " "
			}
			all = append(all, line)
		}
	}
	return all
}
