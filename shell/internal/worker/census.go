package worker

import (
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/kv"
)

// censusStep counts the labels of all nodes, by position, and draws what is drawn.
type censusStep struct {
	base
	labels      []kv.Class
	splits      []cleaner.Split
	unpredicted kv.NodeSet
	verdicts    []cleaner.Verdict
}

// censusBytes is the memory of nodes. Drawing splits takes a list of nodes, and leaving out nodes without predictions
// takes a copy of the labels.
func censusBytes(nodes int64, drawn, lacks bool) int64 {
	need := 6*nodes + nodes/4
	if drawn {
		need += 4 * nodes
	}
	if lacks {
		need += 4 * nodes
	}
	return need
}

// fits returns an error if the nodes take more than the memory.
func (b *base) fits(lacks bool) error {
	if need := censusBytes(int64(b.nodes()), b.Drawn, lacks); need > b.Memory {
		return fmt.Errorf("the labels of %d nodes take %d bytes, more than the memory of %d: this one task needs more",
			b.nodes(), need, b.Memory)
	}
	return nil
}

func newCensus(b base) (step, error) {
	if err := b.fits(false); err != nil {
		return nil, err
	}
	if len(b.Names) != b.Classes {
		return nil, fmt.Errorf("%w: %d names of %d classes", errFrame, len(b.Names), b.Classes)
	}
	nodes := int(b.nodes())
	return &censusStep{
		// Slices that grow would be there twice.
		base: b, labels: make([]kv.Class, 0, nodes), splits: make([]cleaner.Split, 0, nodes),
		unpredicted: bitset.New[kv.NodeID](nodes),
	}, nil
}

func (s *censusStep) take(f *Frame) (err error) {
	switch f.Kind {
	case KindVerdicts:
		return s.takeVerdicts(f)
	case KindLabels:
		if err := s.follows(f, len(s.labels)); err != nil {
			return err
		}
		s.labels, err = classesOf(s.labels, f, s.Classes)
		return err
	case KindSplits:
		if err := s.follows(f, len(s.splits)); err != nil {
			return err
		}
		s.splits, err = splitsOf(s.splits, f, func(at int) { s.unpredicted.Add(kv.NodeID(at)) })
		return err
	}
	return s.unexpected(f)
}

// follows returns an error if a frame does not follow those before it.
func (s *censusStep) follows(f *Frame, has int) error {
	if int64(f.First) != int64(has) || uint64(f.First)+uint64(f.Count) > s.nodes() {
		return fmt.Errorf("%w: %s: %d rows, after %d of %d", errFrame, f.Place(), f.Count, has, s.nodes())
	}
	return nil
}

func (s *censusStep) takeVerdicts(f *Frame) error {
	var all []cleaner.Verdict
	if err := decode(f.Place(), f.Payload, &all); err != nil {
		return err
	}
	for _, v := range all {
		if uint64(v.Node) >= s.nodes() || v.Before < 0 || int(v.Before) >= s.Classes || v.Now < kv.NoClass ||
			int(v.Now) >= s.Classes {
			return fmt.Errorf("%w: verdict on the node at position %d, from class %d to %d: want positions below %d and "+
				"classes below %d", errFrame, v.Node,
				v.Before, v.Now, s.nodes(), s.Classes)
		}
	}
	s.verdicts = append(s.verdicts, all...)
	return nil
}

// positionRows is how many positions a frame has.
const positionRows = 1 << 20

func (s *censusStep) end() error {
	if uint64(len(s.labels)) != s.nodes() || uint64(len(s.splits)) != s.nodes() {
		return fmt.Errorf("%w: labels of %d nodes and splits of %d, want those of %d", errFrame, len(s.labels),
			len(s.splits), s.nodes())
	}
	if err := s.fits(s.unpredicted.Len() > 0); err != nil {
		return err
	}
	in := cleaner.CensusInput{
		Names: s.Names, Labels: s.labels, Splits: s.splits, Unpredicted: s.unpredicted, Verdicts: s.verdicts, Seed: s.Seed,
	}
	if s.Drawn {
		in.Splits = nil
	}
	census, splits, sample, err := cleaner.TakeCensus(in)
	if err != nil {
		return err
	}
	for first := 0; first < len(splits); first += positionRows {
		part := splits[first:min(first+positionRows, len(splits))]
		s.memory = s.memory[:0]
		for i, split := range part {
			b := byte(split)
			if s.unpredicted.Has(kv.NodeID(first + i)) {
				b |= unpredicted
			}
			s.memory = append(s.memory, b)
		}
		if err := s.write(Frame{Kind: KindSplits, First: uint32(first), Count: uint32(len(part))}); err != nil {
			return err
		}
	}
	for members := sample; len(members) > 0; {
		part := members[:min(positionRows, len(members))]
		members = members[len(part):]
		positions := make([]uint32, len(part))
		for i, m := range part {
			positions[i] = uint32(m.Node)
		}
		s.memory = appendVector(s.memory[:0], positions)
		if err := s.write(Frame{Kind: KindMembers, First: positions[0], Count: uint32(len(part))}); err != nil {
			return err
		}
	}
	drawn := func(m cleaner.Member) bool { return m.Truth == kv.NoClass && !m.Added }
	return s.report(censusReport{census, slices.DeleteFunc(sample, drawn)})
}

// A censusReport is the report of census, and the census of later jobs.
type censusReport struct {
	Census   *cleaner.Census  `json:"census"`
	Verdicts []cleaner.Member `json:"verdicts"` // of whom people said something, by position
}

// readCensus is the census of a job.
func (j *Job) readCensus() (report censusReport, err error) {
	if err := decode("the census of the job", j.Census, &report); err != nil {
		return report, err
	}
	if report.Census == nil {
		return report, fmt.Errorf("%w: the job has no census", errFrame)
	}
	if len(report.Census.Names) != j.Classes {
		return report, fmt.Errorf("%w: the census has %d classes, the job %d", errFrame, len(report.Census.Names), j.Classes)
	}
	return report, nil
}
