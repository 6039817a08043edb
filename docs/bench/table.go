package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// tableCommand summarises the measurements of compare.sh.
type tableCommand struct {
	Results string `arg:"" type:"existingfile" help:"The results.jsonl of compare.sh."`
}

// A resultLine is a measurement of a program, or a fact about the graph or the machine with no measurement around it.
type resultLine struct {
	measurement
	Skipped string `json:"skipped"` // why a part was not measured
	result  resultFields
}

// resultFields are the fields that the table reads of the json objects that the programs write.
type resultFields struct {
	Seconds float64        `json:"seconds"`
	Version string         `json:"version"`
	Stages  []stageSeconds `json:"stages"` // graphcleaner --stats
	Edges   int64          `json:"edges"`  // rmat
	Bytes   float64        `json:"bytes_per_entry"`
	Issues  int64          `json:"issues"`
}

// stageSeconds is the part of a stage of --stats that is summed.
type stageSeconds struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// A tableRow compares one thing.
type tableRow struct{ what, graph, ours, theirs, ratio string }

func (c *tableCommand) Run(out io.Writer) (err error) {
	file, err := os.Open(c.Results)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	results, err := readResults(file)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Results, err)
	}
	return results.write(out)
}

type results []resultLine

func readResults(in io.Reader) (results, error) {
	var all results
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 16<<20)
	for number := 1; scan.Scan(); number++ {
		var line resultLine
		err := json.Unmarshal(scan.Bytes(), &line)
		if err == nil && len(line.Result) > 0 {
			err = json.Unmarshal(line.Result, &line.result)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		all = append(all, line)
	}
	return all, scan.Err()
}

// of are the lines with these tags, given as name and value in turn.
func (r results) of(tags ...string) results {
	var found results
	for _, line := range r {
		same := true
		for i := 0; i < len(tags); i += 2 {
			same = same && line.Tags[tags[i]] == tags[i+1]
		}
		if same {
			found = append(found, line)
		}
	}
	return found
}

// values are the values of f for each line that ended well.
func (r results) values(f func(*resultLine) float64) []float64 {
	var values []float64
	for i := range r {
		if r[i].ExitCode == 0 {
			values = append(values, f(&r[i]))
		}
	}
	return values
}

func wallSeconds(l *resultLine) float64   { return l.Seconds }
func statedSeconds(l *resultLine) float64 { return l.result.Seconds }

// peakMemory is the peak of anonymous memory in bytes, once for pages that processes share where that is known.
func peakMemory(l *resultLine) float64 {
	if l.PeakGroupAnonymous > 0 {
		return float64(l.PeakGroupAnonymous)
	}
	return float64(l.PeakAnonymousBytes)
}

// stages sums the seconds of the stages whose name begins with one of the prefixes.
func stages(prefixes ...string) func(*resultLine) float64 {
	return func(l *resultLine) float64 {
		sum := 0.0
		for _, stage := range l.result.Stages {
			if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(stage.Name, p) }) {
				sum += stage.Seconds
			}
		}
		return sum
	}
}

// graphs are the scales and classes of a part, in the order of their first line.
func (r results) graphs() [][2]string {
	var graphs [][2]string
	for _, line := range r {
		graph := [2]string{line.Tags["scale"], line.Tags["classes"]}
		if graph[0] != "" && !slices.Contains(graphs, graph) {
			graphs = append(graphs, graph)
		}
	}
	return graphs
}

func (r results) write(out io.Writer) error {
	var rows []tableRow
	var notes []string
	for _, part := range []func() []tableRow{r.importRows, r.propagateRows, r.cleanlabRows} {
		rows = append(rows, part()...)
	}
	versions := map[string]string{}
	for _, line := range r {
		if line.Skipped != "" {
			notes = append(notes, fmt.Sprintf("Not measured: %s: %s.", line.Tags["part"], line.Skipped))
		}
		if line.ExitCode != 0 {
			notes = append(notes, fmt.Sprintf("Failed: %s of %s on 2^%s nodes, exit code %d.",
				line.Tags["part"], line.Tags["who"], line.Tags["scale"], line.ExitCode))
		}
		if line.result.Version != "" {
			versions[line.Tags["who"]] = line.result.Version
		}
	}
	var names []string
	for who, version := range versions {
		names = append(names, who+" "+version)
	}
	slices.Sort(names)
	if len(names) > 0 {
		notes = append(notes, "Versions: "+strings.Join(names, ", ")+".")
	}
	if len(rows) == 0 && len(notes) == 0 {
		return errors.New("no results")
	}
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "| what | graph | graphcleaner | the other | ratio |\n|---|---|---|---|---|\n")
	for _, row := range rows {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", row.what, row.graph, row.ours, row.theirs, row.ratio)
	}
	for _, note := range notes {
		fmt.Fprintf(w, "\n%s\n", note)
	}
	return w.Flush()
}

