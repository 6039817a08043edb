// Package must ends tests whose preparation fails.
package must

// A test is what Do ends: of package testing, or of a library of random tests.
type test interface {
	Helper()
	Fatal(args ...any)
}

// Do ends a test with the error of what it had to do.
func Do(t test, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}
