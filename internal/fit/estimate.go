package fit

// Estimate guesses how many tokens a text takes, rather too many than too
// few: a token a 3 ASCII letters or spaces, 2 a 3 other ASCII characters, 3 a 2
// other characters. English takes a token a 4 characters, UUIDs one a 1.6, Chinese
// one a 1 to 1.5, as counted with o200k_base.
func Estimate(text string) int64 {
	var sixths int64
	for _, r := range text {
		switch {
		case r == ' ' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			sixths += 2
		case r < 0x80:
			sixths += 4
		default:
			sixths += 9
		}
	}
	return (sixths + 5) / 6
}
