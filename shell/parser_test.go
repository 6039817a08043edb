package shell

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// saidBy is what the parser for some arguments says of others.
func saidBy(t *testing.T, known, args []string) string {
	var out bytes.Buffer
	s := &streams{ctx: t.Context(), messages: messages{err: &out}}
	_, err := s.parser(new(commandLine), known, "graphcleaner", &out, func(int) {}).Parse(args)
	if err != nil {
		out.WriteString(err.Error())
	}
	return out.String()
}

// TestLoneFlags compares the parsers for --help and --version alone with that of all commands.
func TestLoneFlags(t *testing.T) {
	for flag, part := range map[string]string{"--help": "\n  import ", "-h": "\n  import ", "--version": "graphcleaner "} {
		got, want := saidBy(t, []string{flag}, []string{flag}), saidBy(t, nil, []string{flag})
		if !strings.HasPrefix(want, strings.TrimSpace(got)) || !strings.Contains(got, part) { // the program ends after it
			t.Errorf("%s: got\n%s\nwant\n%s", flag, got, want)
		}
	}
}

// TestOneCommand compares the parser that knows one command with that of all: both print the same help of it, and the same errors.
func TestOneCommand(t *testing.T) {
	commands := 0
	for i := range reflect.TypeFor[commandLine]().NumField() {
		field := reflect.TypeFor[commandLine]().Field(i)
		if _, ok := field.Tag.Lookup("cmd"); !ok {
			continue
		}
		commands++
		name := strings.ToLower(field.Name)
		for _, arg := range []string{"--help", "--nonsense", "a"} {
			args := []string{name, arg}
			got, want := saidBy(t, args, args), saidBy(t, nil, args)
			if got != want || arg == "--help" && !strings.Contains(got, "Usage: ") {
				t.Errorf("%s %s: got\n%s\nwant\n%s", name, arg, got, want)
			}
		}
	}
	if commands < 20 {
		t.Errorf("got %d commands, want all", commands)
	}
}
