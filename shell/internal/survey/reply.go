package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A Reply is the word of a person about a node as they saw it.
type Reply struct {
	ID    string
	Kind  decide.Kind
	Label string // of decide.Relabel; the label that the node has is right
	Why   string
	Seen  decide.View // nothing is decided if the node differs
}

// Done says what a reply did, or its undo.
type Done struct {
	ID   string
	Said string
	Step int64 // that Undo takes back
}

// Write writes a reply, and brings the scores around it up to date.
func (r Reply) Write(ctx context.Context, store *kv.Store, opt query.Options) (done Done, err error) {
	request := decide.Request{Kind: r.Kind, To: r.Label, View: &r.Seen}
	if r.Kind == decide.Relabel && r.Label == r.Seen.Label {
		request.Kind, request.To = decide.Reject, ""
	}
	err = store.View(func(tx *kv.Tx) (err error) {
		request.Node, err = tx.Node(r.ID)
		return err
	})
	if err != nil {
		return done, err
	}
	decisions, err := decide.Write(ctx, store, []decide.Request{request}, decide.Options{Who: opt.Who, Why: r.Why})
	if err != nil {
		return done, err
	}
	d := decisions[0]
	done = Done{ID: d.ID, Said: said(d), Step: d.Step}
	return done, done.follow(ctx, store, opt)
}

// Undo takes a step back if it is the last one of the person; else the error is a decide.ErrChanged.
func Undo(ctx context.Context, store *kv.Store, opt query.Options, step int64) (done Done, err error) {
	made, err := cleaner.Undo(ctx, store, decide.Options{Who: opt.Who, Last: step})
	if errors.Is(err, decide.ErrNothingToUndo) {
		err = fmt.Errorf("%w: this step is taken back already", decide.ErrChanged)
	}
	if err != nil {
		return done, err
	}
	if len(made) == 1 {
		done = Done{ID: made[0].ID, Said: made[0].ID + ": taken back"} // not of which kind, which a blind card must not tell
	} else {
		done = Done{Said: wording.Nodes(int64(len(made))) + ": taken back"}
	}
	return done, done.follow(ctx, store, opt)
}

// follow brings the scores around a decision up to date, if the options ask for it.
func (d *Done) follow(ctx context.Context, store *kv.Store, opt query.Options) error {
	said, err := query.RescoreDecided(ctx, store, opt)
	if said != "" {
		d.Said += "; " + said
	}
	return err
}

// said says what was decided.
func said(d decide.Decision) string {
	said := d.ID + " " + wording.Decided(d.Kind)
	switch to := cmp.Or(d.To, "no label"); {
	case d.Disputed:
		said += ": people disagree, the label stays " + cmp.Or(d.Label, "none")
	case d.Label != d.To:
		said += fmt.Sprintf(": more people say %s, which stays", cmp.Or(d.Label, "no label"))
	case d.From != d.To:
		said += fmt.Sprintf(": %s → %s", cmp.Or(d.From, "no label"), to)
	}
	return said
}

// MatchClass finds the class that a text means: the one of that name, or the only one whose name begins with it, or has
// it anywhere. Upper and lower case are alike. Without such a class, the error names what there is.
func MatchClass(classes []string, text string) (string, error) {
	if slices.Contains(classes, text) {
		return text, nil
	}
	lower := strings.ToLower(text)
	for _, has := range []func(s, part string) bool{strings.EqualFold, strings.HasPrefix, strings.Contains} {
		var matches []string
		for _, class := range classes {
			if has(strings.ToLower(class), lower) {
				matches = append(matches, class)
			}
		}
		switch {
		case len(matches) == 1:
			return matches[0], nil
		case len(matches) > 1:
			const most = 20
			return "", fmt.Errorf("%d classes match %s: %s", len(matches), query.Quote(text),
				strings.Join(matches[:min(len(matches), most)], ", "))
		}
	}
	return "", fmt.Errorf("no class is named %s", query.Quote(text))
}
