// Command service keeps a graph that grows, and judges each label as it arrives. It speaks JSON over HTTP:
//
//	POST /changes    adds nodes and edges and sets labels, all or nothing, and answers with the score of each label
//	GET  /suspects   lists the suspects, with ?where=CONDITION and ?limit=NUMBER
//	POST /decisions  decides about a label as it was shown
//	GET  /metrics    has counts and times, for Prometheus
//
// The store needs the scores and the model of a run first:
//
//	graphcleaner import papers.graph --nodes nodes.csv --edges edges.csv
//	graphcleaner clean papers.graph
//	go run . papers.graph
//	curl localhost:8080/changes -d '{"nodes": [{"id": "late", "label": "graphics"}], "edges": [{"from": "late", "to": "p8"}]}'
//
// The commands of graphcleaner work on the store meanwhile. The service knows no users: put it behind a proxy that
// does, and that sends Host: localhost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell"
)

// The times that a request may take. The end of the service waits for the requests that run, so it takes no longer.
const (
	readTime   = 10 * time.Second // until the request has arrived
	answerTime = 30 * time.Second // until the answer is known
	idleTime   = 2 * time.Minute
)

func main() {
	address := flag.String("listen", "127.0.0.1:8080", "`address` to listen on; who reaches it may write")
	pause := flag.Duration("pause", 5*time.Second, "how long a change waits for others, until the scores around all of them are computed again")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("got ", flag.Args(), ", want the directory of a store; -help lists the flags")
	}
	ready := func(at net.Addr) { log.Printf("%s is open, and answers at http://%s", flag.Arg(0), at) }
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, flag.Arg(0), *address, *pause, ready)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// run serves a store until ctx ends. Then it takes no more requests, finishes those that run, ends the rescoring, and closes the store.
func run(ctx context.Context, dir, address string, pause time.Duration, ready func(net.Addr)) (err error) {
	measured := newMetrics()
	store, err := index.Open(dir, kv.Options{Observe: measured.observe})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	err = store.View(func(tx *kv.Tx) error {
		_, err := cleaner.Score(ctx, tx, nil, ops.Options{})
		return err
	})
	if err != nil {
		return fmt.Errorf("%s has no model to score labels by: run graphcleaner clean first: %w", dir, err)
	}
	stopCommands, err := shell.Serve(ctx, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopCommands()) }()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s := newService(store, measured)
	handler := s.handler()
	if at, ok := listener.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		handler = localOnly(handler)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: readTime, ReadTimeout: readTime, WriteTimeout: readTime + answerTime,
		IdleTimeout: idleTime,
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() { s.rescore(ctx, pause) })
	var failed error
	work.Go(func() {
		defer cancel()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed = err
		}
	})
	ready(listener.Addr())
	<-ctx.Done()
	grace, giveUp := context.WithTimeout(context.WithoutCancel(ctx), readTime+answerTime)
	defer giveUp()
	err = server.Shutdown(grace)
	work.Wait()
	return errors.Join(failed, err)
}
