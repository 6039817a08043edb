package web

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
)

// tokenParameter names the token in the printed address.
const tokenParameter = "token"

// Keys are the secrets of a server. Each start draws new ones.
//
// A browser sends the cookies of a host to all its ports, so another server on this machine would get a cookie of all
// paths, and could do with it what the page can. Hence the pages lie below a path that nobody else knows, the cookie is
// of this path alone, and both are needed.
type keys struct {
	token  string // of the printed address, and of programs
	cookie string // of browsers that came in by the token
	path   string // of the pages, "/" before it
}

// secretBytes is the length of a secret: 128 bits.
const secretBytes = 16

func newSecret() string {
	var secret [secretBytes]byte
	rand.Read(secret[:]) // it does not fail
	return hex.EncodeToString(secret[:])
}

func (k *keys) draw() { k.token, k.cookie, k.path = newSecret(), newSecret(), "/"+newSecret() }

// same compares secrets in a time that does not depend on them.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// cookieName names the cookie. Servers differ in its path.
const cookieName = "graphcleaner"

// Headers of each answer: nothing of another origin is loaded, framed, asked or told.
var securityHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " +
		"'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cache-Control":                "no-store",
}

// admitted wraps a handler: it answers only requests that name this machine as the host and show a secret, and changes
// only those that come from the page itself or from a program with the token.
func (s *Server) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range securityHeaders {
			w.Header().Set(name, value)
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		isProgram, isBrowser := s.isProgram(r), s.isBrowser(r)
		if !isProgram && !isBrowser {
			w.Header().Set("Connection", "close")
		}
		switch {
		case !slices.Contains(s.hosts, r.Host):
			// A page whose name was pointed at this machine sends its own name.
			s.refuse(w, r, http.StatusForbidden, "The host of the request is not this machine.")
		case isSafe(r.Method) && r.URL.Path == "/" && r.URL.Query().Has(tokenParameter):
			s.letIn(w, r)
		case isProgram:
			r.URL.Path = "/" + strings.TrimLeft(r.URL.Path, "/") // of an address with a slash at its end
			next.ServeHTTP(w, r)
		case isBrowser && (isSafe(r.Method) || isOwnPage(r)):
			r.URL.Path, r.URL.RawPath = strings.TrimPrefix(r.URL.Path, s.keys.path), ""
			next.ServeHTTP(w, r)
		case isBrowser:
			s.refuse(w, r, http.StatusForbidden, "Only the page itself can change anything: the request comes from elsewhere.")
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			s.refuse(w, r, http.StatusUnauthorized, "Open the address that graphcleaner printed last: it has a token.")
		}
	})
}

// refuse answers who may not ask: programs in JSON, and others in a line of text, as the page is not for them.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, text string) {
	if wantsJSON(r) {
		s.fail(w, r, refuse(status, text))
		return
	}
	http.Error(w, text, status)
}

func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// letIn exchanges the token for the cookie, and leads to the page. The cookie comes along if a link in another program
// or a file led here.
func (s *Server) letIn(w http.ResponseWriter, r *http.Request) {
	if !same(r.URL.Query().Get(tokenParameter), s.keys.token) {
		s.refuse(w, r, http.StatusForbidden,
			"The token in the address is wrong: open the address that graphcleaner printed last.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.keys.cookie, Path: s.keys.path, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
	goTo(w, s.keys.path+"/")
}

// goTo sends a browser to another address, which may be relative to that of the request.
func goTo(w http.ResponseWriter, address string) {
	w.Header().Set("Location", address)
	w.WriteHeader(http.StatusSeeOther)
}

// isProgram reports whether a request has the token in its header. No page of another origin can send that.
func (s *Server) isProgram(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && same(token, s.keys.token)
}

// isBrowser reports whether a request is for a page of this server, and has its cookie.
func (s *Server) isBrowser(r *http.Request) bool {
	path, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	cookie, err := r.Cookie(cookieName)
	return err == nil && same(cookie.Value, s.keys.cookie) && same("/"+path, s.keys.path)
}

// isOwnPage reports whether the browser says that a request comes from a page of this server. Other ports of this
// machine are other origins. Browsers that send no Sec-Fetch-Site send the origin.
func isOwnPage(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	return r.Header.Get("Origin") == "http://"+r.Host
}
