package web

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
)

// TestStrangers holds more connections without a secret than a server keeps, and beside them one with the token.
func TestStrangers(t *testing.T) {
	c := serve(t, papers.Cleaned(t), nil)
	c.get("/review") // on a connection that stays
	var held []net.Conn
	for range mostStrangers + 10 {
		conn := must.Get(net.Dial("tcp", c.server.listener.Addr().String()))(t)
		defer conn.Close()
		held = append(held, conn)
	}
	if status, text := c.get("/review"); status != http.StatusOK {
		t.Fatalf("beside strangers: got %d, %s", status, text)
	}
	for _, conn := range held[:10] {
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("one of the oldest connections is not ended: it got %d bytes", n)
		}
	}
	last := held[len(held)-1]
	must.Get(fmt.Fprintf(last, "GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", c.server.listener.Addr()))(t)
	answer, err := io.ReadAll(last) // to the end of the connection
	if err != nil || !strings.Contains(string(answer), "200 OK") ||
		!strings.Contains(string(answer), "Connection: close") {
		t.Errorf("a stranger may ask once: got %q, %v", answer, err)
	}
}
