package shell

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// A filedDecision is what a file says about the label of one node.
type filedDecision struct {
	line int64
	node kv.NodeID
	id   string

	// kind is NoDecision where the file says no more than the label that is right.
	kind cleaner.DecisionKind

	from, to       string   // labels before and after; "" is none
	hasFrom, hasTo bool     // the file says so
	passed         []string // labels that the node had by the file, of all decisions about it

	who, why string
	time     time.Time // zero where the file does not say

	seq, step, undoes int64
}

// heldBytes is about what a filedDecision takes in memory, its texts and the decision that is made of it included.
func (d *filedDecision) heldBytes() int64 {
	return 1000 + int64(len(d.id)+len(d.from)+len(d.to)+len(d.who)+len(d.why))
}

// maxAhead is how far the clock of who made a decision may be ahead of the one here. A time further ahead is a mistake, and
// would make all that others decide about the node older.
const maxAhead = 5 * time.Minute

// A decisionsFile is a file of decisions while it is read. Those that it says were taken back are dropped, and of several
// about one node the last counts.
type decisionsFile struct {
	path    string
	tx      *kv.Tx
	classes map[string]bool
	budget  int64                          // bytes
	taken   int64                          // of them
	latest  time.Time                      // that a decision can have been made
	nodes   map[kv.NodeID][]*filedDecision // those not taken back, in the order of the file
}

// readDecisions reads a file of decisions, .jsonl or a table, whose nodes and classes the store must have. They come in the
// order of the file, one a node.
func readDecisions(ctx context.Context, path string, tx *kv.Tx, memory int64, s *streams) ([]*filedDecision, error) {
	f := &decisionsFile{
		path: path, tx: tx, budget: memory, latest: time.Now().Add(maxAhead),
		classes: make(map[string]bool, len(tx.Classes())), nodes: make(map[kv.NodeID][]*filedDecision),
	}
	for _, class := range tx.Classes() {
		f.classes[class] = true
	}
	read := f.readTable
	if strings.EqualFold(filepath.Ext(path), ".jsonl") {
		read = f.readLines
	}
	if err := read(ctx, s); err != nil {
		return nil, err
	}
	decisions := make([]*filedDecision, 0, len(f.nodes))
	for _, of := range f.nodes {
		last := of[len(of)-1]
		for _, d := range of {
			if d.hasFrom {
				last.passed = append(last.passed, d.from)
			}
			if d.hasTo {
				last.passed = append(last.passed, d.to)
			}
		}
		decisions = append(decisions, last)
	}
	slices.SortFunc(decisions, func(a, b *filedDecision) int { return cmp.Compare(a.line, b.line) })
	return decisions, nil
}

// errorf is what is wrong with a field, "" for the record as a whole.
func (f *decisionsFile) errorf(line int64, column, format string, args ...any) error {
	return &table.Error{Path: f.path, Line: line, Column: column, Msg: fmt.Sprintf(format, args...)}
}

