package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Version is the version of frames and operations. A worker refuses frames of other versions.
const Version = 1

const (
	magic       = "GCwk"
	headerBytes = 40
	sumAt       = 36 // the checksum is the last of the header

	// mostPayload is the most that a frame may have after its header, in bytes. Senders keep most frames far below.
	mostPayload = 64 << 20
)

// A Kind says what a frame holds.
type Kind byte

// The kinds of frames. Numbers are little endian; [count] rows.
const (
	KindJob    Kind = 1 // a Job, as json
	KindEnd    Kind = 2 // Count: frames since the job, modulo 2^32
	KindReport Kind = 3 // a worker's counts, as json
	KindGroup  Kind = 4 // the frames of the group Row, Column, Part follow

	KindEdges       Kind = 10 // uint64 [count]: rows and columns of a block, 32 bits each, ascending
	KindArcs        Kind = 11 // arcs of rows of block (Row, Column); see arcEncoder
	KindSums        Kind = 12 // sparse float64 [count×width]: partial sums of range Row, from range Column
	KindStrength    Kind = 13 // float64 [count]: degrees
	KindSlice       Kind = 14 // float32 [count×width]: D^(-1/2)x, after hop Part
	KindDiagonal    Kind = 15 // float64 [count]: the diagonal of the power Part
	KindLabels      Kind = 16 // int32 [count]: classes, -1 for none
	KindSplits      Kind = 17 // uint8 [count]: a split, plus 128 if the node has no predictions
	KindPredictions Kind = 18 // float32 [count×width]; a row of NaN: none
	KindBallots     Kind = 19 // sparse float64 [count×c]: weights of the neighbours by given label
	KindTested      Kind = 20 // int32 [count×width]: the given label and its rivals, -1 for none
	KindFeatures    Kind = 21 // float32 [count×width]: feature Part of the tested labels
	KindMembers     Kind = 22 // uint32 [count]: local rows, or positions, of members of the sample
	KindSample      Kind = 23 // uint32 [count] local rows of members, float32 [count×c] feature Part under every label
	KindScores      Kind = 24 // [count] × (float32 score, int32 suggested class, float32 confidence)
	KindModel       Kind = 25 // the result of fit, as json
	KindVerdicts    Kind = 26 // people's verdicts on labels, as json
)

var kindNames = map[Kind]string{
	KindJob: "job", KindEnd: "end", KindReport: "report", KindGroup: "group", KindEdges: "edges", KindArcs: "arcs",
	KindSums:     "sums",
	KindStrength: "strength", KindSlice: "slice", KindDiagonal: "diagonal", KindLabels: "labels", KindSplits: "splits",
	KindPredictions: "predictions", KindBallots: "ballots", KindTested: "tested labels", KindFeatures: "features",
	KindMembers: "members",
	KindSample:  "sample", KindScores: "scores", KindModel: "model", KindVerdicts: "verdicts",
}

// String names the kind for errors.
func (k Kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return fmt.Sprintf("frame of unknown kind %d", byte(k))
}

// A Frame is a header and a payload:
//
//	 0  "GCwk"                         4  version   5  zero   6  kind   7  zero
//	 8  row      12  column            16 part      20 first                    24 count  28 width
//	32  length of the payload          36 CRC-32 (IEEE) of the bytes before it and of the payload
//	40  payload
//
// The numbers from byte 8 on are uint32, little endian.
type Frame struct {
	Kind                Kind
	Row, Column, Part   uint32 // ranges, and a third number
	First, Count, Width uint32 // rows First to First+Count of range Row, with Width columns
	Payload             []byte // of a frame that was read: borrowed until the next is
}

// Place names a frame in errors.
func (f *Frame) Place() string {
	switch f.Kind {
	case KindArcs, KindSums:
		return fmt.Sprintf("%s of block %d,%d from row %d on", f.Kind, f.Row, f.Column, f.First)
	case KindJob, KindEnd, KindReport, KindModel, KindVerdicts, KindEdges:
		return f.Kind.String()
	}
	return fmt.Sprintf("%s of range %d from row %d on", f.Kind, f.Row, f.First)
}