func (r results) importRows() []tableRow {
	var rows []tableRow
	for _, graph := range r.of("part", "import").graphs() {
		lines := r.of("part", "import", "scale", graph[0])
		ours := lines.of("who", "graphcleaner")
		read := int64(0)
		if of := r.of("part", "rows", "scale", graph[0]); len(of) > 0 {
			read = of[0].result.Edges
		}
		for _, peer := range []struct{ who, does string }{{"kuzu", "Kùzu: COPY"}, {"duckdb", "DuckDB: a sorted table"}} {
			theirs := lines.of("who", peer.who)
			a, b := ours.values(wallSeconds), theirs.values(statedSeconds)
			rows = append(rows,
				tableRow{"import; " + peer.does, nodesOf(graph), rate(a, read), rate(b, read), ratio(b, a)},
				memoryRow("import: peak anonymous memory", nodesOf(graph), ours, theirs))
		}
		if of := r.of("part", "adjacency", "scale", graph[0]); len(of) > 0 {
			bytes := fmt.Sprintf("%.2f", of[0].result.Bytes)
			rows = append(rows, tableRow{"adjacency, bytes a directed entry", nodesOf(graph), bytes, "", ""})
		}
	}
	return rows
}

func (r results) propagateRows() []tableRow {
	var rows []tableRow
	for _, graph := range r.of("part", "propagate").graphs() {
		tags := []string{"scale", graph[0], "classes", graph[1]}
		lines := r.of(append(tags, "part", "propagate")...)
		ours, theirs := lines.of("who", "graphcleaner"), lines.of("who", "scipy")
		timed := ours // the runs that report stages
		if of := r.of(append(tags, "part", "stages")...); len(of) > 0 {
			timed = of
		}
		what := nodesOf(graph) + ", " + graph[1] + " classes"
		all, b := ours.values(wallSeconds), theirs.values(statedSeconds)
		rows = append(rows,
			tableRow{"cold open to features; scipy: 3 products in memory", what, seconds(all), seconds(b), ratio(b, all)})
		diagonal, passes := timed.values(stages("diagonal", "price")), timed.values(stages("propagate"))
		if len(diagonal) == 0 || len(passes) == 0 || len(all) == 0 {
			continue
		}
		without := []float64{max(0, medianOf(all)-medianOf(diagonal))}
		rows = append(rows,
			tableRow{"the same without the diagonals", what, seconds(without), seconds(b), ratio(b, without)},
			tableRow{"the 3 hops alone", what, seconds(passes), seconds(b), ratio(b, passes)})
	}
	return rows
}

func (r results) cleanlabRows() []tableRow {
	var rows []tableRow
	for _, graph := range r.of("part", "cleanlab").graphs() {
		lines := r.of("part", "cleanlab", "scale", graph[0])
		ours, theirs := lines.of("who", "graphcleaner"), lines.of("who", "cleanlab")
		a, b := ours.values(wallSeconds), theirs.values(statedSeconds)
		what := nodesOf(graph) + ", " + graph[1] + " classes"
		rows = append(rows,
			tableRow{"clean; cleanlab: find_label_issues", what, seconds(a), seconds(b), ratio(b, a)},
			memoryRow("clean: peak anonymous memory", what, ours, theirs))
	}
	return rows
}

func memoryRow(what, graph string, ours, theirs results) tableRow {
	return tableRow{what: what, graph: graph, ours: size(ours.values(peakMemory)), theirs: size(theirs.values(peakMemory))}
}

func nodesOf(graph [2]string) string { return "2^" + graph[0] + " nodes" }

// seconds shows the median, and the least and greatest of several.
func seconds(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	text := fmt.Sprintf("%.2f s", medianOf(values))
	if len(values) > 1 {
		text += fmt.Sprintf(" (%d runs, %.2f–%.2f)", len(values), slices.Min(values), slices.Max(values))
	}
	return text
}

// rate adds rows a second.
func rate(values []float64, rows int64) string {
	text := seconds(values)
	if text != "" && rows > 0 {
		text += fmt.Sprintf(", %.2f M rows/s", float64(rows)/medianOf(values)/1e6)
	}
	return text
}

// size shows the greatest of some numbers of bytes.
func size(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f MiB", slices.Max(values)/(1<<20))
}

// ratio is how many times the median of a is that of b.
func ratio(a, b []float64) string {
	if len(a) == 0 || len(b) == 0 || medianOf(b) == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", medianOf(a)/medianOf(b))
}
