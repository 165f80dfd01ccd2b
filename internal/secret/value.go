package secret

// RedactValue redacts every text inside a decoded JSON value, names included. The value
// itself stays as it is.
func RedactValue(v any) any {
	switch v := v.(type) {
	case string:
		return Redact(v)
	case []any:
		clean := make([]any, len(v))
		for i := range v {
			clean[i] = RedactValue(v[i])
		}
		return clean
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, value := range v {
			clean[Redact(key)] = redactField(key, value)
		}
		return clean
	}
	return v
}

// redactField redacts a value in the light of its name: a text that looks harmless may be
// a secret under "api_key".
func redactField(key string, value any) any {
	text, ok := value.(string)
	if !ok {
		return RedactValue(value)
	}
	if clean := Redact(text); clean != text {
		return clean
	}
	if named := key + "=" + text; Redact(named) != named {
		return Redacted
	}
	return text
}
