package fit

// Divided is divided, for tests.
var Divided = divided
