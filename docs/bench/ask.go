package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// askCommand times a statement, from its text to the last value of the last row.
type askCommand struct {
	storeFlags
	Statement string `arg:"" help:"A statement, such as 'suspects where score>0.97'."`
	Repeats   int    `default:"1" help:"How many times it is asked of the open store."`
	Digest    bool   `help:"Ask once more, untimed, and print the SHA-256 of all values in their order: texts with their length, numbers as 64-bit floats."`
}

func (*askCommand) Help() string {
	return `The first answer is from a store that this process has just opened; what it reads is in the page cache or, ` +
		`behind "bench evict", is not. Every value of every row is looked at.`
}

// An askReport has milliseconds; the lists have one number for each repetition.
type askReport struct {
	Statement string    `json:"statement"`
	OpenMS    float64   `json:"open_ms"`
	FirstMS   []float64 `json:"first_ms"` // until the first row is there
	AllMS     []float64 `json:"all_ms"`
	Rows      int       `json:"rows"`
	Checksum  float64   `json:"checksum"` // of the numbers in the answer, so that answers can be compared
	Digest    string    `json:"digest,omitempty"`
}

func (c *askCommand) Run(ctx context.Context, out io.Writer) (err error) {
	if c.Repeats < 1 {
		return fmt.Errorf("--repeats %d: want 1 or more", c.Repeats)
	}
	report := &askReport{Statement: c.Statement}
	began := time.Now()
	store, err := index.Open(c.DB, kv.Options{MemoryBudget: int64(c.Memory), ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	report.OpenMS = milliseconds(began)
	for range c.Repeats {
		if err := report.ask(ctx, store, c.Memory); err != nil {
			return err
		}
	}
	if c.Digest {
		if report.Digest, err = report.digest(ctx, store, c.Memory); err != nil {
			return err
		}
	}
	return printJSON(out, report)
}

// ask asks once.
func (r *askReport) ask(ctx context.Context, store *kv.Store, memory byteSize) error {
	began := time.Now()
	tx := store.Begin()
	defer tx.Close()
	answer, err := query.Query(ctx, tx, query.Options{MemoryBudget: int64(memory)}, r.Statement)
	if err != nil {
		return err
	}
	r.Rows, r.Checksum = 0, 0
	for row, err := range answer.Rows() {
		if err != nil {
			return err
		}
		if r.Rows++; r.Rows == 1 {
			r.FirstMS = append(r.FirstMS, milliseconds(began))
		}
		for _, value := range row {
			if kind := value.Kind(); kind == kv.KindInt || kind == kv.KindFloat {
				r.Checksum += value.Float()
			}
		}
	}
	r.AllMS = append(r.AllMS, milliseconds(began))
	return nil
}

// digest asks once more, and sums up every value. queries.py does the same of its answers.
func (r *askReport) digest(ctx context.Context, store *kv.Store, memory byteSize) (string, error) {
	tx := store.Begin()
	defer tx.Close()
	answer, err := query.Query(ctx, tx, query.Options{MemoryBudget: int64(memory)}, r.Statement)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	var b []byte
	for row, err := range answer.Rows() {
		if err != nil {
			return "", err
		}
		b = b[:0]
		for _, value := range row {
			switch value.Kind() {
			case kv.KindInt, kv.KindFloat:
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(value.Float()))
			default:
				b = binary.LittleEndian.AppendUint32(b, uint32(len(value.String())))
				b = append(b, value.String()...)
			}
		}
		sum.Write(b)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func milliseconds(since time.Time) float64 { return 1e3 * time.Since(since).Seconds() }
