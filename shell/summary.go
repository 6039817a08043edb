package shell

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/graphcleaner/graphcleaner/shell/print"
)

// summaryFormat is the flag of commands that say in the end what they did.
type summaryFormat struct {
	Format string `enum:"text,json" default:"text" help:"What standard output says in the end. text: for people. json: one object."`
}

func (f summaryFormat) json() bool { return f.Format == "json" }

// writeJSON writes a summary as one line of JSON to standard output.
func (s *streams) writeJSON(summary any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(summary); err != nil {
		panic(err) // summaries have only what JSON has
	}
	line := text.String()
	if print.IsTerminal(s.out) {
		line = print.EscapeLines(line)
	}
	_, err := s.out.Write([]byte(line))
	return err
}

// finite is a number for JSON, which has none for NaN and the infinities: they are null.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// mostListed bounds the lists of a summary. The count beside a list is that of all.
const mostListed = 1000
