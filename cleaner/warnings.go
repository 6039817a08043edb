package cleaner

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
)

// tellUnsettled says that the fit of a label model was ended too early; empty where it was not, or there is no model.
func tellUnsettled(m *labelmodel.Model) string {
	if m == nil || !m.Unsettled {
		return ""
	}
	return fmt.Sprintf("the label model had not converged after %d rounds: scores and the mislabel rate may be slightly off", labelmodel.MostSweeps)
}

// warningsOf are those of Run.Warnings. The model may be nil.
func warningsOf(homophily *LabelStatistics, model *labelmodel.Model, names []string) (warnings []string) {
	if warning := homophily.Warning(); warning != "" {
		warnings = append(warnings, warning)
	}
	switch {
	case model == nil:
	case model.Alike:
		warnings = append(warnings, "the predictions are too weak to tell wrong labels from hard ones, so wrong labels of all pairs of classes count as equally frequent")
	default:
		warnings = append(warnings, tellExchanged(model, names)...)
	}
	return warnings
}

// tellExchanged names classes most of whose labels are the other one's, a text a pair. It takes predictions that know
// the names better than the labels, and neighbours that do not say the same as the labels.
func tellExchanged(m *labelmodel.Model, names []string) (warnings []string) {
	rate := m.Transition()
	for _, cell := range m.Flips {
		a, b := cell.Row, cell.Column
		if there, back := rate(b, a), rate(a, b); a < b && there > 0.5 && back > 0.5 {
			warnings = append(warnings, fmt.Sprintf("the labels or the predictions have the names of classes %q and %q exchanged: by the model, %.0f%% "+
				"of the first are labelled as the second, and %.0f%% of the second as the first. Nearly all their suspects come from that: put the names "+
				"right in one of the files, import and clean again", names[a], names[b], 100*there, 100*back))
		}
	}
	return warnings
}
