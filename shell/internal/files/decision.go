package files

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/namelist"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A filedDecision is what a file says about the label of one node. Sorters have it as JSON.
type filedDecision struct {
	Line int64
	Node kv.NodeID
	ID   string

	// Kind is None where the file says no more than the label that is right.
	Kind decide.Kind

	From, To       string // labels before and after; "" is none
	HasFrom, HasTo bool   // the file says so

	Who, Why string
	Time     time.Time // in UTC; zero where the file does not say

	Seq, Undoes int64
}

// add takes a record whose fields are looked up by name.
func (f *decisionsFile) add(line int64, field func(name string) (string, bool)) error {
	d, err := f.parse(line, field)
	if err != nil || d == nil {
		return err
	}
	key := binary.BigEndian.AppendUint32(nil, uint32(d.Node))
	body, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return f.sorted.Add(binary.BigEndian.AppendUint64(key, uint64(d.Line)), body)
}

// parse reads a record; nil where it decides nothing.
func (f *decisionsFile) parse(line int64, field func(name string) (string, bool)) (*filedDecision, error) {
	d := &filedDecision{Line: line}
	id, _ := field("id")
	var err error
	if d.Node, err = f.tx.Node(id); errors.Is(err, kv.ErrNotFound) {
		return nil, f.errorf(line, "id", "got %q, want the id of a node", wording.Short(id))
	}
	if err != nil {
		return nil, err
	}
	d.ID = id
	if d.To, d.HasTo, err = f.either(line, field, "to", "label"); err != nil {
		return nil, err
	}
	if d.From, d.HasFrom, err = f.either(line, field, "from", "original_label"); err != nil {
		return nil, err
	}
	d.To, d.From = f.labels.label(d.To), f.labels.label(d.From)
	d.Who, _ = field("who")
	d.Why, _ = field("why")
	if err := f.parseNumbers(d, field); err != nil {
		return nil, err
	}
	if d.Undoes != 0 {
		return d, nil // what it says besides is of the decision that it takes back
	}
	word, _ := field("decision")
	if word == "undo" {
		return nil, f.errorf(line, "undoes", "is empty, want the seq of the decision that the undo takes back")
	}
	if word != "" {
		if d.Kind, err = decide.ParseKind(word); err != nil {
			return nil, f.errorf(line, "decision", "got %q, want accept, reject, relabel, unlabel or unsure",
				wording.Short(word))
		}
	}
	switch {
	case d.Kind == decide.None && !d.HasTo:
		return nil, f.errorf(line, "decision", "is empty, and there is no label")
	case d.Kind == decide.None && d.HasFrom && d.From == d.To:
		return nil, nil // a row of exported labels that was not changed
	case d.Kind == decide.Relabel && d.To == "":
		return nil, f.errorf(line, "label", "names no class, want the one that relabel gives")
	case d.Kind == decide.Unlabel && d.To != "":
		return nil, f.errorf(line, "label", "got %q, want none, which is what unlabel leaves", wording.Short(d.To))
	case d.Kind == decide.Unlabel:
		d.HasTo = true
	case d.Kind == decide.Accept && d.To == "":
		d.HasTo = false
	case d.keeps() && d.To != "" && d.HasFrom && d.From != d.To:
		return nil, f.errorf(line, "label", "got %q, want %q, the label from before, which %s keeps",
			wording.Short(d.To), wording.Short(d.From), d.Kind)
	case d.keeps() && d.To == "":
		d.To, d.HasTo = d.From, d.HasFrom
	}
	if len(d.Who) > decide.MaxWho || len(d.Why) > decide.MaxWhy {
		return nil, f.errorf(line, "", "who and why may have %d and %d bytes", decide.MaxWho, decide.MaxWhy)
	}
	for name, text := range map[string]string{"who": d.Who, "why": d.Why} {
		if strings.ContainsFunc(text, decide.IsControl) {
			return nil, f.errorf(line, name, "got %q, want no control characters but tab and newline", wording.Short(text))
		}
	}
	if d.HasTo && d.To != "" && !f.classes[d.To] {
		return nil, f.errorf(line, "label", "got %q, want one of the classes %s; %s if it means that the node has no label",
			wording.Short(d.To), namelist.Of(namelist.Sorted(f.tx.Classes())), f.labels.flag(d.To))
	}
	return d, nil
}

// keeps reports whether the decision leaves the label that the node has.
func (d *filedDecision) keeps() bool { return d.Kind == decide.Reject || d.Kind == decide.Unsure }

// either is a field that goes by two names. Where both are there they must agree.
func (f *decisionsFile) either(
	line int64, field func(name string) (string, bool), name, other string,
) (text string, ok bool, err error) {
	text, ok = field(name)
	second, also := field(other)
	switch {
	case ok && also && text != second:
		return "", false, f.errorf(line, other, "got %q, want the same as in %q, which has %q", wording.Short(second),
			name, wording.Short(text))
	case also:
		return second, true, nil
	}
	return text, ok, nil
}

// parseNumbers reads the fields time, seq and undoes, where there are any.
func (f *decisionsFile) parseNumbers(d *filedDecision, field func(name string) (string, bool)) (err error) {
	if text, _ := field("time"); text != "" {
		var ok bool
		if d.Time, ok = wording.ParseTime(text); !ok {
			return f.errorf(d.Line, "time", "got %q, want a time as 2026-01-31T18:00:00Z or 2026-01-31 18:00, in UTC "+
				"if it has no offset", wording.Short(text))
		}
		d.Time = d.Time.UTC()
		if d.Time.Year() < 1 || d.Time.After(f.latest) {
			return f.errorf(d.Line, "time", "got %q, want a time from the year 1 on, and not ahead of the clock by more than %d minutes",
				wording.Short(text), int(maxAhead.Minutes()))
		}
	}
	for _, number := range []struct {
		name string
		into *int64
	}{{"seq", &d.Seq}, {"undoes", &d.Undoes}} {
		text, _ := field(number.name)
		if text == "" {
			continue
		}
		if *number.into, err = strconv.ParseInt(text, 10, 64); err != nil || *number.into < 0 {
			return f.errorf(d.Line, number.name, "got %q, want the number of a decision", wording.Short(text))
		}
	}
	return nil
}
