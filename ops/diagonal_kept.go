package ops

// DiagonalsOf are Diagonals that were computed before, with the standard errors that were: values[k-1] is diag(Ã^k) [n],
// errors[k-1] its standard errors or nil. All are the caller's, who may give them back once the diagonals are not used
// any more.
func DiagonalsOf(values, errors [][]float64) *Diagonals {
	return &Diagonals{hops: values, errors: errors}
}
