package shell

import (
	"strconv"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/internal/report"
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

// graphName says what is evaluated.
func (c *evalCommand) graphName() string {
	switch {
	case c.DB != "":
		return c.record.Graph
	case c.Features != "":
		return files.Names(c.Nodes).String() + ", " + files.Names(c.Edges).String() + ", " + c.Features
	}
	return files.Names(c.Nodes).String() + ", " + files.Names(c.Edges).String()
}

// optionFacts are the options of the evaluation.
func (c *evalCommand) optionFacts(opt cleaner.EvalOptions, split string) (facts []report.Fact) {
	add := func(name, value string) { facts = append(facts, report.Fact{Name: name, Value: value}) }
	add("graph", c.graphName())
	add("noise", c.record.Noise)
	add("split", split)
	for _, file := range c.record.Predictions {
		add("predictions", file)
	}
	if len(c.Predictions) == 0 {
		add("repeats", strconv.Itoa(opt.Repeats))
	}
	add("seed", strconv.FormatUint(opt.Seed, 10))
	add("hops", strconv.Itoa(opt.Hops))
	add("direction", opt.Direction.String())
	add("threshold", thresholdText(opt.Threshold))
	return facts
}

// thresholdText is a threshold that was asked for.
func thresholdText(threshold float64) string {
	if threshold == 0 {
		return "of each preset"
	}
	return strconv.FormatFloat(threshold, 'g', -1, 64)
}