// readTable reads decisions from a table.
func (f *decisionsFile) readTable(ctx context.Context, s *streams) (err error) {
	in, err := table.Open(ctx, f.path, f.budget)
	if bad, ok := errors.AsType[*table.Error](err); ok && strings.HasSuffix(bad.Msg, table.Extensions) {
		bad.Msg += ", or a .jsonl of decisions"
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return eachRow(ctx, in, reading{s: s}, func(row table.Row) error {
		return f.add(row.Line, func(name string) (string, bool) {
			column := in.Column(name)
			if column < 0 {
				return "", false
			}
			return string(row.Fields[column]), true
		})
	})
}

// maxLine is the longest line of a .jsonl file, in bytes: more than the longest id, labels and reason take.
const maxLine = 1 << 20

// readLines reads decisions from a file with an object a line.
func (f *decisionsFile) readLines(ctx context.Context, _ *streams) (err error) {
	in, err := stream.Open(ctx, f.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	number := int64(0)
	fields := map[string]string{}
	for lines.Scan() {
		if number++; number%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		text := lines.Bytes()
		if number == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		if text[0] != '{' {
			return f.errorf(number, "", "got %q, want an object in one line", shortText(string(text)))
		}
		clear(fields)
		err := readDecisionObject(text, fields)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the object has no end")
		}
		if err != nil {
			return f.errorf(number, "", "%v, want an object in one line", err)
		}
		err = f.add(number, func(name string) (string, bool) {
			value, ok := fields[name]
			return value, ok
		})
		if err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return f.errorf(number+1, "", "the line is longer than %d bytes", maxLine)
	}
	return lines.Err()
}

// filedFields are the fields of a record that mean something. Others are passed over.
var filedFields = []string{
	"id", "decision", "from", "original_label", "to", "label", "who", "why", "time", "seq", "step", "undoes",
}

// readDecisionObject reads the fields of a JSON object that mean something: strings as they are, numbers as they are
// written, null as an empty text.
func readDecisionObject(text []byte, fields map[string]string) error {
	if !utf8.Valid(text) {
		return errors.New("got bytes that are not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if _, err := decoder.Token(); err != nil { // the brace
		return err
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string) // a key is one
		var value any
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		if !slices.Contains(filedFields, name) {
			continue
		}
		if _, twice := fields[name]; twice {
			return fmt.Errorf("the field %q is there twice", name)
		}
		switch value := value.(type) {
		case nil:
			fields[name] = ""
		case string:
			fields[name] = value
		case json.Number:
			fields[name] = value.String()
		default:
			return fmt.Errorf("the field %q is neither a text nor a number", name)
		}
	}
	if _, err := decoder.Token(); err != nil { // the other brace
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("got more than an object")
	}
	return nil
}

// add takes a record whose fields are looked up by name.
func (f *decisionsFile) add(line int64, field func(name string) (string, bool)) error {
	d, err := f.parse(line, field)
	if err != nil || d == nil {
		return err
	}
	of := f.nodes[d.node]
	if d.undoes != 0 {
		// The latest of that number: files of several people, one after the other, count from 1 each.
		for i, earlier := range slices.Backward(of) {
			if earlier.seq == d.undoes {
				of = slices.Delete(of, i, i+1)
				break
			}
		}
		if f.nodes[d.node] = of; len(of) == 0 {
			delete(f.nodes, d.node)
		}
		return nil
	}
	if f.taken += d.heldBytes(); f.taken > f.budget {
		return f.errorf(line, "", "the decisions up to here take more than --memory allows")
	}
	f.nodes[d.node] = append(of, d)
	return nil
}

// parse reads a record; nil where it decides nothing.
func (f *decisionsFile) parse(line int64, field func(name string) (string, bool)) (*filedDecision, error) {
	d := &filedDecision{line: line}
	id, ok := field("id")
	if !ok {
		return nil, f.errorf(line, "", `has no field "id", which names the node`)
	}
	var err error
	if d.node, err = f.tx.Node(id); errors.Is(err, kv.ErrNotFound) {
		return nil, f.errorf(line, "id", "got %q, want the id of a node", shortText(id))
	}
	if err != nil {
		return nil, err
	}
	d.id = id
	if d.to, d.hasTo = field("to"); !d.hasTo {
		d.to, d.hasTo = field("label")
	}
	if d.from, d.hasFrom = field("from"); !d.hasFrom {
		d.from, d.hasFrom = field("original_label")
	}
	d.who, _ = field("who")
	d.why, _ = field("why")
	if err := f.parseNumbers(d, field); err != nil {
		return nil, err
	}
	if d.undoes != 0 {
		return d, nil // what it says besides is of the decision that it takes back
	}
	if word, _ := field("decision"); word != "" {
		if d.kind, err = cleaner.ParseDecisionKind(word); err != nil {
			return nil, f.errorf(line, "decision", "got %q, want accept, reject, relabel, unlabel or unsure", shortText(word))
		}
	}
	switch {
	case d.kind == cleaner.NoDecision && !d.hasTo:
		return nil, f.errorf(line, "", `has neither a "label" nor a "decision"`)
	case d.kind == cleaner.NoDecision && d.hasFrom && d.from == d.to:
		return nil, nil // a row of exported labels that was not changed
	case d.kind == cleaner.Relabel && d.to == "":
		return nil, f.errorf(line, "label", "is empty, want the class that relabel gives")
	case d.kind == cleaner.Unlabel:
		d.to, d.hasTo = "", true
	case d.kind == cleaner.Accept && d.to == "":
		d.hasTo = false
	}
	if len(d.who) > cleaner.MaxWho || len(d.why) > cleaner.MaxWhy {
		return nil, f.errorf(line, "", "who and why may have %d and %d bytes", cleaner.MaxWho, cleaner.MaxWhy)
	}
	if d.hasTo && d.to != "" && !f.classes[d.to] {
		return nil, f.errorf(line, "label", "got %q, which is no class of the store%s", shortText(d.to), didYouMean(d.to, f.tx.Classes()))
	}
	return d, nil
}

// parseNumbers reads the fields time, seq, step and undoes, where there are any.
func (f *decisionsFile) parseNumbers(d *filedDecision, field func(name string) (string, bool)) (err error) {
	if text, _ := field("time"); text != "" {
		if d.time, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return f.errorf(d.line, "time", "got %q, want a time as 2026-01-31T18:00:00Z", shortText(text))
		}
		if year := d.time.UTC().Year(); d.time.IsZero() || year < 1 || year > 9999 {
			return f.errorf(d.line, "time", "got %q, want a time of the years 1 to 9999", shortText(text))
		}
		if d.time.After(f.latest) {
			return f.errorf(d.line, "time", "got %q, want a time that is not ahead of the clock by more than %d minutes",
				shortText(text), int(maxAhead.Minutes()))
		}
	}
	for _, number := range []struct {
		name string
		into *int64
	}{{"seq", &d.seq}, {"step", &d.step}, {"undoes", &d.undoes}} {
		text, _ := field(number.name)
		if text == "" {
			continue
		}
		if *number.into, err = strconv.ParseInt(text, 10, 64); err != nil || *number.into < 0 {
			return f.errorf(d.line, number.name, "got %q, want the number of a decision", shortText(text))
		}
	}
	return nil
}

