package worker

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A chunkPlace is a range and the first row of a chunk.
type chunkPlace [2]uint32

// A sampleChunk has the data received about the members of the sample in a chunk. All rows are in one order.
type sampleChunk struct {
	labels []kv.Class
	rows   []uint32    // local
	values [][]float32 // [K+1]: of each feature [rows×c]; nil: has not come
}

// fitStep fits the label model to the sample.
type fitStep struct {
	base
	chunks map[chunkPlace]*sampleChunk
	held   int64 // bytes
}

// sampleFrameBytes is the size of a frame of the sample beside its payload, about.
const sampleFrameBytes = 256

func newFit(b base) (step, error) {
	return &fitStep{base: b, chunks: map[chunkPlace]*sampleChunk{}}, nil
}

func (s *fitStep) take(f *Frame) (err error) {
	at := chunkPlace{f.Row, f.First}
	if _, err := s.rangeRows(f.Row); err != nil {
		return fmt.Errorf("%s: %w", f.Place(), err)
	}
	c := s.chunks[at]
	if c == nil {
		c = &sampleChunk{values: make([][]float32, s.Hops+1)}
		s.chunks[at] = c
	}
	if s.held += int64(len(f.Payload)) + sampleFrameBytes; s.held > s.Memory {
		return fmt.Errorf("the sample takes more than the memory of %d bytes: use more memory", s.Memory)
	}
	switch f.Kind {
	case KindLabels:
		c.labels, err = classesOf(nil, f, s.Classes)
		return err
	case KindSample:
		return s.takeSample(f, c)
	}
	return s.unexpected(f)
}

func (s *fitStep) takeSample(f *Frame, c *sampleChunk) error {
	if int64(f.Part) >= int64(len(c.values)) {
		return fmt.Errorf("%w: %s: feature %d of %d", errFrame, f.Place(), f.Part, len(c.values))
	}
	rows, rest := vector[uint32](nil, f.Payload, int(f.Count))
	if c.rows != nil && !slices.Equal(c.rows, rows) {
		return fmt.Errorf("%w: %s: its members are not those of the other frames of the chunk", errFrame, f.Place())
	}
	c.rows = rows
	c.values[f.Part], _ = vector[float32](nil, rest, int(f.Count)*s.Classes)
	return nil
}

// input is the input of the fit, members by range and row.
func (s *fitStep) input() (in cleaner.FitInput, err error) {
	report, err := s.readCensus()
	if err != nil {
		return in, err
	}
	var neighbors *cleaner.NeighborCounts
	if err := decode("neighbors of the job", s.Neighbors, &neighbors); err != nil {
		return in, err
	}
	if neighbors == nil {
		return in, fmt.Errorf("%w: the job has no counts of neighbours", errFrame)
	}
	in = cleaner.FitInput{Census: report.Census, Hops: s.Hops, Neighbors: neighbors, Expect: s.Expect}
	verdicts := map[kv.NodeID]cleaner.Member{}
	for _, m := range s.Verdicts {
		verdicts[m.Node] = m
	}
	places := slices.SortedFunc(maps.Keys(s.chunks), func(a, b chunkPlace) int { return slices.Compare(a[:], b[:]) })
	for _, at := range places {
		c := s.chunks[at]
		if len(c.rows) == 0 || len(c.labels) != len(c.rows) {
			return in, fmt.Errorf("%w: range %d from row %d on: %d members of the sample, %d labels", errFrame, at[0], at[1],
				len(c.rows), len(c.labels))
		}
		for i, row := range c.rows {
			m := cleaner.Member{Node: kv.NodeID(s.Ranges[at[0]] + uint64(row)), Label: c.labels[i], Truth: kv.NoClass}
			if v, ok := verdicts[m.Node]; ok {
				m = v
			}
			in.Members = append(in.Members, m)
			for k := range s.Classes {
				for feature, values := range c.values {
					if values == nil {
						return in, fmt.Errorf("%w: range %d from row %d on: feature %d of the sample is missing", errFrame, at[0],
							at[1], feature)
					}
					in.Z = append(in.Z, values[i*s.Classes+k])
				}
			}
		}
	}
	return in, nil
}

func (s *fitStep) end() error {
	in, err := s.input()
	if err != nil {
		return err
	}
	model, err := cleaner.FitModel(s.ctx, in)
	if err != nil {
		return err
	}
	text, err := json.Marshal(model)
	if err != nil {
		return err
	}
	s.memory = text
	if err := s.write(Frame{Kind: KindModel}); err != nil {
		return err
	}
	return s.report(struct { // what the other program needs of the model
		Rate      float64  `json:"rate"`
		Threshold float64  `json:"threshold"`
		Reach     int      `json:"reach"` // score reads features 0 to Reach
		Warnings  []string `json:"warnings"`
	}{model.Model.Told, model.Model.Threshold, model.Reach(), model.Warnings})
}