// errFrame marks bytes that are no frame, or not the one that is due.
var errFrame = errors.New("bad frame")

// A Reader reads frames.
type Reader struct {
	in     io.Reader
	read   uint64 // frames
	header [headerBytes]byte
	frame  Frame
}

// NewReader reads frames from in, which should be buffered.
func NewReader(in io.Reader) *Reader { return &Reader{in: in} }

// Next returns the next frame, which is borrowed until the call after. At the end of the stream the error is io.EOF.
func (r *Reader) Next() (*Frame, error) {
	n, err := io.ReadFull(r.in, r.header[:])
	if n == 0 && errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%w: frame %d breaks off after %d bytes of its header", errFrame, r.read+1, n)
	}
	if err != nil {
		return nil, err
	}
	h := r.header[:]
	if string(h[:4]) != magic {
		return nil, fmt.Errorf("%w: frame %d begins with %q, want %q", errFrame, r.read+1, h[:4], magic)
	}
	if h[4] != Version {
		return nil, fmt.Errorf("%w: frame %d is of version %d, this program has version %d: use one version of "+
			"graphcleaner everywhere", errFrame, r.read+1, h[4], Version)
	}
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(h[at:]) }
	payload := r.frame.Payload
	r.frame = Frame{
		Kind: Kind(h[6]), Row: word(8), Column: word(12), Part: word(16), First: word(20), Count: word(24), Width: word(28),
	}
	f := &r.frame
	length := word(32)
	if length > mostPayload {
		return nil, fmt.Errorf("%w: %s (frame %d): %d bytes, want at most %d", errFrame, f.Place(), r.read+1, length,
			mostPayload)
	}
	if uint32(cap(payload)) < length {
		payload = make([]byte, length)
	}
	f.Payload = payload[:length]
	if _, err = io.ReadFull(r.in, f.Payload); err != nil {
		return nil, fmt.Errorf("%w: %s (frame %d) breaks off: %w", errFrame, f.Place(), r.read+1, io.ErrUnexpectedEOF)
	}
	if sum := crc32.Update(crc32.ChecksumIEEE(h[:sumAt]), crc32.IEEETable, f.Payload); sum != word(sumAt) {
		return nil, fmt.Errorf("%w: %s (frame %d): its checksum is %08x, want %08x: it was damaged on the way", errFrame,
			f.Place(), r.read+1,
			sum, word(sumAt))
	}
	r.read++
	return f, nil
}

// A Writer writes frames.
type Writer struct {
	out     io.Writer
	written uint32 // frames after the job
	header  [headerBytes]byte
}

// NewWriter writes frames to out, which should be buffered.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Write writes a frame. It keeps nothing of it.
func (w *Writer) Write(f *Frame) error {
	if len(f.Payload) > mostPayload {
		return fmt.Errorf("%s: %d bytes, want at most %d: use more blocks", f.Place(), len(f.Payload), mostPayload)
	}
	h := w.header[:]
	copy(h, magic)
	h[4], h[5], h[6], h[7] = Version, 0, byte(f.Kind), 0
	for i, x := range []uint32{f.Row, f.Column, f.Part, f.First, f.Count, f.Width, uint32(len(f.Payload))} {
		binary.LittleEndian.PutUint32(h[8+4*i:], x)
	}
	binary.LittleEndian.PutUint32(h[sumAt:], crc32.Update(crc32.ChecksumIEEE(h[:sumAt]), crc32.IEEETable, f.Payload))
	if _, err := w.out.Write(h); err != nil {
		return err
	}
	if f.Kind != KindJob {
		w.written++
	}
	_, err := w.out.Write(f.Payload)
	return err
}

// End writes the end frame.
func (w *Writer) End() error {
	return w.Write(&Frame{Kind: KindEnd, Count: w.written})
}
