package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// A hub tells pages that are open what happens.
type hub struct {
	mu      sync.Mutex
	streams map[chan []byte]bool
}

// streamRoom is how many events wait for a page that does not read. The stream of a page that would miss some ends: the
// browser opens another one.
const streamRoom = 16

// mostStreams bounds the pages that listen at once.
const mostStreams = 64

func (h *hub) join() (events chan []byte, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.streams) >= mostStreams {
		return nil, false
	}
	if h.streams == nil {
		h.streams = map[chan []byte]bool{}
	}
	events = make(chan []byte, streamRoom)
	h.streams[events] = true
	return events, true
}

func (h *hub) leave(events chan []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, events)
}

// heard reports whether anybody listens.
func (h *hub) heard() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.streams) > 0
}

// encodeEvent is an event as a stream has it.
func encodeEvent(kind string, view any) []byte {
	data, err := json.Marshal(view)
	if err != nil {
		panic(err) // views have only what JSON has
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, data)
}

// send tells all pages of something.
func (h *hub) send(kind string, view any) {
	event := encodeEvent(kind, view)
	h.mu.Lock()
	defer h.mu.Unlock()
	for events := range h.streams {
		select {
		case events <- event:
		default:
			delete(h.streams, events)
			close(events)
		}
	}
}

// eventsPath is where the stream is.
const eventsPath = "/events"

// Times of a stream.
const (
	beat         = 15 * time.Second // between signs of life
	writeTimeout = 10 * time.Second // for a client that does not read
)

// stream sends events until the client goes, or the server ends.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	events, ok := s.events.join()
	if !ok {
		s.refuse(w, r, http.StatusTooManyRequests, "Too many pages are open.")
		return
	}
	defer s.events.leave(events)
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	tell := func(text []byte) bool {
		if err := out.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return false
		}
		if err := out.SetReadDeadline(time.Time{}); err != nil {
			return false
		}
		if _, err := w.Write(text); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	alive := time.NewTicker(beat)
	defer alive.Stop()
	if !tell([]byte("retry: 2000\n\n")) {
		return
	}
	notify(s.progress.wanted)
	for {
		select {
		case <-r.Context().Done():
			return
		case event, ok := <-events:
			if !ok || !tell(event) {
				return
			}
		case <-alive.C:
			if !tell([]byte(": alive\n\n")) {
				return
			}
		}
	}
}
