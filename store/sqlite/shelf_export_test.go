package sqlite

// Shelve makes a store keep in files the index of each shard that has at least this many
// records, in segments of so many while one is loaded.
func (o *Options) Shelve(from, book int) *Options {
	o.shelfFrom, o.shelfBook = from, book
	return o
}
