package sqlite

// Shelve makes a store keep the index of each shard of so many records in files, in
// segments of so many while one is loaded.
func (o *Options) Shelve(from, book int) *Options {
	o.shelfFrom, o.shelfBook = from, book
	return o
}
