//go:build !unix

package sqlite

// No limit on the size of files exists here with which to play a quota; [quotaEnv] is never
// set.
const quotaEnv = "LOCI_TEST_STORE_OVER_QUOTA"

func overQuota(string) error { return nil }
