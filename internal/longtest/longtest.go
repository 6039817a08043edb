// Package longtest says whether tests are to run at length. By default they keep every promise with a few tries; with the
// build tag long, go test -tags long, they try more: more damages, stages, forms, seeds and data sets.
package longtest

// Of is how often to try: few times, or many where that is asked for.
func Of(few, many int) int {
	if Asked {
		return many
	}
	return few
}
