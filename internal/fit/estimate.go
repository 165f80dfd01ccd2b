package fit

// Estimate guesses how many tokens a text takes, rather too many than too few: one token
// for 3 ASCII letters or spaces, two for 3 other ASCII characters, three for 2 other
// characters. Counted with o200k_base, English takes a token for 4 characters, UUIDs one
// for 1.6, and Chinese one for 1 to 1.5.
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
