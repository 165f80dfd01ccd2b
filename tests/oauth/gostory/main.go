// The official Go SDK gets tokens for loci serve from a real provider, renews them and asks
// for more scopes. Started by stage.mjs; prints a line for each check.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

const redirect = "http://127.0.0.1:1/callback"

var (
	address = os.Getenv("LOCI_URL")
	failed  bool
)

func check(name string, good bool, seen ...any) {
	if good {
		fmt.Println("ok", name)
		return
	}
	failed = true
	fmt.Println("FAIL", name, seen)
}

func must(err error) {
	if err != nil {
		check("no error", false, err)
		os.Exit(1)
	}
}

// stage asks the program that started this one.
func stage(answer any, act string, given ...any) error {
	if given == nil {
		given = []any{}
	}
	body, err := json.Marshal(given)
	if err != nil {
		return err
	}
	response, err := http.Post(os.Getenv("STAGE_URL")+"/"+act, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", act, text)
	}
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// hiding takes the address of the description from a challenge, and answers 404 at a path.
type hiding struct{ path string }

func (h hiding) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Path == h.path {
		return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{},
			Body: http.NoBody, Request: request}, nil
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		response.Header.Set("WWW-Authenticate", "Bearer")
	}
	return response, err
}

// A person is a user with a browser and what the SDK keeps of them.
type person struct {
	handler *auth.AuthorizationCodeHandler
	client  *http.Client
	asked   []url.Values
}

func newPerson(login string, change func(*auth.AuthorizationCodeHandlerConfig)) *person {
	p := &person{}
	metadata := &oauthex.ClientRegistrationMetadata{
		ClientName: "test", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, RequestRefreshToken: true,

		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: metadata},
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult,
			error) {
			// The SDK asks for offline_access but not for a consent, without which OpenID
			// Connect gives no refresh token.
			to, err := url.Parse(args.URL)
			if err != nil {
				return nil, err
			}
			wanted := to.Query()
			wanted.Set("prompt", "consent")
			to.RawQuery = wanted.Encode()
			p.asked = append(p.asked, wanted)
			var back auth.AuthorizationResult
			return &back, stage(&back, "consent", to.String(), login)
		},
	}
	if change != nil {
		change(config)
	}
	p.client = config.Client
	var err error
	p.handler, err = auth.NewAuthorizationCodeHandler(config)
	must(err)
	return p
}

// use connects, acts, and says what came of it and how often the user was asked.
func (p *person) use(act func(context.Context, *mcp.ClientSession) (string, error)) (string, int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	before := len(p.asked)
	client := mcp.NewClient(&mcp.Implementation{Name: "oauth", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: address + "/mcp", OAuthHandler: p.handler, HTTPClient: p.client, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return "", len(p.asked) - before, err
	}
	defer session.Close()
	seen, err := act(ctx, session)
	return seen, len(p.asked) - before, err
}

func names(ctx context.Context, session *mcp.ClientSession) (string, error) {
	found, err := session.ListTools(ctx, nil)
	if err != nil {
		return "", err
	}
	var all []string
	for _, tool := range found.Tools {
		all = append(all, tool.Name)
	}
	return strings.Join(all, " "), nil
}

func call(name, field, value string) func(context.Context, *mcp.ClientSession) (string, error) {
	return func(ctx context.Context, session *mcp.ClientSession) (string, error) {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: map[string]any{field: value}})
		if err != nil {
			return "", err
		}
		return result.Content[0].(*mcp.TextContent).Text, nil
	}
}

type grant struct {
	Grant, Resource string
	Verifier        bool
}

func main() {
	alice := signIn()
	discover()
	stepUp()
	otherAudience()
	renew()
	rotateKeys(alice)
	if failed {
		os.Exit(1)
	}
}

// signIn signs alice in, who keeps her token, and lets her save and search.
func signIn() *person {
	var granted []grant
	alice := newPerson("alice", nil)
	seen, asked, err := alice.use(names)
	must(err)
	check("the tools come after one authorization", asked == 1 && strings.Contains(seen, "memory_save"), seen, asked)
	wanted := alice.asked[0]
	asks := slices.Sorted(slices.Values(strings.Fields(wanted.Get("scope")))) // the SDK has no order
	check("it asks for the resource with PKCE and a refresh token", wanted.Get("resource") == address+"/mcp" &&
		wanted.Get("code_challenge_method") == "S256" &&
		slices.Equal(asks, []string{"delete", "offline_access", "read", "write"}), wanted)
	must(stage(&granted, "granted"))
	check("it sends the resource and the verifier for its token", len(granted) == 1 &&
		granted[0].Resource == address+"/mcp" && granted[0].Verifier, granted)
	seen, asked, err = alice.use(call("memory_save", "content", "Likes oranges."))
	check("a note is stored with the same token", err == nil && asked == 0 &&
		strings.Contains(seen, "note-"), seen, asked, err)
	seen, asked, err = alice.use(call("memory_search", "query", "oranges"))
	check("it is found", err == nil && asked == 0 && strings.Contains(seen, "Likes oranges"), seen, asked, err)
	return alice
}

