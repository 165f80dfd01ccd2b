package secret_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/effort"
	"github.com/loci-memory/loci/internal/secret"
)

// Random looking parts. Tokens are put together from them at run time, so that no
// scanner takes this file for a leak.
const (
	mixed = "aB3dE5gH7jK9mN1pQ2sT4vW6xY8zA0cD2fG4hJ6kL8nP0rS2uV4wX6yZ8bC1eF3gH5jK7mN9"
	hex   = "3f9a1c7e5b2d804f6a9c1e3b5d7f90823f9a1c7e5b2d804f6a9c1e3b5d7f90823f9a1c7e5b2d804f6a9c1e3b5d7f90823f9a1c7e5b2d804f6a9c1e3b5d7f9082"
	caps  = "Q3X7K2M9P4R8T5W1Y6Z0B2D4F6H8J1L3N5P7R9T2V4X6Z8B1D3F5"
)

// secrets are credentials in the text that surrounds them: secret is the part that must be
// gone.
var secrets = []struct{ name, before, secret, after string }{
	{"AWS key id", "id ", "AKIA" + caps[:16], " end"},
	{"AWS temporary key id", "(", "ASIA" + caps[:16], ")"},
	{"AWS secret key", "aws_secret_access_key = ", "wJalr" + "XUtnFEMI/K7MDENG/" + mixed[:18], "\n"},
	{"AWS secret in the environment", "export AWS_SECRET_ACCESS_KEY=", mixed[:40], " && run"},
	{"GitHub personal", "use ", "ghp" + "_" + mixed[:36], "."},
	{"GitHub OAuth", "", "gho" + "_" + mixed[:36], ""},
	{"GitHub user", "", "ghu" + "_" + mixed[:36], ""},
	{"GitHub server", "", "ghs" + "_" + mixed[:36], ""},
	{"GitHub refresh", "", "ghr" + "_" + mixed[:60], ""},
	{"GitHub fine-grained", "token is ", "github" + "_pat_" + mixed[:22] + "_" + mixed[:59], ", ok"},
	{"GitLab", "", "glp" + "at-" + mixed[:20], ""},
	{"Slack bot", "", "xox" + "b-123456789012-" + mixed[:24], ""},
	{"Slack app", "", "xap" + "p-1-A0" + mixed[:30], ""},
	{"Slack webhook", "https://hooks.slack.com/services/", "T0" + caps[:8] + "/B0" + caps[:8] + "/" + mixed[:24], ""},
	{"Stripe live", "", "sk_" + "live_" + mixed[:24], ""},
	{"Stripe restricted", "", "rk_" + "live_" + mixed[:24], ""},
	{"Stripe test", "", "sk_" + "test_" + mixed[:24], ""},
	{"Loci", "", "loci_" + strings.ToLower(mixed[:26]) + "_" + strings.ToLower(mixed[:59]), ""},
	{"OpenAI legacy", "", "sk-" + mixed[:48], ""},
	{"OpenAI project", "", "sk-" + "proj-" + mixed[:30] + "_-" + mixed[:40], ""},
	{"OpenRouter", "", "sk-" + "or-v1-" + hex[:64], ""},
	{"Anthropic", "", "sk-" + "ant-api03-" + mixed[:40] + "-_" + mixed[:40] + "AA", ""},
	{"Google API key", "key=", "AI" + "za" + mixed[:35], "&q=1"},
	{"Google OAuth", "", "ya" + "29." + mixed[:60], ""},
	{"Google client secret", "", "GOC" + "SPX-" + mixed[:28], ""},
	{"npm", "//registry/:_authToken=", "npm" + "_" + mixed[:36], ""},
	{"PyPI", "", "pypi-" + "AgEI" + mixed[:70], ""},
	{"Hugging Face", "", "hf" + "_" + mixed[:34], ""},
	{"SendGrid", "", "SG" + "." + mixed[:22] + "." + mixed[:43], ""},
	{"Twilio", "", "SK" + hex[:32], ""},
	{"DigitalOcean", "", "dop" + "_v1_" + hex[:64], ""},
	{"Databricks", "", "da" + "pi" + hex[:32], "-2"},
	{"Cloudflare", "", "cfut" + "_" + mixed[:48], ""},
	{"Vault", "", "hvs" + "." + mixed[:30], ""},
	{"Shopify", "", "shp" + "at_" + hex[:32], ""},
	{"Docker", "", "dckr" + "_pat_" + mixed[:27], ""},
	{"age", "", "AGE-" + "SECRET-KEY-1" + caps[:40] + caps[:18], ""},
	{"Telegram", "bot", "123456789" + ":AA" + mixed[:33], "/getMe"},
	{"JSON web token", "cookie ", "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0." + mixed[:43], ";"},
	{"after an escaped line end", `a\n`, "ghp" + "_" + mixed[:36], `\nb`},
	{"in a longer name", "old_", "ghp" + "_" + mixed[:36], ""},
	{"PEM", "key:\n", "-----BEGIN RSA " + "PRIVATE KEY-----\n" + mixed[:64] + "\n" + mixed[:20] + "==\n-----END RSA PRIVATE KEY-----", "\nrest"},
	{"PEM with headers", "", "-----BEGIN RSA " + "PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n" + mixed[:64] + "\n-----END RSA PRIVATE KEY-----", ""},
	{"PEM in JSON", `{"k":"`, "-----BEGIN " + `PRIVATE KEY-----\n` + mixed[:64] + `\n` + mixed[:9] + `\n-----END PRIVATE KEY-----`, `\n"}`},
	{"PEM cut short", "", "-----BEGIN OPENSSH " + "PRIVATE KEY-----\n" + mixed[:70] + "\n" + mixed[:31], ""},
	{"PGP block", "", "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\nVersion: 1\n\n" + mixed[:64] + "\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----", ""},
	{"bearer", "Authorization: Bearer ", mixed[:30], "\n"},
	{"bearer in JSON", `"authorization": "Bearer `, "abcdefgh" + "ijkl", `"`},
	{"bearer without header", "send bearer ", mixed[:24] + "==", ""},
	{"basic", "curl -H 'Authorization: Basic ", "dXNlcjpw" + "YXNzd29yZA==", "'"},
	{"URL", "https://anna:", "geheim", "@example.com/path"},
	{"URL with an at sign", "https://anna:", "ge@heim", "@example.com"},
	{"PostgreSQL", "postgres://loci:", "hunter2", "@db:5432/loci?sslmode=disable"},
	{"Redis without user", "redis://:", "hunter2", "@cache:6379/0"},
	{"MongoDB", "mongodb+srv://app:", "p%40ss", "@cluster0.example.net"},
	{"MySQL driver", "dsn = root:", "toor", "@tcp(127.0.0.1:3306)/db"},
	{"libpq", "host=db user=loci password=", "correcthorse", " dbname=loci"},
	{"ADO", "Server=db;Database=x;User Id=sa;Password=", "letmein", ";Encrypt=true"},
	{"Azure storage", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=", mixed[:60] + "+/" + mixed[:24] + "==", ";EndpointSuffix=core.windows.net"},
	{"Azure signature", "?sv=2024-01-01&sig=", mixed[:40] + "%2B" + mixed[:8] + "%3D", "&se=1"},
	{"environment", "DB_PASSWORD=", "tr0ub4dor", "\n"},
	{"short name", "DB_PASS=", "tr0ub4dor", ""},
	{"YAML", "api_key: ", mixed[:20], "\nname: x"},
	{"JSON", `{"password": "`, "tr0ub4dor!x", `", "a": 1}`},
	{"JSON in a string", `{\"password\": \"`, "tr0ub4dor", `\"}`},
	{"code", "config[\"client-secret\"] := `", mixed[:20], "`"},
	{"two words", "My API key: ", mixed[:20], " for maps"},
	{"prose with a password", "The wifi password: ", "blueHouse42", ", in the kitchen"},
	{"no digits", "secret = ", "kXyZqWeRtYuIoPaS", ""},
	{"header", "X-Api-Key: ", mixed[:32], "\r\n"},
	{"query", "https://example.com/?page=2&access_token=", mixed[:20], "&x=1"},
	{"flag", "mysql --password ", "tr0ub4dor", " -h db"},
	{"flag with a sign", "app --api-key=", mixed[:20], " run"},
	{"UUID as a secret", "client_secret: ", "6f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f0", ""},
}

func TestRedact(t *testing.T) {
	for _, c := range secrets {
		t.Run(c.name, func(t *testing.T) {
			want := c.before + "[REDACTED]" + c.after
			if got := secret.Redact(c.before + c.secret + c.after); got != want {
				t.Errorf("Redact = %q\n  want %q", got, want)
			}
			if got := secret.Redact(want); got != want {
				t.Errorf("again = %q\n want %q", got, want)
			}
		})
	}
}

// plain are texts that must stay as they are.
var plain = []string{
	"", " ", "=", ":", "@", "--", "://", "-----BEGIN ", "eyJ", "sk-", "AKIA",
	"my password is on the blue sticker", "secret: Anna likes Tom", "Password: ask Anna about it tomorrow",
	"The secret of a good token is in the key.", "password: 8-character minimum", "secret: 21st-birthday party", "token: v1.2.3-beta",
	"password = ", "password: \"\"", "password=short1", "api_key: YOUR_API_KEY", "token: $GITHUB_TOKEN1", "token: ${GITHUB_TOKEN_1}", "secret: {{ vault.secret1 }}",
	"password: <your-password-1>", "password: ********", "password = os.Getenv1(\"X\")", "secret: \"Anna and Tom met in 2019\"", "token: https://example.com/page1",
	"private_key: server2024.pem", "passwd: /etc/passwd2.conf", "PWD=/home/user1/project2", "token: 2026-03-01T10:00:00Z",
	"6f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f0", "note-6f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f0", "id: note-6f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f0",
	"commit f53969a97186e80532f3a1323f0539822541689b", "sha256:" + hex[:64], "session_id=6f1c2d3e4b5a69788796a5b4c3d2e1f0",
	"Call +44 20 7946 0958 or 555-0100-1234.", "card 4111 1111 1111 1111", "https://example.com/a/b?c=d&e=f#g", "https://user@example.com/x", "http://localhost:8080/path@2",
	"mailto:anna@example.com", "git@github.com:loci-memory/loci.git", "ssh://git@github.com:22/x", "postgres://localhost:5432/db", "postgres://app:${DB_PASSWORD}@db/x",
	"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
	"max_tokens=4096", "tokens: 1234abcd", "tokenizer: cl100k_base", "sk-learn-pipelines-and-their-parameters-2024", "hf_hub_download_some_function", "npm_config_cache",
	"The bearer of good news: authentication is done", "Bearer authentication-is-required-everywhere", "Authorization: required", "Basic knowledge of Go",
	"compass: north45east", "bypass: route66west", "keyword: alpha2beta3", "monkey: banana123", "broken: something12",
	"-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUJ\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYI\n-----END PUBLIC KEY-----",
	"A PEM file starts with -----BEGIN PRIVATE KEY----- and then comes base64.", "--token is a flag", "the --password option needs a value",
	"12:30:45 and 10:AA", "ratio 3:2", "ISBN 978-3-16-148410-0", "Анна любит чай: зелёный", "秘密: 绿茶", "[REDACTED]", "password=[REDACTED]", "\xff=\xfe:\xff",
	"key: value1234", "author = Smith2020etal", "a := b1234567", "SKU SK123", "version v1.0-rc1", "skating", "SG.", "dp.Title", "cioppino recipe",
}

func TestPlainTextStays(t *testing.T) {
	if len(plain) < 40 || len(secrets) < 50 {
		t.Fatalf("%d plain texts, %d secrets", len(plain), len(secrets))
	}
	for _, text := range plain {
		if got := secret.Redact(text); got != text {
			t.Errorf("Redact(%q) = %q", text, got)
		}
	}
}

// Texts of pieces of credentials, cut and joined at random.
func TestRedactTwiceChangesNothing(t *testing.T) {
	pieces := []string{" ", "\n", "-", "_", ".", "=", ":", "/", "@", "[REDACTED]", "password", "\"", "\\n", "://", "@tcp(", "host=", "--", "Bearer ", "authorization:", "word", "sig=", "&", ";"}
	for _, c := range secrets {
		pieces = append(pieces, c.before, c.secret, c.after, c.secret[:len(c.secret)/2], c.secret[:len(c.secret)-1])
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		once := secret.Redact(text)
		if twice := secret.Redact(once); twice != once {
			t.Fatalf("once  %q\ntwice %q", once, twice)
		}
		checkSpans(t, text)
	})
}

