package web

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// Strangers are connections that have shown no secret yet. Each ends with the answer to its first request, or
// headerTimeout after it began. There are few: a new one ends the oldest, so that nobody who has no secret uses up the
// descriptors of the process.
type strangers struct {
	mu    sync.Mutex
	conns []net.Conn // oldest first
}

// mostStrangers bounds them.
const mostStrangers = 128

// connKey is the key of the connection in the context of a request.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// follow is told what becomes of connections.
func (s *strangers) follow(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		if s.conns = append(s.conns, c); len(s.conns) > mostStrangers {
			s.conns[0].Close() //nolint:errcheck // nobody waits for it
			s.conns = s.conns[1:]
		}
	case http.StateClosed:
		s.drop(c)
	}
}

// know tells that the connection of a request has shown a secret.
func (s *strangers) know(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(r.Context().Value(connKey{}).(net.Conn))
}

func (s *strangers) drop(c net.Conn) {
	s.conns = slices.DeleteFunc(s.conns, func(other net.Conn) bool { return other == c })
}
