package worker

// strengthStep adds the row sums of a chunk.
type strengthStep struct {
	base
	chunk chunk
}

func newStrength(b base) (step, error) {
	s := &strengthStep{base: b, chunk: chunk{job: b.Job}}
	s.chunk.reset()
	return s, nil
}

func (s *strengthStep) take(f *Frame) error {
	switch f.Kind {
	case KindLabels, KindSums:
		return s.chunk.take(f, 1)
	}
	return s.unexpected(f)
}

func (s *strengthStep) endGroup() error {
	c := &s.chunk
	if !c.begun {
		return nil
	}
	if err := c.need(KindLabels); err != nil {
		return err
	}
	if err := c.ensureSums(1); err != nil {
		return err
	}
	memory, width := appendStrengths(s.memory[:0], c.sums.values)
	s.memory = memory
	f := c.frame(KindStrength, width)
	c.reset()
	return s.write(f)
}