// shortText cuts what an error quotes.
func shortText(text string) string {
	const longest = 80
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// An adoption is what became of the decisions of a file.
type adoption struct {
	taken, steps int
	there        int // the store has them

	// Left out: those older than what the store has decided itself, and those about another label than the store has.
	older, other         int
	someOlder, someOther []string // ids of the first of them
}

// adoptDecisions decides in a store as a file says, in one write: all that it takes is on disk when it returns, or nothing
// is decided. What the store has already is left alone, so that a file can be taken again.
func adoptDecisions(
	ctx context.Context, store *kv.Store, path, who string, memory int64, s *streams,
) (result adoption, err error) {
	var steps []cleaner.DecisionStep
	err = store.View(func(tx *kv.Tx) error {
		decisions, err := readDecisions(ctx, path, tx, memory, s)
		if err != nil {
			return err
		}
		steps, err = result.plan(ctx, tx, decisions, who, filepath.Base(path))
		return err
	})
	if err != nil {
		return result, err
	}
	made, err := cleaner.DecideSteps(ctx, store, steps)
	if err != nil {
		return result, err
	}
	result.taken, result.steps = len(made), len(steps)
	return result, nil
}

// plan makes the requests that bring a store to what the decisions say. Neighbouring ones of one moment and person become
// one step, as they were.
func (a *adoption) plan(
	ctx context.Context, tx *kv.Tx, decisions []*filedDecision, who, file string,
) (steps []cleaner.DecisionStep, err error) {
	decided, err := decidedAt(ctx, tx, decisions)
	if err != nil {
		return nil, err
	}
	label, err := tx.Reader(kv.LabelColumn)
	if err != nil {
		return nil, err
	}
	// value is null where the store has no such column.
	value := func(v kv.NodeID, column string) (kv.Value, error) {
		if _, ok := tx.Column(column); !ok {
			return kv.Value{}, nil
		}
		return tx.Value(v, column)
	}
	var last *filedDecision // of those taken
	for i, d := range decisions {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		given, err := label.At(d.node)
		if err != nil {
			return nil, err
		}
		word, err := value(d.node, cleaner.DecisionColumn)
		if err != nil {
			return nil, err
		}
		suggested, err := value(d.node, cleaner.SuggestedColumn)
		if err != nil {
			return nil, err
		}
		now := labelState{given: given.Str(), suggested: suggested.Str(), decision: word.Str()}
		request, fate := d.against(now, decided[d.node])
		switch fate {
		case fateThere:
			a.there++
			continue
		case fateOlder:
			a.older++
			a.someOlder = appendFew(a.someOlder, d.id)
			continue
		case fateOther:
			a.other++
			a.someOther = appendFew(a.someOther, d.id)
			continue
		}
		opt := cleaner.DecideOptions{Who: cmp.Or(d.who, who), Why: d.why, Made: d.time}
		if opt.Why == "" && d.kind == cleaner.NoDecision {
			opt.Why = "imported from " + shortText(file)
		}
		if last == nil || !last.isOfStep(d) || steps[len(steps)-1].Options.Why != opt.Why {
			steps = append(steps, cleaner.DecisionStep{Options: opt})
		}
		step := &steps[len(steps)-1]
		step.Requests = append(step.Requests, request)
		last = d
	}
	return steps, nil
}

// isOfStep reports whether a decision that follows is of the same step.
func (d *filedDecision) isOfStep(next *filedDecision) bool {
	return d.who == next.who && d.step == next.step && d.time.Equal(next.time)
}

// appendFew keeps the first few of many, for a message.
func appendFew(list []string, item string) []string {
	const few = 5
	if len(list) == few {
		return list
	}
	return append(list, item)
}

// decidedAt is when the last decision about each of some nodes was made, taken back or not; zero where there is none.
func decidedAt(ctx context.Context, tx *kv.Tx, decisions []*filedDecision) (map[kv.NodeID]time.Time, error) {
	at := make(map[kv.NodeID]time.Time, len(decisions))
	for _, d := range decisions {
		at[d.node] = time.Time{}
	}
	count := 0
	for d, err := range cleaner.History(ctx, tx, kv.NoNode) {
		if err != nil {
			return nil, err
		}
		if count++; count%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if _, asked := at[d.Node]; asked {
			at[d.Node] = d.Time
		}
	}
	return at, nil
}

// A labelState is what a store holds of a node that a decision could change.
type labelState struct{ given, suggested, decision string } // "" is none

type fate uint8

// What can become of a decision of a file.
const (
	fateTaken fate = iota
	fateThere      // the store has it
	fateOlder      // the store has a later one
	fateOther      // it is about another label than the store has
)

// against compares a decision with a node of the store, where the last decision was at a time, if any.
func (d *filedDecision) against(now labelState, last time.Time) (cleaner.DecisionRequest, fate) {
	request := cleaner.DecisionRequest{Node: d.node, Kind: d.kind}
	if d.kind == cleaner.Accept && !d.hasTo {
		if now.suggested == "" {
			return request, fateOther
		}
		d.to, d.hasTo = now.suggested, true
	}
	if !d.hasTo {
		d.to = now.given
	}
	switch {
	case d.isThere(now):
		return request, fateThere
	case now.decision != "" && !d.time.IsZero() && last.After(d.time):
		return request, fateOlder
	case d.hasFrom && !slices.Contains(d.passed, now.given):
		return request, fateOther
	case d.kind == cleaner.Unsure:
		return request, fateTaken
	case d.to == "" && now.given == "":
		// There is no label to remove, and none that could be right.
		return request, fateThere
	case d.to == "":
		request.Kind = cleaner.Unlabel
	case d.to == now.given:
		request.Kind = cleaner.Reject
	case d.to == now.suggested && d.kind != cleaner.Relabel:
		request.Kind = cleaner.Accept
	default:
		request.Kind, request.To = cleaner.Relabel, d.to
	}
	return request, fateTaken
}

// isThere reports whether a node has the label and the decision that the file has. Accept, reject and relabel come to the
// same: that the label is right.
func (d *filedDecision) isThere(now labelState) bool {
	if now.decision == "" || now.given != d.to {
		return false
	}
	says := func(kind string) string {
		switch kind {
		case cleaner.Accept.String(), cleaner.Reject.String(), cleaner.Relabel.String():
			return "right"
		}
		return kind
	}
	kind := d.kind.String()
	if d.kind == cleaner.NoDecision {
		kind = cleaner.Reject.String()
		if d.to == "" {
			kind = cleaner.Unlabel.String()
		}
	}
	return says(kind) == says(now.decision)
}
