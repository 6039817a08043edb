package ops

// A Series is a graph on which operators run one after another. Its degrees are read once for all of them. If it is
// simple, and ComputeDiagonals or Propagate keep its decoded lists, those that follow find them. An operator whose
// budget has no room for the lists drops them. Between two operators the Series holds 4 bytes a node, and the lists.
//
// The caller closes it. Its methods are those of the Graph: what else the graph can do does not show.
type Series struct {
	Graph

	walker *walker // nil before the first operator
	survey *survey
}

// NewSeries makes a Series of a graph, which must not be directed or weighted.
func NewSeries(g Graph) *Series { return &Series{Graph: g} }

// Limit drops the lists if they and the degrees take more than so many bytes, for work that needs the room.
func (s *Series) Limit(bytes int64) error {
	if s.walker == nil || s.walker.lists == nil {
		return nil
	}
	if sizes := &s.survey.Sizes; sizes.scaleBytes()*int64(sizes.Nodes)+sizes.keptBytes() <= bytes {
		return nil
	}
	return s.walker.drop()
}

// Close gives the memory back. Closing twice is harmless.
func (s *Series) Close() error {
	if s.walker == nil {
		return nil
	}
	w := s.walker
	s.walker, s.survey = nil, nil
	return w.drop()
}
