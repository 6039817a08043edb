// Command service keeps a graph that grows, and judges each label as it arrives. docs/embedding.md shows how to ask it.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	listener, err := net.Listen("tcp", "127.0.0.1:8080") // this machine only: the service knows no users
	if err == nil {
		err = run(ctx, append(os.Args, "STORE")[1], listener) // without an argument, the error names STORE
	}
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// run serves a store until ctx ends. Then it finishes the requests that run, and closes the store.
func run(ctx context.Context, dir string, listener net.Listener) error {
	store, err := index.Open(dir, kv.Options{})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	stopCommands, err := shell.Serve(ctx, store) // list suspects and decide with the commands of graphcleaner
	if err != nil {
		return errors.Join(err, listener.Close(), store.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("POST /nodes", localOnly(http.NewCrossOriginProtection().Handler(service{store}))) // no other sites
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	err = rescore(ctx, store, failed)
	shut := server.Shutdown(context.WithoutCancel(ctx))
	return errors.Join(err, shut, stopCommands(), store.Close())
}

// rescore brings the stored scores up to date after changes, until ctx ends or the server has failed.
func rescore(ctx context.Context, store *kv.Store, failed <-chan error) error {
	for tick := time.Tick(10 * time.Second); ; {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-tick:
		}
		if _, err := cleaner.Rescore(ctx, store, cleaner.RescoreOptions{}); err != nil && ctx.Err() == nil {
			log.Print("rescore: ", err) // it is tried again
		}
	}
}

// localOnly refuses requests to another host. Else a page of a site whose name is made to lead here could write.
func localOnly(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := (&url.URL{Host: r.Host}).Hostname(); name == "localhost" || net.ParseIP(name).IsLoopback() {
			handler.ServeHTTP(w, r)
			return
		}
		http.Error(w, "want localhost or 127.0.0.1 as the host", http.StatusForbidden)
	})
}

// A service adds nodes to a store.
type service struct{ store *kv.Store }

var errRequest = errors.New("bad request")

// ServeHTTP answers in JSON. What is wrong with a request is told to the client, and else to the log.
func (s service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	var n node
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	d.DisallowUnknownFields()
	err := d.Decode(&n)
	if err != nil || d.More() {
		err = fmt.Errorf("%w: %w", errRequest, cmp.Or(err, errors.New("want one node")))
	} else {
		err = s.store.UpdateContext(ctx, func(tx *kv.Tx) error { return n.arrive(ctx, tx) })
	}
	refusals := []error{errRequest, kv.ErrExists, kv.ErrNotFound, kv.ErrInvalidID, kv.ErrInvalidEdge}
	switch {
	case slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(err, refusal) }):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case err != nil:
		log.Print(err)
		http.Error(w, "the log of the service says more", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(n) //nolint:errcheck // the client is gone
	}
}

// A node arrives with its label and its neighbours. Suspect and Suggested are the model's verdict on the label.
type node struct {
	ID, Label string
	Neighbors []string
	Suspect   bool
	Suggested string
}

// arrive adds a node and judges its label, in one transaction: after an error nothing is written.
func (n *node) arrive(ctx context.Context, tx *kv.Tx) error {
	run, err := cleaner.LastRun(tx)
	if err != nil {
		return fmt.Errorf("the store needs a run of clean: %v", err) //nolint:errorlint // no fault of the request
	}
	if !slices.Contains(tx.Classes(), n.Label) { // a slip would make one
		return fmt.Errorf("%w: the store has no class %q", errRequest, n.Label)
	}
	v, err := tx.AddNode(kv.Node{ID: n.ID, Label: n.Label})
	for _, id := range n.Neighbors {
		u, missing := tx.Node(id)
		if err = cmp.Or(err, missing); err == nil {
			err = tx.AddEdge(v, u)
		}
	}
	if err != nil {
		return err
	}
	scores, err := cleaner.Score(ctx, tx, []kv.NodeID{v}, ops.Options{})
	if err == nil {
		n.Suspect, n.Suggested = scores[0].IsSuspect(run.Threshold), scores[0].Suggestion
	}
	return err
}
