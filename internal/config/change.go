package config

// live are the settings that a running server takes over when the configuration is read
// again. All others count when it starts.
var live = map[string]bool{
	"http.max_requests": true, "http.max_queue": true, "http.max_wait": true,
	"http.max_connections":       true,
	"limits.concurrent_requests": true, "limits.requests_per_second": true, "limits.burst": true,
	"limits.model_tokens_per_day": true,
	"log.level":                   true,
}

// Live reports whether a running server takes the setting over.
func (s *Setting) Live() bool { return live[s.Key] }

// Changed lists the keys of the settings that another configuration has other values for:
// those that a running server can take over, and the others.
func (c *Config) Changed(next *Config) (taken, fixed []string) {
	for i := range settings {
		s := &settings[i]
		switch {
		case c.written[s.Key] == next.written[s.Key]:
		case s.Live():
			taken = append(taken, s.Key)
		default:
			fixed = append(fixed, s.Key)
		}
	}
	return taken, fixed
}