// discover finds the server's description without an address in the challenge.
func discover() {
	for path, resource := range map[string]string{"": address + "/mcp",
		"/.well-known/oauth-protected-resource/mcp": address} {
		bob := newPerson("bob",
			func(c *auth.AuthorizationCodeHandlerConfig) { c.Client = &http.Client{Transport: hiding{path}} })
		seen, asked, err := bob.use(call("memory_search", "query", "oranges"))
		check("without an address in the challenge, and hiding the path "+path, err == nil && asked == 1 &&
			bob.asked[0].Get("resource") == resource &&
			!strings.Contains(seen, "Likes oranges"), seen, bob.asked, err)
	}
}

// stepUp asks for a scope that is missing.
func stepUp() {
	must(stage(nil, "offer", "read"))
	carol := newPerson("carol", func(c *auth.AuthorizationCodeHandlerConfig) {
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: "known"}
	})
	seen, asked, err := carol.use(names)
	check("a reader, by a client that the provider knew, sees what reads", err == nil && asked == 1 &&
		carol.asked[0].Get("client_id") == "known" && !strings.Contains(seen, "memory_save"), seen, asked, err)
	must(stage(nil, "offer", "read write delete"))
	seen, asked, err = carol.use(call("memory_save", "content", "Likes tea."))
	scopes := strings.Fields(carol.asked[len(carol.asked)-1].Get("scope"))
	check("a scope that is missing is asked for once", err == nil && asked == 1 && strings.Contains(seen, "note-") &&
		slices.Contains(scopes, "read") && slices.Contains(scopes, "write"), seen, asked, scopes, err)
}

// otherAudience comes with a token for another server.
func otherAudience() {
	var other string
	must(stage(&other, "token", address+"/elsewhere", "erin"))
	erin := newPerson("erin", func(c *auth.AuthorizationCodeHandlerConfig) {
		c.InitialTokenSource = oauth2.StaticTokenSource(&oauth2.Token{AccessToken: other})
	})
	seen, asked, err := erin.use(names)
	check("a token for another audience leads to a new one", err == nil && asked == 1 &&
		strings.Contains(seen, "memory_save"), seen, asked, err)
}

// renew outlives a token.
func renew() {
	var granted []grant
	// The SDK takes a token for expired 10 seconds before it is.
	must(stage(nil, "live", 12))
	frank := newPerson("frank", nil)
	seen, asked, err := frank.use(func(ctx context.Context, session *mcp.ClientSession) (string, error) {
		must(stage(nil, "granted"))
		time.Sleep(3500 * time.Millisecond)
		return call("memory_save", "content", "Likes plums.")(ctx, session)
	})
	must(stage(&granted, "granted"))
	check("a token that expires is renewed without the user", err == nil && asked == 1 &&
		strings.Contains(seen, "note-") &&
		len(granted) > 0 && granted[0].Grant == "refresh_token", seen, asked, granted, err)
	must(stage(nil, "live", 600))
}

// rotateKeys changes the keys of the provider, and ends it.
func rotateKeys(alice *person) {
	must(stage(nil, "rotate"))
	seen, asked, err := alice.use(call("memory_search", "query", "oranges"))
	check("a token of the key before is good", err == nil && asked == 0 &&
		strings.Contains(seen, "Likes oranges"), seen, asked, err)
	var dave *person
	for begun := time.Now(); ; time.Sleep(time.Second) {
		dave = newPerson("dave", nil)
		if seen, _, err = dave.use(names); err == nil || time.Since(begun) > 90*time.Second {
			break
		}
	}
	check("a token of the new key is good within half a minute", err == nil &&
		strings.Contains(seen, "memory_save"), seen, err)
	seen, asked, err = alice.use(call("memory_search", "query", "oranges"))
	check("a token of the key that is gone leads to a new one", err == nil && asked == 1 &&
		strings.Contains(seen, "Likes oranges"), seen, asked, err)
	must(stage(nil, "stop"))
	seen, asked, err = dave.use(call("memory_save", "content", "Likes milk."))
	check("tokens stay good while the provider is down", err == nil && asked == 0 &&
		strings.Contains(seen, "note-"), seen, asked, err)
}
