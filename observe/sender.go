package observe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/textproto"
	"net/url"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loci-memory/loci"
)

// collectorURL is the address of a collector, as a person writes it in the settings of a kind,
// such as traces: with a path, where it names none.
func collectorURL(kind, path, endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", loci.Errorf(loci.Invalid, "it is not a URL") // not shown: it may hold a password
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", loci.Errorf(loci.Invalid, "it must begin with http:// or https:// and a host")
	case u.User != nil:
		return "", loci.Errorf(loci.Invalid, "it must not hold a user or a password: put them into %s.headers_file", kind)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", loci.Errorf(loci.Invalid, "it must end with its path, without ? and #")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = path
	}
	return u.String(), nil
}

// Bounds of one batch.
const (
	sendFor    = 10 * time.Second
	mostAnswer = 64 << 10
)

// sayEvery is how often a collector that does not take what it is sent is worth a line in the log.
const sayEvery = time.Minute

// A sender brings batches to a collector, in OTLP over HTTP.
type sender struct {
	what    string // it sends, in words
	url     string
	headers func() ([]byte, error) // nil: none
	http    *http.Client
	logger  *slog.Logger

	mu    sync.Mutex
	quiet time.Time // no failure is logged until then
}

// newSender makes the sender that the settings of a kind configure.
func newSender(
	kind, what, path, endpoint string, headers func() ([]byte, error), logger *slog.Logger,
) (*sender, error) {
	address, err := collectorURL(kind, path, endpoint)
	if err != nil {
		return nil, err
	}
	c := &sender{what: what, url: address, headers: headers, logger: logger, http: &http.Client{
		Transport: http.DefaultTransport.(*http.Transport).Clone(),
		// The headers must not travel to where nobody sent them.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if c.logger == nil {
		c.logger = slog.Default()
	}
	if _, err := c.read(); err != nil { // a misspelt path is to be known at the start
		return nil, &loci.Error{Code: loci.Invalid, Msg: kind + ".headers_file: " + err.Error(),
			Recovery: "Write one header a line, such as Authorization: Bearer …"}
	}
	return c, nil
}

// read returns the headers of a batch.
func (c *sender) read() (http.Header, error) {
	if c.headers == nil {
		return http.Header{}, nil
	}
	data, err := c.headers()
	if err != nil {
		return nil, err
	}
	data = append(bytes.TrimSpace(data), "\r\n\r\n"...)
	h, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(data))).ReadMIMEHeader()
	if err != nil {
		return nil, errors.New("a line is no header") // not shown: it may be a secret
	}
	return http.Header(h), nil
}

// send sends a batch once.
func (c *sender) send(ctx context.Context, batch proto.Message) error {
	body, err := proto.Marshal(batch)
	if err != nil {
		return err
	}
	headers, err := c.read()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendFor)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = headers
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", "loci")
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()                          // read to its end, or given up
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, mostAnswer)) // so that the connection can be used again
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("it answered with status %d", answer.StatusCode)
	}
	return nil
}

// complain logs that the collector does not take what it is sent, unless that was said a
// moment ago.
func (c *sender) complain(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.After(c.quiet) {
		c.quiet = now.Add(sayEvery)
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the address, which is known
		}
		c.logger.Warn("the collector does not take "+c.what+"; they are lost", "cause", err)
	}
}
