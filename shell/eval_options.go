package shell

import (
	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
)

// evaluationOptions are what the json of an evaluation says of how to repeat it: the flags that change its results. Memory
// and threads do not.
type evaluationOptions struct {
	Graph    string   `json:"graph,omitempty"` // or files
	Nodes    string   `json:"nodes,omitempty"`
	Edges    string   `json:"edges,omitempty"`
	Features string   `json:"features,omitempty"`
	Classes  []string `json:"classes,omitempty"`
	Directed bool     `json:"directed,omitempty"`

	Trim       bool     `json:"trim,omitempty"`
	NFC        bool     `json:"nfc,omitempty"`
	Unlabelled []string `json:"unlabelled,omitempty"`

	Noise       string   `json:"noise"`
	Split       string   `json:"split"` // as --split takes it; stored: the column of the graph; file:F: --splits F
	Predictions []string `json:"predictions,omitempty"`
	Columns     []string `json:"prediction_classes,omitempty"`
	Logits      bool     `json:"logits,omitempty"`
	Repeats     int      `json:"repeats"`
	Seed        uint64   `json:"seed"`
	Methods     []string `json:"methods"`
	Hops        int      `json:"hops"`
	Direction   string   `json:"direction"`
	Threshold   *float64 `json:"threshold"` // nil: that of each method
	Expect      *float64 `json:"expect"`    // nil: the mislabel rate is estimated
}

// optionsOf are the flags, before a file of splits becomes a column of the graph.
func (c *evalCommand) optionsOf(opt cleaner.EvalOptions) *evaluationOptions {
	options := &evaluationOptions{
		Graph: c.DB, Nodes: files.Names(c.Nodes).String(), Edges: files.Names(c.Edges).String(), Features: c.Features,
		Classes: c.Classes, Directed: c.Directed,
		Trim: c.Trim, NFC: c.NFC, Unlabelled: c.Unlabelled,
		Noise: c.Noise, Split: c.Split, Columns: c.PredictionClasses, Logits: c.Logits, Repeats: opt.Repeats,
		Seed: opt.Seed, Hops: opt.Hops, Direction: opt.Direction.String(), Threshold: c.Threshold, Expect: c.Expect,
	}
	if c.Splits != "" {
		options.Split = "file:" + c.Splits
	}
	if count := len(c.Predictions); count > 0 {
		options.Repeats = count
	}
	options.Predictions = append(options.Predictions, c.Predictions...)
	return options
}

// complete adds what follows from the graph, and from its evaluation.
func (o *evaluationOptions) complete(tx *kv.Tx, evaluation *cleaner.Evaluation) {
	if o.Split == "" {
		o.Split = defaultSplit
		if _, stored := tx.Column("split"); stored {
			o.Split = "stored"
		}
	}
	for _, method := range evaluation.Methods {
		o.Methods = append(o.Methods, method.Name)
	}
}
