package sqlite

import "time"

// Shelve makes a store keep in files the index of each shard that has at least this many
// records, in segments of so many while one is loaded. No pass that keeps them begins by itself.
func (o *Options) Shelve(from, book int) *Options {
	o.shelfFrom, o.shelfBook, o.keepPause = from, book, time.Hour
	return o
}

// Join makes it keep an index for so many small shards together. Options that it has are those of [Options.Shelve].
func (o *Options) Join(shards int) *Options {
	o.shelfJoin = shards
	return o
}
