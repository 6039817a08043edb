// Package web serves the review page of a store to browsers on this machine, and the answers of statements to programs.
// It takes decisions. It knows no command line, and computes no score.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// Options say what the page shows, and who decides.
type Options struct {
	Store      *kv.Store
	Name       string        // the name of the store on the page
	Query      query.Options // who decides, and what a statement may use
	Where      string        // the filter of the queue at first: a condition, as in the statement suspects
	ReadOnly   bool          // no decision
	KeepScores bool          // the scores around a decision stay as they are
}

// A Server serves the page. All who open it review as one person, with one queue: another person has a Server of their
// own.
type Server struct {
	Options
	ctx      context.Context // of the server; it ends with Close
	title    string          // the property that nodes are called by in lists; "" if there is none
	began    time.Time
	keys     keys
	hosts    []string // that requests may name
	listener net.Listener
	http     *http.Server
	stop     context.CancelFunc
	working  sync.WaitGroup
	progress counter

	writing sync.Mutex // held while something is decided or taken back
	closed  bool       // no decision is written any more; of writing

	mu      sync.Mutex
	skipped []string // ids of nodes that are to come again when others were decided on
	wasSkip bool     // the last reply was a skip
	said    string   // what the last reply did
}

// errAddress is returned for an address that other machines could reach.
var errAddress = errors.New("the page is for this machine alone: want an address on loopback, such as 127.0.0.1:0")

// CheckAddress returns an error unless Serve could take the address.
func CheckAddress(address string) error {
	_, err := resolve(address)
	return err
}

// resolve is an address with a number for the host.
func resolve(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("%s: %w", address, errAddress)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsLoopback() {
		return "", fmt.Errorf("%s: %w", address, errAddress)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%s: the port is %q, want a number from 0 to 65535", address, port)
	}
	return net.JoinHostPort(host, port), nil
}

// hostsOf are the hosts that a request can name which comes to an address. Browsers leave out port 80.
func hostsOf(address net.Addr) (hosts []string) {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		panic(err) // a TCP address has a port
	}
	for _, name := range []string{host, "localhost", "127.0.0.1", "::1"} {
		hosts = append(hosts, net.JoinHostPort(name, port))
		if port == "80" {
			hosts = append(hosts, strings.TrimSuffix(net.JoinHostPort(name, port), ":80"))
		}
	}
	return hosts
}

// Limits of what a browser or a program may send, and how long it may take.
const (
	maxBody       = 1 << 20
	maxHeader     = 64 << 10
	headerTimeout = 10 * time.Second
	bodyTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
)

// Serve begins to serve the page on an address such as 127.0.0.1:0, where 0 stands for any free port. The address must
// be one of this machine alone. The end of ctx ends all requests. The caller closes the server, and the store after it.
func Serve(ctx context.Context, address string, opt Options) (*Server, error) {
	address, err := resolve(address)
	if err != nil {
		return nil, err
	}
	title := ""
	err = opt.Store.View(func(tx *kv.Tx) error {
		title = survey.Guess(tx).Title
		return nil
	})
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	s := &Server{Options: opt, ctx: ctx, title: title, began: time.Now(), listener: listener, stop: stop,
		hosts: hostsOf(listener.Addr())}
	s.ReadOnly = s.ReadOnly || opt.Store.ReadOnly()
	s.Query.Rescores = !s.KeepScores
	s.Query.Who = cmp.Or(s.Query.Who, query.UserName())
	s.keys.draw()
	s.http = &http.Server{
		Handler: s.handler(), BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // what clients do wrong is told to them
	}
	s.working.Go(func() {
		s.http.Serve(listener) //nolint:errcheck // it ends with Close
	})
	return s, nil
}

// Address is where the page is, with the token.
func (s *Server) Address() string { return s.Origin() + "/?" + tokenParameter + "=" + s.keys.token }

// Origin is where the page is, without the token.
func (s *Server) Origin() string { return "http://" + s.listener.Addr().String() }

// closeTimeout is how long Close waits for requests under way, which the end of their context ends.
const closeTimeout = 3 * time.Second

// Close ends all requests, and waits for them. A decision that was sent is written before.
func (s *Server) Close() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	s.inTurn(func() error { //nolint:errcheck // it has no error
		s.closed = true
		return nil
	})
	s.working.Wait()
	return err
}
