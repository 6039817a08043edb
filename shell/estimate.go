package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// estimateCommand prints the cost of clean.
type estimateCommand struct {
	DB     string `arg:"" name:"DB" help:"Directory of the store."`
	Hops   int    `default:"3" placeholder:"K" help:"Hops over which agreement is measured, 1 to 5. Default: 3."`
	Preset string `enum:"default,paper" default:"default" help:"paper or default, as for clean."`
	importedUse
	Format string `enum:"table,json" default:"table" help:"table or json."`
	orientation
	resources
}

func (*estimateCommand) Help() string {
	return `Prints the plan that clean makes before it begins: the least memory, the room on the disk, and the price of the diagonals. It cleans nothing.

    graphcleaner estimate my.graph --memory 2GiB
    graphcleaner estimate my.graph --hops 4 --format json`
}

// An estimate is the cost of clean.
type estimate struct {
	Nodes     int     `json:"nodes"`
	Edges     int64   `json:"edges"`
	Classes   int     `json:"classes"`
	Plan      string  `json:"plan"`
	Steps     float64 `json:"diagonal_steps"`
	Store     int64   `json:"store_bytes"`
	Cleaned   int64   `json:"cleaned_store_bytes"`
	Temporary int64   `json:"temporary_bytes"`
	Memory    int64   `json:"memory_bytes"`
	Least     int64   `json:"least_memory_bytes"`
	Refused   string  `json:"refused,omitempty"` // why clean would not begin
	Fits      bool    `json:"fits"`
}

func (c *estimateCommand) Run(ctx context.Context, s *streams) error {
	if err := cmp.Or(c.apply(s), checkHops(c.Hops)); err != nil {
		return err
	}
	e := &estimate{Memory: int64(c.Memory)}
	err := c.readStore(s, c.DB, func(store *kv.Store) error {
		if err := c.checkDirection(store); err != nil {
			return err
		}
		return store.View(func(tx *kv.Tx) error {
			of, err := cleaner.EstimateClean(ctx, tx, cleaner.Options{
				Preset: cleaner.Preset(c.Preset), Hops: c.Hops, Direction: c.Direction, Imported: c.imported(), Workers: c.Threads, MemoryBudget: c.work(),
			})
			if err != nil {
				return err
			}
			return e.fill(store, of)
		})
	})
	if small, ok := errors.AsType[*ops.BudgetError](err); ok {
		e.Least, e.Refused, err = leastMemoryFor(small.Least), wording.Plain(c.inFlags(err)), nil
	}
	if err != nil {
		return wording.Advise(err)
	}
	e.Fits = e.Refused == ""
	s.progress.clear()
	if c.Format == "json" {
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(e)
	}
	return e.print(s)
}

// fill takes over the plan of a cleaning of a store.
func (e *estimate) fill(store *kv.Store, of *cleaner.CleanEstimate) (err error) {
	e.Nodes, e.Edges, e.Classes, e.Steps = of.Nodes, of.Edges, of.Classes, of.Steps
	e.Temporary, e.Least = of.TemporaryBytes, leastMemoryFor(of.LeastBytes)
	if e.Store, err = kv.DiskBytes(store.Dir()); err != nil {
		return err
	}
	e.Cleaned = e.Store + of.StoreBytes
	where := "tiles in memory"
	if of.Plan.OnDisk {
		where = "tile streamed"
	}
	if of.Plan.Stripes > 1 {
		where = "tile in stripes"
	}
	e.Plan = fmt.Sprintf("%s; width %d, %d tiles, %d stripes, %d workers", where, of.Plan.Width, of.Plan.Tiles, of.Plan.Stripes, of.Plan.Workers)
	room := store.CheckRoom(of.RoomBytes)
	switch {
	case of.Refusal != nil:
		e.Refused = wording.Advise(of.Refusal).Error()
	case errors.Is(room, kv.ErrNoSpace):
		e.Refused = wording.Plain(room)
	default:
		return room
	}
	return nil
}

// print writes the estimate for reading.
func (e *estimate) print(s *streams) error {
	var b strings.Builder
	if e.Plan != "" {
		fmt.Fprintf(&b, "%d nodes, %d edges, %s\n\n", e.Nodes, e.Edges, wording.Count(e.Classes, "class", "classes"))
		fmt.Fprintf(&b, "plan         %s\ndiagonals    %.3g steps\n", e.Plan, e.Steps)
		fmt.Fprintf(&b, "store        %s, after clean %s\n", byteSize(e.Store), byteSize(e.Cleaned))
		fmt.Fprintf(&b, "temporary    %s on disk\n", byteSize(e.Temporary))
	}
	verdict := "fits"
	if !e.Fits {
		verdict = "clean refuses: " + e.Refused
	}
	fmt.Fprintf(&b, "memory       %s, want at least %s\n%s\n", byteSize(e.Memory), byteSize(e.Least), verdict)
	_, err := s.out.Write([]byte(b.String()))
	return err
}
