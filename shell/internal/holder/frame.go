package holder

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// greeting is the first thing that each side sends. Its last byte is the version of the protocol.
const greeting = "graphcleaner\x01"

// A kind says what a frame is.
type kind byte

// The frames of an asker.
const (
	frameRequest  kind = 'r'
	frameGo       kind = 'g' // the job shall begin
	frameInput    kind = 'i' // a piece of standard input
	frameInputEnd kind = 'e' // its end, or why it cannot be read
	frameAnswer   kind = 'a' // to a question: 1 for yes, 0 for no, and why it cannot be asked
	frameDrawn    kind = 'p' // progress was shown
	frameCancel   kind = 'c'
)

// The frames of a holder.
const (
	frameTaken    kind = 'T'
	frameRefused  kind = 'X' // and why
	frameOut      kind = 'O'
	frameErr      kind = 'E'
	frameWant     kind = 'W' // the next piece of input
	frameQuestion kind = 'Q'
	frameProgress kind = 'P' // done and total, 8 bytes each, and the stage
	frameResult   kind = 'R'
)

const (
	headerBytes = 5

	// maxPiece is the most that a frame of a stream has, in bytes.
	maxPiece = 64 << 10

	// MaxRequest is the most that a request or a result may have, in bytes.
	MaxRequest = 16 << 20
)

// limit is the most that a frame may have, in bytes.
func (k kind) limit() int {
	switch k {
	case frameRequest, frameResult:
		return MaxRequest
	case frameTaken, frameGo, frameWant, frameDrawn, frameCancel:
		return 0
	}
	return maxPiece
}

// A ProtocolError says that the other side does not keep to the protocol.
type ProtocolError struct{ msg string }

func (e *ProtocolError) Error() string { return e.msg }

func protocolErrorf(format string, args ...any) error {
	return &ProtocolError{fmt.Sprintf(format, args...)}
}

// A wire sends and receives frames. Several goroutines may send at once, and one may receive.
type wire struct {
	conn net.Conn
	in   *bufio.Reader

	mu  sync.Mutex
	out []byte // of the frame that is sent
}

func newWire(conn net.Conn) *wire { return &wire{conn: conn, in: bufio.NewReader(conn)} }

// readUntil bounds the wait of receive. The zero time is no bound.
func (w *wire) readUntil(t time.Time) {
	w.conn.SetReadDeadline(t) //nolint:errcheck // a closed connection: the next receive tells
}

// writeUntil bounds the wait of send. The zero time is no bound.
func (w *wire) writeUntil(t time.Time) {
	w.conn.SetWriteDeadline(t) //nolint:errcheck // a closed connection: the next send tells
}

// close ends the conversation.
func (w *wire) close() {
	w.conn.Close() //nolint:errcheck // all was said, or the other side is gone
}

// trySend is send of a frame that changes nothing if the other side is gone: the next receive tells.
func (w *wire) trySend(k kind, content ...[]byte) {
	w.send(k, content...) //nolint:errcheck // see above
}

// sendGreeting begins the conversation.
func (w *wire) sendGreeting() error {
	_, err := io.WriteString(w.conn, greeting)
	return err
}

// receiveGreeting makes sure that the other side speaks this protocol.
func (w *wire) receiveGreeting() error {
	var got [len(greeting)]byte
	if _, err := io.ReadFull(w.in, got[:]); err != nil {
		return err
	}
	const last = len(greeting) - 1
	if string(got[:last]) != greeting[:last] {
		return protocolErrorf("got the greeting %q, want %q", got, greeting)
	}
	if got[last] != greeting[last] {
		return protocolErrorf("got version %d of the protocol, want %d: the other process runs another version of graphcleaner", got[last], greeting[last])
	}
	return nil
}

// send sends a frame.
func (w *wire) send(k kind, content ...[]byte) error {
	length := 0
	for _, part := range content {
		length += len(part)
	}
	if length > k.limit() {
		return fmt.Errorf("%d bytes are too many for a message to another process, want at most %d", length, k.limit())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = binary.BigEndian.AppendUint32(append(w.out[:0], byte(k)), uint32(length))
	for _, part := range content {
		w.out = append(w.out, part...)
	}
	_, err := w.conn.Write(w.out)
	if cap(w.out) > 2*maxPiece {
		w.out = nil
	}
	return err
}

// receive returns the next frame. The error of a connection that ends is no ProtocolError: the other side may have been killed.
func (w *wire) receive() (kind, []byte, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(w.in, header[:]); err != nil {
		return 0, nil, err
	}
	k, length := kind(header[0]), binary.BigEndian.Uint32(header[1:])
	if int64(length) > int64(k.limit()) {
		return 0, nil, protocolErrorf("got a message of kind %q with %d bytes, want at most %d", byte(k), length, k.limit())
	}
	content, err := readExactly(w.in, int(length))
	return k, content, err
}

// expect reports whether the next frame is of a kind.
func (w *wire) expect(want kind) bool {
	got, _, err := w.receive()
	return err == nil && got == want
}

// readExactly reads so many bytes. It takes memory only as they come.
func readExactly(in io.Reader, length int) ([]byte, error) {
	var content []byte
	for len(content) < length {
		begin := len(content)
		content = append(content, make([]byte, min(length-begin, maxPiece))...)
		if _, err := io.ReadFull(in, content[begin:]); err != nil {
			return nil, fmt.Errorf("within a message: %w", err)
		}
	}
	return content, nil
}
