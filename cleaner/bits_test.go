package cleaner

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestSameBitsOnEveryProcessor holds predictions of the built-in classifier, scores and suggestions of both
// presets to bits that were computed on an amd64 processor. A change to what is computed changes them: take over what
// the test says, and let .ci/long compare it with other processors.
func TestSameBitsOnEveryProcessor(t *testing.T) {
	for _, c := range []struct {
		by                method.Method
		features, brought bool
		want              uint64
	}{
		{nil, false, false, 0xad756ff0d9a611c0},
		{paper.Published, true, false, 0x38bee23f8d5c198d},
		{nil, true, true, 0x39e47b194253b2aa},
	} {
		t.Run(fmt.Sprintf("%T, features %v, predictions %v", c.by, c.features, c.brought), func(t *testing.T) {
			p := newPlanted(3, 90)
			s := p.load(t, !c.brought)
			if c.features {
				p.describe(t, s, 6)
			}
			mustClean(t, s, Options{Seed: 4, Method: c.by})
			sum := fnv.New64a()
			_, _ = sum.Write(append(bytesOf(t, s, PredictionsMatrix), outcome(t, s)...))
			if got := sum.Sum64(); got != c.want {
				t.Errorf("hash of predictions and outcome: got %#x, want %#x", got, c.want)
			}
		})
	}
}

// describe gives every node features that hint at its true class.
func (p plantedPartition) describe(t *testing.T, s *kv.Store, width int) {
	t.Helper()
	r, rows := rand.New(rand.NewPCG(1, 0)), make(map[string][]float32)
	for position, class := range p.truth {
		row := make([]float32, width)
		for j := range row {
			row[j] = r.Float32()
		}
		row[int(class[0])%width]++
		rows[p.nodes[position].ID] = row
	}
	putFeatures(t, s, width, rows)
}

// bytesOf are the numbers of a matrix, by node.
func bytesOf(t *testing.T, s *kv.Store, name string) (text []byte) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) (err error) {
		matrix := must.Get(tx.Matrix(name))(t)
		values := make([]float32, tx.NumNodes()*matrix.Width())
		must.Do(t, matrix.Read(kv.Range{End: kv.NodeID(tx.NumNodes())}, 0, matrix.Width(), values))
		text, err = binary.Append(nil, binary.LittleEndian, values)
		return err
	})
	return text
}