// checkSpans fails when spans are empty, out of order or out of the text.
func checkSpans(t interface{ Fatalf(string, ...any) }, text string) {
	end := 0
	for _, s := range secret.Find(text) {
		if s.Start < end || s.End <= s.Start || s.End > len(text) {
			t.Fatalf("Find(%q) = %v", text, secret.Find(text))
		}
		end = s.End
	}
}

func TestTimeIsLinear(t *testing.T) {
	units := []string{"eyJ", "eyJhbGciOiJIUzI1.", "eyJhbGciOiJI-", "sig=", "authorization: ", "token=a1b2c3d4(", "hf_a", "sk-", "password=", "password: a", "://", "://a:b@", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----a:",
		"-----BEGIN PRIVATE KEY----- -----END ", "::::", "host=password=", "a@tcp(", "12345678:AA", "Bearer ", "--password ", "=", "pwd=x1", "AIza" + mixed[:34] + "-", "a--", "A:-----BEGIN PRIVATE KEY-----\n", strings.Repeat("x", 1000) + "@"}
	for _, unit := range units {
		// Quadratic time would make it 64 times.
		effort.Grows(t, strconv.Quote(unit), 16<<10, 128<<10, 40, func(size int) {
			text := strings.Repeat(unit, size/len(unit))
			if strings.HasSuffix(unit, "x@") { // each pass must not find a part of one password alone
				text = "a://u:" + text
			}
			secret.Redact(text)
		})
	}
}

