// Package must ends tests whose preparation fails.
package must

// A test is ended by Do and Get: one of package testing, or of a library of random tests.
type test interface {
	Helper()
	Fatal(args ...any)
}

// Do ends a test with the error of a step.
func Do(t test, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// Get returns the value of a call: must.Get(os.Getwd())(t) is the working directory, or ends the test t with the error.
func Get[T any](value T, err error) func(t test) T {
	return func(t test) T {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return value
	}
}
