package problem

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// TestOf: each code has its status, and what is not meant for the caller stays inside.
func TestOf(t *testing.T) {
	for code, status := range map[loci.Code]int{
		loci.Invalid: 400, loci.Unauthenticated: 401, loci.Forbidden: 403, loci.NotFound: 404, loci.Conflict: 409,
		loci.TooLarge: 413, loci.Unsupported: 501, loci.Unavailable: 503, loci.Internal: 500, "unheard": 500,
	} {
		p := Of(&loci.Error{Code: code, Msg: "wrong"})
		if p.Status != status || p.GetStatus() != status ||
			p.Title != http.StatusText(status) || p.Code != code || p.Detail != "wrong" {
			t.Errorf("%s: %+v", code, p)
		}
	}
	quota := &loci.Quota{Records: 1}
	p := Of(quota.Refuse(loci.Holding{Records: 1}, loci.Holding{Records: 2}))
	if p.Status != 507 || p.Code != loci.TooLarge || p.Detail != "the tenant holds 1 of its 1 records, and this would make it 2" ||
		!strings.Contains(p.Recovery, "ask the operator") {
		t.Errorf("%+v", p)
	}
	tokens := &loci.TokensError{Limit: 900, Used: 1000, Wanted: 5, In: 90 * time.Second}
	p = Of(&loci.Error{Code: loci.Unavailable, Msg: "used up", Err: tokens})
	w := httptest.NewRecorder()
	w.Header().Set("RateLimit", `"tenant";r=5;t=1`)
	p.Write(w)
	h := w.Header()
	if p.Status != 429 || p.Code != loci.Unavailable || h.Get("Retry-After") != "90" ||
		strings.Join(h["Ratelimit"], ", ") != `"tenant";r=5;t=1, "model-tokens";r=0;t=90` ||
		h.Get("RateLimit-Policy") != `"model-tokens";q=900;w=86400` {
		t.Errorf("%+v, %v", p, h)
	}
	secret := errors.New("open /home/ada/loci.db")
	p = Of(secret)
	if p.Status != 500 || p.Code != loci.Internal || !errors.Is(p, secret) {
		t.Errorf("%+v", p)
	}
	if data, err := json.Marshal(p); err != nil || string(data) != `{"type":"about:blank","title":"Internal Server Error",`+
		`"status":500,"detail":"internal error","code":"internal","recovery":"`+p.Recovery+`"}` || p.Recovery == "" {
		t.Errorf("%s, %v", data, err)
	}
	if p := At(http.StatusTeapot, &loci.Error{
		Code:     loci.Invalid,
		Msg:      "wrong",
		Recovery: "Ask again.",
	}); p.Status != 418 || p.Recovery != "Ask again." {
		t.Errorf("%+v", p)
	}
}

// TestWrite: a problem is never cached, has one media type, and says when to come back.
func TestWrite(t *testing.T) {
	for status, retry := range map[int]string{400: "", 429: "1", 503: "1"} {
		w := httptest.NewRecorder()
		At(status, &loci.Error{Code: loci.Invalid, Msg: "a < b"}).Write(w)
		h := w.Header()
		if w.Code != status || h.Get("Content-Type") != "application/problem+json" ||
			h.Get("Cache-Control") != "no-store" || h.Get("Retry-After") != retry {
			t.Errorf("%d: %d, %v", status, w.Code, h)
		}
		var got Problem
		err := json.Unmarshal(w.Body.Bytes(), &got)
		if err != nil || got.Detail != "a < b" || !strings.Contains(w.Body.String(), "a < b") {
			t.Errorf("%s, %v", w.Body, err)
		}
	}
}

func TestNoRoute(t *testing.T) {
	if p := NoRoute(405, "PUT", "/x"); p.Status != 405 || p.Code != loci.Unsupported || p.Detail != "PUT is not possible here" {
		t.Errorf("%+v", p)
	}
	if p := NoRoute(404, "PUT", "/x\n"); p.Status != 404 || p.Code != loci.NotFound || p.Detail != `there is nothing at "/x\n"` {
		t.Errorf("%+v", p)
	}
}