// A credential at the end of a text makes one of what stands in front of it, which makes one of what stands in front
// of that.
func TestTimeIsLinearWhereEachShowsAnother(t *testing.T) {
	for _, c := range []struct{ unit, end string }{
		{"password=", "1"}, {"api_key=", "1"}, {"pwd=", "; data source="}, {"u:p@", "tcp("}, {"é;pwd=", " host="},
	} {
		// Quadratic time would make it 64 times.
		effort.Grows(t, strconv.Quote(c.unit+"…"+c.end), 8<<10, 64<<10, 40, func(size int) {
			clean := secret.Redact(strings.Repeat(c.unit, size/len(c.unit)) + c.end)
			if len(secret.Find(clean)) != 0 || !utf8.ValidString(clean) {
				t.Errorf("%q … %q leaves %q", c.unit, c.end, clean)
			}
		})
	}
	// What a few passes settle is taken and no more.
	if got, want := secret.Redact("seat 12A "+strings.Repeat("pwd=", 100)+"; data source="), "seat 12A "; !strings.HasPrefix(got, want) {
		t.Errorf("got %q; want it to begin with %q", got, want)
	}
}

func FuzzRedact(f *testing.F) {
	for _, c := range secrets {
		f.Add(c.before + c.secret + c.after)
	}
	for _, text := range plain {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkSpans(t, text)
		once := secret.Redact(text)
		if twice := secret.Redact(once); twice != once {
			t.Fatalf("once  %q\ntwice %q", once, twice)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	prose := strings.Repeat("Anna told me that she prefers window seats: she likes to see the clouds. ", 3)[:200]
	for name, text := range map[string]string{
		"plain200":   prose,
		"plain256K":  strings.Repeat(prose, 256<<10/200),
		"keywords":   strings.Repeat("the password and the secret token of the api key: none. ", 4)[:200],
		"oneSecret":  prose[:100] + " ghp" + "_" + mixed[:36] + " " + prose[:60],
		"base64_64K": strings.Repeat(mixed+"+/", 64<<10/74),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				secret.Redact(text)
			}
		})
	}
}

// A password in a URL goes whole, however long it is and however many "@" it holds.
func TestLongPasswordsGoWhole(t *testing.T) {
	part := strings.Repeat("x", 1000) + "@"
	for _, parts := range []int{1, 2, 40, 400} {
		got := secret.Redact("see a://u:" + strings.Repeat(part, parts) + "host/path")
		if want := "see a://u:[REDACTED]@host/path"; got != want {
			t.Errorf("%d parts leave %d bytes: %.60q", parts, len(got), got)
		}
	}
}
