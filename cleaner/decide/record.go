package decide

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/kv"
)

// The history is the kv.Space "history", of which no entry is ever changed or deleted. It holds two sorts of records:
//
//	'D' seq       an entry
//	'N' node seq  nothing: entry seq is about the node
//
// seq in 8 bytes, node in 4, big endian. An entry is, after a byte for the form, 4,
//
//	step, place, time, node, kind, before, after, disputed, run, undoes   varints
//	score                                                                          8 bytes, little-endian IEEE 754
//	id, from, to, label, who, why                                                  a varint for the length, and the bytes
//
// place is counted from 0 in the step, and times are microseconds since 1970. disputed is 1 if the node was disputed
// before, plus 2 if it is after.
// The id is there so that a history can be read by itself. The label is that after the entry: to, unless the node is
// disputed or the person was outvoted. An entry that Repair has marked as lost is the byte 0 alone, and has no node.
const (
	historySpace = "history"

	entryTag = 'D'
	nodeTag  = 'N'

	lostForm    = 0
	historyForm = 4
)

// errLost is the error of an entry that is marked as lost. It is a kv.ErrCorrupt.
var errLost = fmt.Errorf("%w: it was lost", kv.ErrCorrupt)

// Bits of the number disputed.
const (
	bitWasDisputed = 1 << iota
	bitDisputed
)

// A historyRecord is an entry with its place in its step.
type historyRecord struct {
	Decision
	place int64
}

func entryKey(seq int64) []byte { return binary.BigEndian.AppendUint64([]byte{entryTag}, uint64(seq)) }

// nodeEntries is where the entries of a node begin.
func nodeEntries(v kv.NodeID) []byte {
	return binary.BigEndian.AppendUint32([]byte{nodeTag}, uint32(v))
}

func nodeKey(v kv.NodeID, seq int64) []byte {
	return binary.BigEndian.AppendUint64(nodeEntries(v), uint64(seq))
}

// parseNodeKey is the inverse of nodeKey; false if key is none.
func parseNodeKey(key []byte) (v kv.NodeID, seq int64, ok bool) {
	if len(key) != 1+4+8 || key[0] != nodeTag {
		return 0, 0, false
	}
	return kv.NodeID(binary.BigEndian.Uint32(key[1:])), int64(binary.BigEndian.Uint64(key[5:])), true
}

// append adds the record to b.
func (d *historyRecord) append(b []byte) []byte {
	bits := int64(0)
	if d.WasDisputed {
		bits |= bitWasDisputed
	}
	if d.Disputed {
		bits |= bitDisputed
	}
	b = append(b, historyForm)
	for _, x := range [...]int64{
		d.Step, d.place, d.Time.UnixMicro(), int64(d.Node), int64(d.Kind), int64(d.Before), int64(d.After), bits, d.Run,
		d.Undoes,
	} {
		b = binary.AppendVarint(b, x)
	}
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(d.Score))
	for _, text := range [...]string{d.ID, d.From, d.To, d.Label, d.Who, d.Why} {
		b = append(binary.AppendVarint(b, int64(len(text))), text...)
	}
	return b
}

