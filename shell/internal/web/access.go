package web

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Names of the two ways into the page by its address.
const (
	tokenParameter  = "token"
	ticketParameter = "ticket"
)

// Keys are the secrets of a server. Each start draws new ones.
type keys struct {
	token  string // of the printed address, and of programs
	cookie string // of browsers that came in by the token or a ticket

	mu      sync.Mutex
	tickets []string // that nobody has used
}

// secretBytes is the length of a secret: 128 bits.
const secretBytes = 16

func newSecret() (string, error) {
	var secret [secretBytes]byte
	_, err := rand.Read(secret[:])
	return hex.EncodeToString(secret[:]), err
}

func (k *keys) draw() (err error) {
	if k.token, err = newSecret(); err != nil {
		return err
	}
	k.cookie, err = newSecret()
	return err
}

func (k *keys) newTicket() string {
	ticket := rand.Text()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tickets = append(k.tickets, ticket)
	return ticket
}

// useTicket takes a ticket away, and reports whether it was there.
func (k *keys) useTicket(ticket string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.tickets, func(t string) bool { return same(t, ticket) })
	if i >= 0 {
		k.tickets = slices.Delete(k.tickets, i, i+1)
	}
	return i >= 0
}

// same compares secrets in a time that does not depend on them.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// cookieName has the port, because a browser sends the cookies of all ports of a host.
func (s *Server) cookieName() string { return "graphcleaner-" + s.port() }

// Headers of each answer: nothing of another origin is loaded, framed, asked or told.
var securityHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cache-Control":                "no-store",
}

// admitted wraps a handler: it answers only requests that name this machine as the host and show a secret, and changes only those that
// come from the page itself or from a program with the token. The metrics need no secret,
// so that a scraper needs no other configuration after each start.
func (s *Server) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range securityHeaders {
			w.Header().Set(name, value)
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		switch {
		case !slices.Contains(s.hosts, r.Host):
			// A page whose name was pointed at this machine sends its own name.
			http.Error(w, "the host of the request is not this machine", http.StatusForbidden)
		case isSafe(r.Method) && r.URL.Path == "/" && (r.URL.Query().Has(tokenParameter) || r.URL.Query().Has(ticketParameter)):
			s.letIn(w, r)
		case s.isProgram(r), isSafe(r.Method) && r.URL.Path == metricsPath, s.isBrowser(r) && (isSafe(r.Method) || isOwnPage(r)):
			next.ServeHTTP(w, r)
		case s.isBrowser(r):
			http.Error(w, "only the page itself can change anything: the request comes from elsewhere", http.StatusForbidden)
		default:
			http.Error(w, "open the address that graphcleaner printed: it has a token", http.StatusForbidden)
		}
	})
}

func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// letIn exchanges the token or a ticket for the cookie, and removes it from the address.
func (s *Server) letIn(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if !same(query.Get(tokenParameter), s.keys.token) && !s.keys.useTicket(query.Get(ticketParameter)) {
		http.Error(w, "the token in the address is wrong, or was for one time: open the address that graphcleaner printed", http.StatusForbidden)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(), Value: s.keys.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// isProgram reports whether a request has the token in its header. No page of another origin can send that.
func (s *Server) isProgram(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && same(token, s.keys.token)
}

func (s *Server) isBrowser(r *http.Request) bool {
	cookie, err := r.Cookie(s.cookieName())
	return err == nil && same(cookie.Value, s.keys.cookie)
}

// isOwnPage reports whether the browser says that a request comes from a page of this server. Other ports of this machine are other
// origins. Browsers that send no Sec-Fetch-Site send the origin.
func isOwnPage(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	return r.Header.Get("Origin") == "http://"+r.Host
}
