//go:build !unix

package sqlite

// There is no limit of the size of files to play a quota with; [quotaEnv] is never set.
const quotaEnv = "LOCI_TEST_STORE_OVER_QUOTA"

func overQuota(string) error { return nil }