// parseDecision reads the record of entry seq; kv.ErrCorrupt where it is none. Of a lost one only Seq is there.
func parseDecision(seq int64, b []byte) (d historyRecord, err error) {
	d.Seq = seq
	if len(b) == 1 && b[0] == lostForm {
		return d, fmt.Errorf("history entry %d: %w", seq, errLost)
	}
	if len(b) == 0 || b[0] != historyForm {
		return d, corruptEntry(seq, "it has another form")
	}
	r := recordReader{b: b[1:]}
	var made, node, kind, before, after, bits int64
	for _, x := range [...]*int64{
		&d.Step, &d.place, &made, &node, &kind, &before, &after, &bits, &d.Run, &d.Undoes,
	} {
		*x = r.number()
	}
	if score := r.take(8); score != nil {
		d.Score = math.Float64frombits(binary.LittleEndian.Uint64(score))
	}
	for _, text := range [...]*string{&d.ID, &d.From, &d.To, &d.Label, &d.Who, &d.Why} {
		*text = string(r.take(r.number()))
		r.failed = r.failed || !utf8.ValidString(*text)
	}
	isKind := func(k int64) bool { return k >= int64(None) && k <= int64(Unsure) }
	switch {
	case r.failed || len(r.b) > 0:
		return d, corruptEntry(seq, "it has another length")
	case node < 0 || node >= int64(kv.NoNode):
		return d, corruptEntry(seq, "it is about no node")
	case !isKind(kind) || kind == int64(None) || !isKind(before) || !isKind(after):
		return d, corruptEntry(seq, "it is no decision")
	case d.Step < 1 || d.place < 0 || d.place >= seq || d.Undoes < 0 || d.Undoes >= seq:
		return d, corruptEntry(seq, "it contradicts its place in the history")
	}
	d.Time = time.UnixMicro(made).UTC()
	d.Node, d.Kind, d.Before, d.After = kv.NodeID(node), Kind(kind), Kind(before), Kind(after)
	d.WasDisputed, d.Disputed = bits&bitWasDisputed != 0, bits&bitDisputed != 0
	return d, nil
}

func corruptEntry(seq int64, what string) error {
	return fmt.Errorf("history entry %d: %w: %s", seq, kv.ErrCorrupt, what)
}

// A recordReader takes a record apart. A field that is not there is zero, and sets failed.
type recordReader struct {
	b      []byte
	failed bool
}

// take is the next n bytes.
func (r *recordReader) take(n int64) []byte {
	if r.failed || n < 0 || n > int64(len(r.b)) {
		r.failed = true
		return nil
	}
	head := r.b[:n]
	r.b = r.b[n:]
	return head
}

// number is the next varint.
func (r *recordReader) number() int64 {
	x, n := binary.Varint(r.b)
	if n <= 0 {
		r.failed = true
		return 0
	}
	r.b = r.b[n:]
	return x
}

// readDecision reads entry seq, which must be there.
func readDecision(tx *kv.Tx, seq int64) (historyRecord, error) {
	body, err := tx.Space(historySpace).Get(entryKey(seq))
	if errors.Is(err, kv.ErrNotFound) {
		return historyRecord{}, corruptEntry(seq, "it is missing")
	}
	if err != nil {
		return historyRecord{}, fmt.Errorf("history entry %d: %w", seq, err)
	}
	return parseDecision(seq, body)
}

// Newest returns the number of the newest entry; 0 if there is none.
func Newest(tx *kv.Tx) (seq int64, err error) {
	last, err := lastDecision(tx)
	return last.Seq, err
}

// lastDecision is the newest entry; zero if there is none. If it is lost, all but Seq are those of the one before.
func lastDecision(tx *kv.Tx) (last historyRecord, err error) {
	newest := int64(0)
	for e, err := range tx.Space(historySpace).Descend(entryKey(math.MaxInt64)) {
		if err != nil {
			return last, fmt.Errorf("history: %w", err)
		}
		seq, err := parseEntryKey(e.Key)
		if err != nil {
			return last, err
		}
		newest = max(newest, seq)
		if last, err = parseDecision(seq, e.Value); !errors.Is(err, errLost) {
			last.Seq = newest
			return last, err
		}
	}
	last.Seq = newest
	return last, nil
}

// parseEntryKey is the inverse of entryKey.
func parseEntryKey(key []byte) (seq int64, err error) {
	if len(key) != 1+8 || key[0] != entryTag {
		return 0, fmt.Errorf("history: %w: an entry under %x", kv.ErrCorrupt, key)
	}
	seq = int64(binary.BigEndian.Uint64(key[1:]))
	if seq < 1 {
		return 0, fmt.Errorf("history: %w: an entry under number %d", kv.ErrCorrupt, seq)
	}
	return seq, nil
}
