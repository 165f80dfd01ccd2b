package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/event"
)

// Observe shows every command to a function, from now on.
func Observe(see func(*event.CommandStartedEvent)) {
	observe = func(_ context.Context, e *event.CommandStartedEvent) { see(e) }
}

// Collections are all there are.
var Collections = collections
