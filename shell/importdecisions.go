package shell

import (
	"context"
	"fmt"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// adopt decides in the store that is there as a file says.
func (c *importCommand) adopt(ctx context.Context, s *streams) error {
	if err := c.Columns.of.Only(files.FiledFields()...); err != nil {
		return usagef("import: --columns: %v", err)
	}
	if c.graphFiles.any() || c.Replace {
		return usagef("import: --decisions go into a store that is there, and alone: import the rest before")
	}
	var adoption files.Adoption
	err := c.use(s, c.DB, toWrite, func(store *kv.Store) (err error) {
		adoption, err = files.Adopt(ctx, store, c.Decisions,
			files.Adopting{Job: c.of(s.job(0, c.work())), Who: query.UserName(), Form: c.form()})
		s.stages.end("decide")
		return err
	})
	if err != nil {
		return leaving(c.inFlags(err), "%s is as it was", c.DB)
	}
	err = s.printDone(c.DB, "%s taken in %s, %d were there", wording.Count(adoption.Count, "decision", "decisions"),
		wording.Count(adoption.Steps, "step", "steps"), adoption.There)
	s.sayLeftOut(adoption.Older, "older than what the store has decided itself")
	s.sayLeftOut(adoption.Other, "about another label or suggestion than the store has")
	return err
}

// sayLeftOut says which decisions of a file were not taken, and why.
func (s *streams) sayLeftOut(l files.LeftOut, why string) {
	if l.Count == 0 {
		return
	}
	more := ""
	if l.Count > len(l.Some) {
		more = fmt.Sprintf(" and %d more", l.Count-len(l.Some))
	}
	s.say("%d left out, %s: %s%s", l.Count, why, strings.Join(l.Some, ", "), more)
}
